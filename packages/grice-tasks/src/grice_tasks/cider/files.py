"""CIDER's files: dialogues with triplets, read with every span checked against the text.

A file is JSON lines, gzipped or not, with ``id, source, fold, utterances, context, appended`` and
``triplets``: lists of head, relation, tail, ``[start, end]`` of head and tail in ``utterances``
(``[-1, -1]``: it does not stand there), and 0 or 1 for latent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from grice.data import to_json
from grice.errors import RecordError, did_you_mean
from grice.knowledge.schema import load_schema
from grice_tasks.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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


class Problem(NamedTuple):
    """Problem of a triplet."""

    dialogue: str
    number: int  # its place in the dialogue, from 0
    what: str

    def __str__(self) -> str:
        return f"{self.dialogue}: triplets[{self.number}]: {self.what}"


class ReadDialogues(NamedTuple):
    """Dialogues of a file, and what was left out of it."""

    dialogues: list[Dialogue]
    problems: list[Problem]


class _Row(msgspec.Struct):
    id: str
    utterances: str
    triplets: list[tuple[str, str, str, list[int], list[int], int]]
    source: str = ""
    fold: int | None = None
    context: str | None = None
    appended: str | None = None


def read_dialogues(
    path: Path, *, invalid: Invalid = "refuse", relations: Collection[str] | None = None
) -> ReadDialogues:
    """Return the dialogues of a file in order."""
    known = known_relations() if relations is None else relations
    decoder = msgspec.json.Decoder(_Row)
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for number, line in read_lines(path):
        try:
            row = decoder.decode(line)
        except msgspec.MsgspecError as error:
            what = f"{error}; a line has id, utterances and triplets, as CIDER's files do"
            raise RecordError(what, file=str(path), line=number) from None
        if row.id in seen:
            raise RecordError(f"a second dialogue {row.id!r}", file=str(path), line=number)
        seen.add(row.id)
        triplets = []
        for index, (head, relation, tail, head_at, tail_at, latent) in enumerate(row.triplets):
            try:
                triplet = Annotated(
                    head, relation, tail, _place(head_at), _place(tail_at), bool(latent)
                )
                wrong = check(triplet, row.utterances, known)
            except ValueError as error:
                wrong = str(error)
            if not wrong:
                triplets.append(triplet)
                continue
            if invalid == "refuse":
                raise RecordError(wrong, file=str(path), line=number, field=f"triplets[{index}]")
            problems.append(Problem(row.id, index, wrong))
        dialogues.append(
            Dialogue(
                row.id,
                row.source,
                row.fold,
                row.utterances,
                tuple(triplets),
                row.context,
                row.appended,
            )
        )
    return ReadDialogues(dialogues, problems)


def known_relations() -> frozenset[str]:
    """Return every name of the raw annotation: relations, their other names, and dropped ones."""
    schema = cider_schema()
    return frozenset((*schema.relations, *schema.aliases, *DROPPED))


NO_EXPERIMENT = (
    "RelatedTo HasContext NotHasPrerequisite ReceivesAction NotSocialRule CreatedBy NotShould "
    "NotHasA NotCapableOf NotUsedFor NotMannerOf MadeOf SymbolOf NotAtLocation NotSimilarTo "
    "NotDefinedAs NotLocationOfAction NotObstructedBy NotBefore"
)
DROPPED = tuple(NO_EXPERIMENT.split())
"""Raw labels that take no part in any experiment: 64 triplets of the paper's 153 "Others"."""


def check(triplet: Annotated, text: str, relations: Collection[str]) -> str:
    """Return what is wrong with a triplet; empty if nothing is.

    >>> one = Annotated("buss", "Causes", "late", (8, 12), (20, 24))
    >>> check(one, "I missed the bus, so I am late", {"Causes"})
    "head 'buss' is said to stand at 8-12, where the text has ' the'"
    """
    if triplet.relation not in relations:
        return f"unknown relation {triplet.relation!r}{did_you_mean(triplet.relation, relations)}"
    for side, span, place in (
        ("head", triplet.head, triplet.head_at),
        ("tail", triplet.tail, triplet.tail_at),
    ):
        if not span.strip():
            return f"the {side} is empty"
        if place is None:
            continue
        start, end = place
        if start >= end:
            return f"the {side} span {start}-{end} is reversed or empty"
        if start < 0 or end > len(text):
            return f"the {side} span {start}-{end} lies outside the text of {len(text)} characters"
        if text[start:end] != span:
            return (
                f"{side} {span!r} is said to stand at {start}-{end}, where the text has "
                f"{text[start:end]!r}"
            )
    if triplet.head_at is not None and triplet.head_at == triplet.tail_at:
        return f"head and tail are the same stretch {triplet.head_at[0]}-{triplet.head_at[1]}"
    return ""


def _place(stated: list[int]) -> Place | None:
    if stated == ABSENT:
        return None
    if len(stated) != 2:
        raise ValueError(f"a span has a start and an end, found {stated}")
    return stated[0], stated[1]


def dump_dialogue(dialogue: Dialogue) -> str:
    """Return a dialogue as a line of the released form."""
    record = {
        "id": dialogue.id,
        "source": dialogue.source,
        "fold": dialogue.fold,
        "utterances": dialogue.text,
        "context": dialogue.context,
        "appended": dialogue.appended,
        "triplets": [
            [
                triplet.head,
                triplet.relation,
                triplet.tail,
                list(triplet.head_at or ABSENT),
                list(triplet.tail_at or ABSENT),
                int(triplet.latent),
            ]
            for triplet in dialogue.triplets
        ],
    }
    return to_json(record)


def read_annotated(
    paths: Sequence[Path], *, invalid: Invalid = "refuse"
) -> tuple[list[Dialogue], list[str]]:
    """Return the annotated dialogues of all files, and what is wrong with what was left out."""
    dialogues: list[Dialogue] = []
    problems: list[str] = []
    for path in paths:
        of_path, wrong = read_dialogues(path, invalid=invalid)
        dialogues += of_path
        problems += [f"{path}: {problem}" for problem in wrong]
    return dialogues, problems
