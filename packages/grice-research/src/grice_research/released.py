"""Scores that authors of other metrics released, as columns over rated sets.

A source is named ``deam``, ``scores:NAME`` (a scorer of ``rated/released_scores.json.gz``),
``gpt4:DIMENSION`` (the mean of its samples), ``gpt4_first:DIMENSION`` (one sample), or
``record:FIELD`` (a field of the rated records; ``a+b`` is the mean of two). A minus in front turns
scores round that are low where people rate high.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from grice.evaluation.datasets import Rated
    from grice.records import Json

SCORES = "rated/released_scores.json.gz"
GPT4 = "rated/gpt4_dialogue_annotations.json.gz"
DEAM = {"fed_dialogue": "deam/deam_fed.jsonl.gz", "dstc9_dialogue": "deam/deam_dstc9.jsonl.gz"}
SOURCES = {
    SCORES: "github.com/ictnlp/DialoFlow, maszhongming/UniEval, DSincerity/FED_Replication, "
    "d223302/A-Closer-Look-To-LLM-Evaluation, ramya2811/GRADE-A-PLUS",
    GPT4: "github.com/e0397123/comp-analysis",
    **dict.fromkeys(DEAM.values(), "github.com/PlusLabNLP/DEAM"),
}


class _Deam(msgspec.Struct):
    rated_id: str | None
    deam_score: float


def released(source: str, rated: Rated, folder: Path) -> list[float | None]:
    """Return the released score of each item; None where there is none."""
    if source.startswith("-"):
        turned = released(source.removeprefix("-"), rated, folder)
        return [None if value is None else -value for value in turned]
    kind, _, name = source.partition(":")
    if kind == "record":
        return _of_records(name, rated)
    ids = [item.conversation.id for item in rated.items]
    if kind == "deam":
        scores = _deam(rated.set.name, folder)
    elif kind == "scores":
        scores = _scores(rated.set.name, name, folder)
    elif kind in ("gpt4", "gpt4_first"):
        scores = _gpt4(rated.set.name, name, folder, first=kind == "gpt4_first")
    else:
        raise InputError(f"no released scores are named {source!r}")
    return [scores.get(id_) for id_ in ids]


def _of_records(name: str, rated: Rated) -> list[float | None]:
    fields = name.split("+")
    values: list[float | None] = []
    for item in rated.items:
        given = [_number(item.conversation.meta, field) for field in fields]
        values_given = [value for value in given if value is not None]
        values.append(
            sum(values_given) / len(values_given) if len(values_given) == len(fields) else None
        )
    return values


def _number(meta: Json, path: str) -> float | None:
    for step in path.split("."):
        meta = meta.get(step) if isinstance(meta, dict) else None
    return float(meta) if isinstance(meta, int | float) and not isinstance(meta, bool) else None


def _deam(data: str, folder: Path) -> dict[str, float]:
    if data not in DEAM:
        raise InputError(f"DEAM's authors released no scores of {data}")
    decoder = msgspec.json.Decoder(_Deam)
    lines = (decoder.decode(line) for line in _content(folder, DEAM[data]).splitlines())
    return {line.rated_id: line.deam_score for line in lines if line.rated_id is not None}


def _scores(data: str, name: str, folder: Path) -> dict[str, float]:
    known = msgspec.json.decode(
        _content(folder, SCORES), type=dict[str, dict[str, dict[str, float]]]
    )
    if data not in known or name not in known[data]:
        near = did_you_mean(name, known.get(data, {}))
        raise InputError(f"{SCORES}: no scores {name!r} of {data}{near}")
    return known[data][name]


def _gpt4(data: str, name: str, folder: Path, *, first: bool) -> dict[str, float]:
    known = msgspec.json.decode(_content(folder, GPT4), type=dict[str, list[dict[str, object]]])
    means = {}
    for entry in known.get(data, ()):
        samples = entry.get(name)
        given = (
            [sample for sample in samples if isinstance(sample, int | float)]
            if isinstance(samples, list)
            else []
        )
        given = given[:1] if first else given
        if given:
            means[str(entry["id"])] = sum(given) / len(given)
    if not means:
        raise InputError(f"{GPT4}: nothing on {name!r} of {data}")
    return means


def _content(folder: Path, file: str) -> bytes:
    path = folder / file
    if not path.is_file():
        raise InputError(f"{path} is not there; the scores are from {SOURCES[file]}")
    return gzip.decompress(path.read_bytes())
