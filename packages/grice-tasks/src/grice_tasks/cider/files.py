"""CIDER's files: dialogues with triplets, every span checked against the text.

JSON lines, gzipped or not, with ``id, source, fold, utterances, context, appended`` and
``triplets``: head, relation, tail, ``[start, end]`` of both in ``utterances`` (``[-1, -1]``: it
does not stand there), and 0 or 1 for latent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.data import to_json
from grice.errors import RecordError, did_you_mean
from grice.knowledge.schema import load_schema
from grice_tasks.lines import check_distinct, read_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from grice.knowledge.schema import Schema


Place: TypeAlias = tuple[int, int]
"""``text[start:end]``; always into a text that is named beside it."""


class Annotated(msgspec.Struct, frozen=True):
    """A triplet as it was annotated."""

    head: str
    relation: str
    tail: str
    head_at: Place | None  # where the head stands in the dialogue's ``text``; None if it does not
    tail_at: Place | None
    latent: bool = False  # whether at least one span does not stand in the text


class Dialogue(msgspec.Struct, frozen=True):
    """A dialogue with its triplets."""

    id: str
    source: str
    fold: int | None  # the released test fold, 1 to 5; None if it takes no part
    text: str  # turns with their speakers, as one text; what offsets count in
    triplets: tuple[Annotated, ...]
    context: str | None = None  # the text that released task files use: without speakers
    appended: str | None = None  # what the released task files paste behind the context


def cider_schema() -> Schema:
    """Return CIDER's 31 relations."""
    return load_schema(Path(__file__).with_name("relations.toml"))


ABSENT = [-1, -1]
Invalid: TypeAlias = Literal["skip", "refuse"]
"""Treatment of an invalid triplet: it is left out and named, or the file is refused."""
NO_EXPERIMENT = (
    "RelatedTo HasContext NotHasPrerequisite ReceivesAction NotSocialRule CreatedBy NotShould "
    "NotHasA NotCapableOf NotUsedFor NotMannerOf MadeOf SymbolOf NotAtLocation NotSimilarTo "
    "NotDefinedAs NotLocationOfAction NotObstructedBy NotBefore"
)
"""Raw labels that take no part in any experiment: 64 triplets of the paper's 153 "Others"."""


class ReadDialogues(NamedTuple):
    """Dialogues of files, and the problems of the triplets that were left out."""

    dialogues: list[Dialogue]
    problems: list[str]


class _Row(msgspec.Struct):
    id: str
    utterances: str
    triplets: list[tuple[str, str, str, list[int], list[int], int]]
    source: str = ""
    fold: int | None = None
    context: str | None = None
    appended: str | None = None


def read_dialogues(*paths: Path, invalid: Invalid = "refuse") -> ReadDialogues:
    """Return the dialogues of files in order."""
    schema = cider_schema()
    known = frozenset((*schema.relations, *schema.aliases, *NO_EXPERIMENT.split()))
    read = ReadDialogues([], [])
    for path in paths:
        ids = []
        for line, row in read_rows(path, _Row):
            ids.append(row.id)
            triplets = []
            for index, stated in enumerate(row.triplets):
                triplet, wrong = _annotated(stated, row.utterances, known)
                field = f"triplets[{index}]"
                if triplet is not None:
                    triplets.append(triplet)
                elif invalid == "refuse":
                    raise RecordError(wrong, file=str(path), line=line, field=field)
                else:
                    read.problems.append(f"{path}: {row.id}: {field}: {wrong}")
            fields = row.id, row.source, row.fold, row.utterances, tuple(triplets)
            read.dialogues.append(Dialogue(*fields, row.context, row.appended))
        check_distinct(path, ids)
    return read


def _annotated(
    stated: tuple[str, str, str, list[int], list[int], int], text: str, relations: Collection[str]
) -> tuple[Annotated | None, str]:
    """Return a triplet, or None and its problem."""
    head, relation, tail, *places, latent = stated
    if relation not in relations:
        return None, f"unknown relation {relation!r}{did_you_mean(relation, relations)}"
    found: list[Place | None] = []
    for side, span, place in zip(("head", "tail"), (head, tail), places, strict=True):
        if not span.strip():
            return None, f"the {side} is empty"
        if place == ABSENT:
            found.append(None)
            continue
        if len(place) != 2:
            return None, f"a span has a start and an end, found {place}"
        start, end = place
        if start >= end:
            return None, f"the {side} span {start}-{end} is reversed or empty"
        if start < 0 or end > len(text):
            outside = f"lies outside the text of {len(text)} characters"
            return None, f"the {side} span {start}-{end} {outside}"
        if text[start:end] != span:
            said = f"{side} {span!r} is said to stand at {start}-{end}"
            return None, f"{said}, where the text has {text[start:end]!r}"
        found.append((start, end))
    if found[0] is not None and found[0] == found[1]:
        return None, f"head and tail are the same stretch {found[0][0]}-{found[0][1]}"
    return Annotated(head, relation, tail, found[0], found[1], bool(latent)), ""


def dump_dialogue(dialogue: Dialogue) -> str:
    """Return a dialogue as a line of the released form."""
    names = {"text": "utterances"}
    order = ("id", "source", "fold", "text", "context", "appended")
    fields = {names.get(name, name): getattr(dialogue, name) for name in order}
    triplets = [
        (t.head, t.relation, t.tail, t.head_at or ABSENT, t.tail_at or ABSENT, int(t.latent))
        for t in dialogue.triplets
    ]
    return to_json({**fields, "triplets": triplets})
