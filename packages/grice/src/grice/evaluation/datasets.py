"""Rated sets of replies and conversations: a file of the user, or a known set.

The known sets are not part of the package, since most may not be redistributed. They are read
from the folder of ``--data``, else of ``GRICE_DATA``; ``rated_sets.toml`` describes each.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Json
from grice.errors import InputError, RecordError, did_you_mean
from grice.readers import read
from grice.readers.table import Header

Level: TypeAlias = Literal["turn", "dialogue"]
VARIABLE = "GRICE_DATA"
OWN = "a file of your own"  # source of a set of the user
FIELDS = ("ratings", "rating", "human_ratings", "human_rating", "human", "scores", "score", "label")
"""Fields of ratings; of several the first counts."""
RATER = re.compile(r"(?:rater|annotator|judge|rating|score|worker)s?[ _-]?(\d+)", re.IGNORECASE)
OVERALL = "overall"
NONE = frozenset({"", "-", "n/a", "na", "nan", "none", "null", "?"})  # texts that mean no rating
UNDERSTOOD = (
    "`rating` or `ratings` with a number, a list of numbers (one per judge), or an object of them "
    'by aspect, as in {"overall": [4, 5]}; or a column for each judge: `rater1`, `rater2`, …'
)


class RatedSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Metadata of a rated set; ``rated_sets.toml`` explains the fields."""

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
    def all_aspects(self) -> tuple[str, ...]:
        """Every aspect that can be asked for."""
        return (*self.aspects, *self.ratings, *self.means)


class Item(NamedTuple):
    """One rated reply, the target of the turns before it, or a whole conversation.

    ``ratings`` holds by aspect one rating per annotator, None for N/A, or their mean alone.
    """

    conversation: Conversation
    ratings: dict[str, tuple[float | None, ...]]
    system: str | None
    group: str


class Rated(NamedTuple):
    """A rated set, its items, and the records that could not be read."""

    set: RatedSet
    items: tuple[Item, ...]
    problems: tuple[str, ...]
    fingerprint: str  # its name with a hash of its files

    @property
    def groups(self) -> list[str] | None:
        """Conversation or context of each item; None if no two items share one."""
        groups = [item.group for item in self.items]
        return groups if len(set(groups)) < len(groups) else None

    def human(self, aspect: str) -> list[float | None]:
        """Return the mean rating of each item without N/A; None if there is no rating."""
        means: list[float | None] = []
        for item in self.items:
            given = [value for value in item.ratings.get(aspect, ()) if value is not None]
            means.append(sum(given) / len(given) if given else None)
        return means


def known_sets() -> dict[str, RatedSet]:
    """Return the known rated sets by name."""
    text = (resources.files("grice.evaluation") / "rated_sets.toml").read_bytes()
    entries = msgspec.toml.decode(text, type=dict[str, RatedSet])
    return {name: replace(entry, name=name) for name, entry in entries.items()}


def data_folder(stated: Path | None = None) -> Path | None:
    """Return the stated folder of rated sets, or that of ``GRICE_DATA``."""
    named = stated or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None and not named.is_dir():
        origin = "--data" if stated else VARIABLE
        raise InputError(f"{origin} names {named}, which is not a folder")
    return named


def wanted_sets(words: Sequence[str]) -> list[tuple[RatedSet | Path, tuple[str, ...]]]:
    """Parse words such as ``fed_turn``, ``fed_turn:relevant,fluent``, ``own.jsonl`` or ``all``.

    Return known sets, or paths of files, each with the aspects asked for: they come after a colon,
    ``all`` for all of them; without, it is the default aspect of a known set.
    """
    known = known_sets()
    wanted: list[tuple[RatedSet | Path, tuple[str, ...]]] = []
    for word in words:
        if word == "all":
            wanted += [(entry, (entry.default,)) for entry in known.values()]
            continue
        name, colon, asked = word.rpartition(":")
        if Path(word).exists() or not colon:
            name, asked = word, ""
        aspects = tuple(part.strip() for part in asked.split(",") if part.strip())
        if (entry := known.get(name)) is None:
            if not Path(name).exists():
                near = did_you_mean(name, known)
                raise InputError(
                    f"no rated set {name!r}{near}; give a file of your own by its path"
                )
            wanted.append((Path(name), aspects))
            continue
        aspects = entry.all_aspects if aspects == ("all",) else aspects or (entry.default,)
        for aspect in aspects:
            if aspect not in entry.all_aspects:
                near = did_you_mean(aspect, entry.all_aspects)
                raise InputError(f"{name}: no ratings of {aspect!r}{near}")
        wanted.append((entry, aspects))
    return wanted


def load_rated(wanted: RatedSet | Path, folder: Path | None, group: str | None = None) -> Rated:
    """Read a known set from the data folder, or a file of the user.

    ``group`` is the field by which items of a user's file belong together. InputError if the file
    is missing, holds no rating or lacks that field.
    """
    if isinstance(wanted, Path):
        return _read(_own(wanted, group), [wanted])
    files = (wanted.file, *wanted.also)
    if folder is not None and all((folder / file).is_file() for file in files):
        return _read(wanted, [folder / file for file in files])
    looked = "nowhere" if folder is None else str(folder / wanted.file)
    at = ", ".join(dict.fromkeys(wanted.ratings.values()))
    if wanted.aspects:
        at = f"ratings, an object with {', '.join(wanted.aspects)}"
    shape = "turns" if wanted.level == "dialogue" else "context and response"
    raise InputError(
        f"{wanted.name} was not found (looked for {looked}); give its folder with --data, or in "
        f"{VARIABLE}\n"
        f"  source:  {wanted.source}\n"
        f"  licence: {wanted.licence}\n"
        f"  layout:  {wanted.file}, a JSON object a line with id, {shape}, {wanted.system}, "
        f"and {at}; a rating is a list with one number per judge, null for N/A, or their mean"
    )


