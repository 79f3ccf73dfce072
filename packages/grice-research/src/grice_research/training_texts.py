"""Overlap between the training texts of models and the texts of evaluated sets.

A metric that is judged on texts its model has learned from is judged too well, and somewhat too
well on texts that only chose its settings. A recipe records the overlap when it writes a model, in
:data:`TABLE`; benches print it beside their figures. The shares of the models that ship were
estimated from samples of hashes of their training texts (column ``texts``: the texts compared).
"""

from __future__ import annotations

import csv
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from grice.data import Conversation
from grice.errors import InputError
from grice.evaluation.datasets import RatedSet, known_sets, load_rated
from grice.files import write_text
from grice.models.folder import open_folder

Kind: TypeAlias = Literal["trained", "chosen"]

TABLE = Path(__file__).parent / "data" / "training_overlap.tsv"
WORDS = 5  # shorter texts, such as "Yes, please.", occur everywhere and tell nothing
NAMED = re.compile(r"([\w.-]+)@([0-9a-f]{8})")  # a model in a signature: name and digest


class Overlap(NamedTuple):
    """Share of the texts of a set that a model was trained or its settings were chosen on."""

    model: str
    digest: str
    kind: Kind
    set: str
    share: float
    texts: int


def normalised(text: str) -> str:
    """Return the letters and digits of a text in lower case.

    >>> normalised("It's 5 o'clock!")
    'its5oclock'
    """
    return "".join(filter(str.isalnum, text.lower()))


def trained_on(signature: str, on: str) -> str:
    """Return in words which models of a signature were trained on a set; empty if none was."""
    return "; ".join(
        f"{row.model} was trained on about {100 * row.share:.3g} % of the texts of this set"
        for row in _overlaps(signature, on)
        if row.kind == "trained"
    )


def trained_share(signature: str, on: str) -> float:
    """Return the largest share of a set that one model was trained or chosen on, 0 to 1."""
    return max((row.share for row in _overlaps(signature, on)), default=0.0)


def _overlaps(signature: str, on: str) -> Iterator[Overlap]:
    models = set(NAMED.findall(signature))
    return (row for row in _read() if row.set == on and (row.model, row.digest) in models)


@cache
def _read() -> tuple[Overlap, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t")
        return tuple(msgspec.convert(row, Overlap, strict=False) for row in rows)


def record_texts(
    directory: Path, texts: Iterable[str], data: Path | None = None, *, kind: Kind = "trained"
) -> list[Overlap]:
    """Record which evaluated texts a model was trained on, or which chose its settings.

    Recipes call it last, once the model is complete.
    """
    data = data or Path(os.environ.get("GRICE_DATA", "../shared/data"))
    sets = {name: _long(talks) for name, talks in _evaluated(data)}
    if not sets:
        raise InputError(f"{data}: no evaluated set is there; name the folder by GRICE_DATA")
    found: dict[str, set[str]] = defaultdict(set)
    evaluated = set().union(*sets.values())
    for key in map(normalised, texts):
        if key in evaluated:
            for name, keys in sets.items():
                if key in keys:
                    found[name].add(key)
    folder = open_folder(directory)
    model, digest = folder.card.name, folder.digest
    made = [
        Overlap(model, digest, kind, name, len(keys) / len(sets[name]), len(sets[name]))
        for name, keys in sorted(found.items())
    ]
    kept = [row for row in _read() if (row.model, row.kind) != (model, kind)]
    rows = sorted((*kept, *made), key=lambda row: (row.model, row.kind != "trained", row.set))
    lines = ["\t".join(Overlap._fields)]
    lines += ["\t".join((*row[:4], f"{row.share:.4f}", str(row.texts))) for row in rows]
    write_text(TABLE, "\n".join(lines) + "\n")
    _read.cache_clear()
    return made


def _long(talks: Sequence[Conversation]) -> set[str]:
    texts = {turn.text for talk in talks for turn in talk.turns}
    return {normalised(text) for text in texts if len(text.split()) >= WORDS}


def _evaluated(data: Path) -> Iterator[tuple[str, Sequence[Conversation]]]:
    from grice_research.benches import abc_eval, breakdowns, contradictions, damaged

    def rated(entry: RatedSet) -> Sequence[Conversation]:
        return [item.conversation for item in load_rated(entry, data).items]

    def marked(name: str) -> Sequence[Conversation]:
        return contradictions.read_marked(data, name).talks

    readers: dict[str, Callable[[], Sequence[Conversation]]] = {
        **{name: partial(rated, entry) for name, entry in known_sets().items()},
        damaged.SET: lambda: damaged.talks_of(damaged.read_pairs(data)),
        "abc_eval": lambda: abc_eval.read_marked(data).talks,
        "dbdc3": lambda: breakdowns.read_voted(data).talks,
        **{name: partial(marked, name) for name in contradictions.SETS},
    }
    for name, read in readers.items():
        try:
            yield name, read()
        except InputError:  # not in this folder
            continue
