"""Sets of replies and conversations that people rated, and where they are found.

The sets are not part of the package: most may not be passed on. They are looked for in the
folder that ``--data`` names, then in the one that ``GRICE_DATA`` names. What is known of each
stands in ``rated_sets.toml``; a file of the user's own works as well.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.errors import InputError, RecordError, did_you_mean
from grice.readers import read
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grice.records import Json


Level: TypeAlias = Literal["turn", "dialogue"]
VARIABLE = "GRICE_DATA"
OWN = "a file of your own"
"""The source of a set that grice does not know."""
FIELDS = ("ratings", "rating", "human_ratings", "human_rating", "human", "scores", "score", "label")
"""Fields of ratings; of several the first counts."""
RATER = re.compile(r"(?:rater|annotator|judge|rating|score|worker)s?[ _-]?(\d+)", re.IGNORECASE)
OVERALL = "overall"
NONE = frozenset({"", "-", "n/a", "na", "nan", "none", "null", "?"})
"""Texts that stand for no rating."""
UNDERSTOOD = (
    "`rating` or `ratings` with a number, a list of numbers (one per judge), or an object of them "
    'by aspect, as in {"overall": [4, 5]}; or a column for each judge: `rater1`, `rater2`, …'
)
"""Layouts of ratings that are read, for messages."""


class RatedSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Metadata of a rated set; see ``rated_sets.toml`` for the fields."""

    file: str
    also: tuple[str, ...] = ()
    level: Level
    default: str
    source: str
    licence: str
    name: str = ""
    aspects: tuple[str, ...] = ()
    ratings: dict[str, str] = {}
    means: dict[str, tuple[str, ...]] = {}
    only: dict[str, str] = {}
    without: dict[str, str] = {}
    group: str = ""
    system: str = "system"
    judged: str = ""
    overlaps: tuple[str, ...] = ()
    note: str = ""

    @property
    def paths(self) -> dict[str, str]:
        """Path of the ratings in the record, by aspect."""
        return {**{aspect: f"ratings.{aspect}" for aspect in self.aspects}, **self.ratings}

    @property
    def is_own(self) -> bool:
        """Whether it is a file of the user's own."""
        return self.source == OWN

    @property
    def all_aspects(self) -> tuple[str, ...]:
        """Every aspect that can be asked for."""
        return (*self.paths, *self.means)


class Item(NamedTuple):
    """One rated reply or conversation.

    Attributes:
        conversation: The rated conversation; of a reply, the turns before it and itself as target.
        ratings: Ratings by aspect, one per judge, None for N/A; a mean stands alone.
    """

    conversation: Conversation
    ratings: dict[str, tuple[float | None, ...]]
    system: str | None
    group: str

    def human(self, aspect: str) -> float | None:
        """Return the mean over the judges, N/A left out; None if nobody gave a number."""
        given = [value for value in self.ratings.get(aspect, ()) if value is not None]
        return sum(given) / len(given) if given else None


class Rated(NamedTuple):
    """A rated set that was read.

    Attributes:
        fingerprint: Its name with a hash of its file.
    """

    set: RatedSet
    items: tuple[Item, ...]
    problems: tuple[str, ...]
    grouped: bool
    fingerprint: str

    def human(self, aspect: str) -> list[float | None]:
        """Return the mean rating of each item."""
        return [item.human(aspect) for item in self.items]


class Wanted(NamedTuple):
    """A set, or a file of the user's own, and the aspects asked for."""

    set: RatedSet | Path
    aspects: tuple[str, ...]


def known_sets() -> dict[str, RatedSet]:
    """Return the rated sets that grice knows, by name."""
    text = (resources.files("grice.evaluation") / "rated_sets.toml").read_bytes()
    entries = msgspec.toml.decode(text, type=dict[str, RatedSet])
    return {name: msgspec.structs.replace(entry, name=name) for name, entry in entries.items()}


def data_folder(stated: Path | None = None) -> Path | None:
    """Return the folder of data sets, stated or of ``GRICE_DATA``; None if neither is."""
    named = stated or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None and not named.is_dir():
        origin = "--data" if stated else VARIABLE
        raise InputError(f"{origin} names {named}, which is no folder")
    return named