def _read(entry: RatedSet, paths: Sequence[Path]) -> Rated:
    items, problems = [], []
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    for record in (record for path in paths for record in read(path)):
        if isinstance(record, RecordError):
            problems.append(str(record))
        elif all(record.meta.get(field) == value for field, value in entry.only.items()) and all(
            record.meta.get(field) != value for field, value in entry.without.items()
        ):
            items.append(_item(entry, record))
    if not items:
        first = f"; the first problem is: {problems[0]}" if problems else ""
        raise InputError(f"{paths[0]}: no record of {entry.name} could be read{first}")
    if entry.source == OWN:
        ids = {item.conversation.id for item in items}
        items = [item._replace(group=_first_of_id(item.group, ids)) for item in items]
    return Rated(entry, tuple(items), tuple(problems), f"{entry.name}@{digest[:8]}")


def _first_of_id(name: str, ids: Collection[str]) -> str:
    """Return the id that several records have in the file, of which readers number the later."""
    first, number, _ = name.rpartition("#")
    return first if number and name in ids and first in ids else name


def _item(entry: RatedSet, conversation: Conversation) -> Item:
    meta, turns = conversation.meta, conversation.turns
    ratings = ratings_of(meta) if entry.aspects else {}
    ratings |= {aspect: _numbers(meta.get(field)) for aspect, field in entry.ratings.items()}
    for aspect, parts in entry.means.items():
        # Of each annotator; None where an aspect is missing.
        by_annotator = zip(*(ratings.get(part, ()) for part in parts), strict=False)
        ratings[aspect] = tuple(
            None if None in values else sum(filter(None, values)) / len(values)
            for values in by_annotator
        )
    targets = conversation.targets
    if entry.level == "dialogue" and entry.judged:
        targets = tuple(i for i, turn in enumerate(turns) if turn.speaker == entry.judged)
    elif entry.level == "turn" and targets is None:
        targets = (len(turns) - 1,)
    system, group = meta.get(entry.system), meta.get(entry.group)
    return Item(
        replace(conversation, targets=targets),
        ratings,
        system if isinstance(system, str) else None,
        conversation.id if group is None else str(group),
    )


def _own(path: Path, group: str | None = None) -> RatedSet:
    """Describe a user's file, with all aspects that its records rate."""
    fields: dict[str, None] = {}
    aspects: dict[str, None] = {}
    level: Level | None = None
    for record in read(path):
        if isinstance(record, Conversation):
            fields |= dict.fromkeys(record.meta)
            ratings = ratings_of(record.meta)
            if any(value is not None for given in ratings.values() for value in given):
                aspects |= dict.fromkeys(ratings)
                level = level or ("dialogue" if record.targets is None else "turn")
    if level is None:
        raise InputError(f"{path}: no record has ratings; {understood(fields)}")
    if group is not None and group not in fields and Header([group]).group is None:
        raise InputError(f"{path}: no field {group!r} for groups{did_you_mean(group, fields)}")
    named = (field for field in fields if Header([field]).group is not None)
    return RatedSet(
        name=path.name.removesuffix(".gz").rpartition(".")[0] or path.name,
        file=str(path),
        level=level,
        aspects=tuple(aspects),
        default=OVERALL if OVERALL in aspects else next(iter(aspects)),
        group=group or next(named, "group"),
        source=OWN,
        licence="",
    )


def is_rating(name: str) -> bool:
    """Return whether a field holds a rating, by its name."""
    return name.strip().casefold() in FIELDS or RATER.fullmatch(name.strip()) is not None


def ratings_of(fields: Mapping[str, Json]) -> dict[str, tuple[float | None, ...]]:
    """Return the ratings of a record by aspect, one per annotator, None for N/A.

    >>> ratings_of({"rating": "4"}), ratings_of({"rater2": 5, "rater1": ""})
    ({'overall': (4.0,)}, {'overall': (None, 5.0)})
    >>> ratings_of({"ratings": {"fluent": [1, 2], "relevant": "3"}})
    {'fluent': (1.0, 2.0), 'relevant': (3.0,)}
    """
    by_name = {name.strip().casefold(): name for name in fields}
    for name in FIELDS:
        given = _unpacked(fields[by_name[name]]) if name in by_name else None
        if isinstance(given, dict):
            return {aspect: _numbers(value) for aspect, value in given.items() if "." not in aspect}
        if given not in (None, ""):
            return {OVERALL: _numbers(given)}
    raters = sorted(
        (int(match[1]), name) for name in fields if (match := RATER.fullmatch(name.strip()))
    )
    return {OVERALL: tuple(_number(fields[name]) for _, name in raters)} if raters else {}


def odd_text(ratings: Json) -> str | None:
    """Return the first text among ratings that is neither a number nor one for N/A.

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
    """Return the fields found and those understood, for messages."""
    return f"found {', '.join(fields) or 'no field'}; supported: {UNDERSTOOD}"


def _numbers(value: Json) -> tuple[float | None, ...]:
    value = _unpacked(value)
    return tuple(map(_number, value if isinstance(value, list) else [value]))


def _unpacked(value: Json) -> Json:
    """Decode a list or an object in a cell of a table."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        with suppress(msgspec.DecodeError, RecursionError):
            value = msgspec.json.decode(value)
    return value


def _number(value: Json) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
