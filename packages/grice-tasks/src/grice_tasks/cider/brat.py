"""brat's stand-off files: a text, and lines that point into it.

``T1<TAB>Span 4 18<TAB>missed the bus`` is a span, ``R1<TAB>Causes Arg1:T1 Arg2:T2`` a triplet. A
span that does not stand in the dialogue is written behind it, on a line of its own, and marked
``A1<TAB>Latent T3``, so that every offset points at its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError, RecordError, excerpt
from grice.files import make_folder, write_bytes
from grice_tasks.cider.files import Problem, ReadDialogues, check, known_relations
from grice_tasks.cider.records import Annotated, Dialogue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from grice_tasks.cider.files import Invalid
    from grice_tasks.cider.records import Place


def to_brat(dialogue: Dialogue) -> tuple[str, str]:
    """Return a dialogue as text and annotation: what belongs in ``ID.txt`` and ``ID.ann``."""
    text = dialogue.text
    spans: dict[tuple[str, Place], str] = {}
    latent: dict[str, str] = {}
    lines, marks = [], []

    def name(span: str, place: Place | None) -> str:
        nonlocal text
        if place is None:
            if span not in latent:
                text += "\n" + span
                latent[span] = name(span, (len(text) - len(span), len(text)))
                marks.append(f"A{len(latent)}\tLatent {latent[span]}")
            return latent[span]
        if (span, place) not in spans:
            spans[span, place] = f"T{len(spans) + 1}"
            lines.append(f"{spans[span, place]}\tSpan {place[0]} {place[1]}\t{span}")
        return spans[span, place]

    links = [
        f"R{number}\t{triplet.relation} Arg1:{name(triplet.head, triplet.head_at)} "
        f"Arg2:{name(triplet.tail, triplet.tail_at)}"
        for number, triplet in enumerate(dialogue.triplets, 1)
    ]
    return text, "".join(line + "\n" for line in (*lines, *marks, *links))


def from_brat(
    name: str,
    text: str,
    annotation: str,
    *,
    invalid: Invalid = "refuse",
    relations: Collection[str] | None = None,
) -> tuple[Dialogue, list[Problem]]:
    """Return a dialogue of a text with its annotation, and what was left out of it.

    Events and notes are no triplets and are passed over. A span in several pieces cannot be.

    Args:
        name: Id of the dialogue, also named in errors.
        invalid: Whether a triplet that cannot be is left out and named, or the file is refused.
        relations: Names of relations that are known; default: those of CIDER's raw annotation.
    """
    file = f"{name}.ann"
    known = known_relations() if relations is None else relations
    spans: dict[str, tuple[str, Place]] = {}
    latent: set[str] = set()
    links: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(annotation.split("\n"), 1):
        try:
            if line.startswith("T"):
                label, where, words = line.split("\t", 2)
                _, start, end = where.split(" ")
                spans[label] = words, (int(start), int(end))
            elif line.startswith("A") and line.split("\t")[1].startswith("Latent "):
                latent.add(line.split(" ")[1].strip())
            elif line.startswith("R"):
                relation, first, second = line.split("\t")[1].split(" ")
                links.append((number, relation, first.split(":")[1], second.split(":")[1].strip()))
        except (ValueError, IndexError):
            raise RecordError(
                f"not a line of brat: {excerpt(line, 80)!r}; a span is T1<TAB>Span START "
                f"END<TAB>WORDS in one piece, a triplet R1<TAB>RELATION Arg1:T1 Arg2:T2",
                file=file,
                line=number,
            ) from None
    beyond = min((spans[label][1][0] - 1 for label in latent if label in spans), default=len(text))
    triplets, problems = [], []
    for index, (number, relation, first, second) in enumerate(links):
        wrong = next(
            (f"there is no span {label}" for label in (first, second) if label not in spans), ""
        )
        if not wrong:
            (head, head_at), (tail, tail_at) = spans[first], spans[second]
            triplet = Annotated(head, relation, tail, head_at, tail_at)
            wrong = check(triplet, text, known)
        if not wrong:
            triplets.append(
                Annotated(
                    head,
                    relation,
                    tail,
                    None if first in latent else head_at,
                    None if second in latent else tail_at,
                    first in latent or second in latent,
                )
            )
        elif invalid == "refuse":
            raise RecordError(wrong, file=file, line=number)
        else:
            problems.append(Problem(name, index, wrong))
    return Dialogue(name, "", None, text[: max(0, beyond)], tuple(triplets)), problems


def read_brat(folder: Path, *, invalid: Invalid = "refuse") -> ReadDialogues:
    """Return the dialogues of a folder of ``ID.txt`` with ``ID.ann``, by name.

    Source and fold of a dialogue have no place in brat's files and come back empty.

    Args:
        invalid: Whether a triplet that cannot be is left out and named, or the file is refused.
    """
    content = ReadDialogues([], [])
    for path in sorted(folder.glob("*.ann")):
        try:
            text = path.with_suffix(".txt").read_bytes().decode()
            annotation = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path} and its .txt: cannot be read: {why}") from None
        dialogue, problems = from_brat(path.stem, text, annotation, invalid=invalid)
        content.dialogues.append(dialogue)
        content.problems.extend(problems)
    if not content.dialogues:
        raise InputError(f"{folder}: no .ann file; brat keeps ID.ann beside ID.txt")
    return content


def write_brat(folder: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write ``ID.txt`` and ``ID.ann`` of each dialogue into a folder, which is made."""
    for dialogue in dialogues:
        if not dialogue.id or set(dialogue.id) & set("/\\\0"):
            raise InputError(f"the id {dialogue.id!r} cannot name a file")
        text, annotation = to_brat(dialogue)
        make_folder(folder)
        write_bytes(folder / f"{dialogue.id}.txt", text.encode())
        write_bytes(folder / f"{dialogue.id}.ann", annotation.encode())