def wanted_sets(words: Sequence[str]) -> list[Wanted]:
    """Return what words such as ``fed_turn``, ``fed_turn:relevant,fluent`` or ``all`` ask for.

    A word may also be the path of a file. Behind a colon stand aspects, or ``all`` of them;
    without, it is the default aspect.
    """
    known = known_sets()
    wanted = []
    for word in words:
        if word == "all":
            wanted += [Wanted(entry, (entry.default,)) for entry in known.values()]
            continue
        name, colon, asked = word.rpartition(":") if not Path(word).exists() else (word, "", "")
        if not colon:
            name, asked = word, ""
        aspects = tuple(part.strip() for part in asked.split(",") if part.strip())
        if name in known:
            wanted.append(Wanted(known[name], _checked(known[name], aspects)))
        elif Path(name).exists():
            wanted.append(Wanted(Path(name), aspects))
        else:
            raise InputError(
                f"no rated set {name!r}{did_you_mean(name, known)}; a file of your own is named "
                "by its path"
            )
    return wanted


def _checked(entry: RatedSet, aspects: tuple[str, ...]) -> tuple[str, ...]:
    if aspects == ("all",):
        return entry.all_aspects
    for aspect in aspects:
        if aspect not in entry.all_aspects:
            near = did_you_mean(aspect, entry.all_aspects)
            raise InputError(f"{entry.name}: nobody rated {aspect!r}{near}")
    return aspects or (entry.default,)


def load_rated(wanted: RatedSet | Path, folder: Path | None) -> Rated:
    """Return the items of a known set, or of a file of the user's own.

    Args:
        wanted: The set, or a path. A file has its ratings in one of the shapes that
            :mod:`grice.evaluation.datasets` understands.
        folder: The folder of known sets.

    Raises:
        InputError: If the file is missing or holds no rating.
    """
    if isinstance(wanted, Path):
        return _own(wanted)
    files = (wanted.file, *wanted.also)
    if folder is None or not all((folder / file).is_file() for file in files):
        raise _missing(wanted, folder)
    return _read(wanted, [folder / file for file in files])


def _missing(wanted: RatedSet, folder: Path | None) -> InputError:
    looked = "nowhere" if folder is None else str(folder / wanted.file)
    at = ", ".join(dict.fromkeys(wanted.ratings.values()))
    if wanted.aspects:
        at = f"ratings, an object with {', '.join(wanted.aspects)}"
    shape = "turns" if wanted.level == "dialogue" else "context and response"
    return InputError(
        f"{wanted.name} is not there (looked for {looked}); give its folder with --data, or in "
        f"{VARIABLE}\n"
        f"  source:  {wanted.source}\n"
        f"  licence: {wanted.licence}\n"
        f"  layout:  {wanted.file}, a JSON object a line with id, {shape}, {wanted.system}, "
        f"and {at}; a rating is a list with one number per judge, null for N/A, or their mean"
    )


def _read(entry: RatedSet, paths: Sequence[Path]) -> Rated:
    items, problems = [], []
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
        for record in read(path):
            if isinstance(record, RecordError):
                problems.append(str(record))
            elif all(
                record.meta.get(field) == value for field, value in entry.only.items()
            ) and all(record.meta.get(field) != value for field, value in entry.without.items()):
                items.append(_item(entry, record))
    if not items:
        first = f"; the first problem is: {problems[0]}" if problems else ""
        raise InputError(f"{paths[0]}: no record of {entry.name} could be read{first}")
    grouped = len({item.group for item in items}) < len(items)
    fingerprint = f"{entry.name}@{digest.hexdigest()[:8]}"
    return Rated(entry, tuple(items), tuple(problems), grouped, fingerprint)


def _item(entry: RatedSet, conversation: Conversation) -> Item:
    meta = conversation.meta
    if entry.is_own:
        given = ratings_of(meta)
        ratings = {aspect: given.get(aspect, ()) for aspect in entry.paths}
    else:
        ratings = {aspect: numbers(_at(meta, path)) for aspect, path in entry.paths.items()}
    for aspect, parts in entry.means.items():
        ratings[aspect] = _mean_of([ratings[part] for part in parts])
    system = meta.get(entry.system)
    group = meta.get(entry.group) if entry.group else None
    if entry.level == "dialogue" and entry.judged:
        targets = tuple(
            i for i, turn in enumerate(conversation.turns) if turn.speaker == entry.judged
        )
        conversation = msgspec.structs.replace(conversation, targets=targets)
    elif entry.level == "turn" and conversation.targets is None:
        last = (len(conversation.turns) - 1,)
        conversation = msgspec.structs.replace(conversation, targets=last)
    return Item(
        conversation,
        ratings,
        system if isinstance(system, str) else None,
        group if isinstance(group, str) else conversation.id,
    )


def _at(meta: Mapping[str, Json], path: str) -> Json:
    value: Json = dict(meta)
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _mean_of(parts: Sequence[tuple[float | None, ...]]) -> tuple[float | None, ...]:
    """Return the mean over aspects of each judge; None where one of them is missing."""
    by_judge = zip(*parts, strict=False)
    return tuple(
        None if None in values else sum(filter(None, values)) / len(values) for values in by_judge
    )


def _own(path: Path) -> Rated:
    """Return the items of a user's own file, with all aspects that its records rate."""
    fields: dict[str, None] = {}
    aspects: dict[str, None] = {}
    level: Level | None = None
    for record in read(path):
        if not isinstance(record, Conversation):
            continue
        fields.update(dict.fromkeys(record.meta))
        ratings = ratings_of(record.meta)
        if any(value is not None for given in ratings.values() for value in given):
            aspects.update(dict.fromkeys(ratings))
            level = level or ("dialogue" if record.targets is None else "turn")
    if level is None:
        raise InputError(f"{path}: no record has ratings; {understood(fields)}")
    entry = RatedSet(
        name=path.name.removesuffix(".gz").rpartition(".")[0] or path.name,
        file=str(path),
        level=level,
        ratings=dict.fromkeys(aspects, ""),
        default="overall" if "overall" in aspects else next(iter(aspects)),
        group="group",
        source=OWN,
        licence="",
    )
    return _read(entry, [path])


def ratings_of(fields: Mapping[str, Json]) -> dict[str, tuple[float | None, ...]]:
    """Return the ratings of a record by aspect, one per judge, None where there is none.

    >>> ratings_of({"rating": "4"}), ratings_of({"rater2": 5, "rater1": ""})
    ({'overall': (4.0,)}, {'overall': (None, 5.0)})
    >>> ratings_of({"ratings": {"fluent": [1, 2], "relevant": "3"}})
    {'fluent': (1.0, 2.0), 'relevant': (3.0,)}
    """
    by_name = {name.strip().casefold(): name for name in fields}
    for name in FIELDS:
        given = _unpacked(fields[by_name[name]]) if name in by_name else None
        if isinstance(given, dict):
            return {aspect: numbers(value) for aspect, value in given.items() if "." not in aspect}
        if given not in (None, ""):
            return {OVERALL: numbers(given)}
    raters = sorted(
        (int(match[1]), name) for name in fields if (match := RATER.fullmatch(name.strip()))
    )
    if raters:
        return {OVERALL: tuple(_number(fields[name]) for _, name in raters)}
    return {}


def numbers(value: Json) -> tuple[float | None, ...]:
    """Return ratings as numbers; whatever is no number is N/A."""
    value = _unpacked(value)
    return tuple(map(_number, value if isinstance(value, list) else [value]))


def odd_text(ratings: Json) -> str | None:
    """Return the first text among ratings that is no number and does not stand for none.

    >>> odd_text("4"), odd_text(["n/a", ""]), odd_text([3, "good"])
    (None, None, 'good')
    """
    ratings = _unpacked(ratings)
    for value in ratings if isinstance(ratings, list) else [ratings]:
        if isinstance(value, str) and value.strip().casefold() not in NONE:
            try:
                float(value)
            except ValueError:
                return value
    return None


def understood(fields: Iterable[str]) -> str:
    """Return what fields there are and which are understood, for messages."""
    return f"found {', '.join(fields) or 'no field'}; understood is {UNDERSTOOD}"


def _unpacked(value: Json) -> Json:
    """Return a list or an object that stands as text, as tables have them."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        try:
            unpacked: Json = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
        return unpacked
    return value


def _number(value: Json) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def hashed(text: str, seed: int) -> int:
    """Return 64 bits that look random and are the same everywhere."""
    data = f"{seed} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
