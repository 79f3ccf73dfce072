"""Commonsense triplets of a dialogue (CIDER): one judge marks them, two validate, a third decides.

The one marks spans and draws relations between them; two others, who did not, say whether each is
entailed by the dialogue, and if so whether it is explicit; where they differ, a third decides.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._replies import conversations, has_fields
from grice_annotate.templates._template import Column, Followed, Judged, Page, Submitted
from grice_tasks.cider.files import Annotated, Dialogue, cider_schema, dump_dialogue, read_dialogues

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Settings

ABOUT = "mark commonsense triplets in dialogues; others validate them"
MARK, VALIDATE = "mark", "validate"
VALIDATORS = 2
MOST = 100
"""Triplets of a dialogue."""


class _Link(msgspec.Struct, frozen=True):
    """A triplet as a page sends it: places in the text, in characters."""

    head: tuple[int, int]
    relation: str
    tail: tuple[int, int]


class _Dialogue(msgspec.Struct, frozen=True):
    id: str
    text: str


class _Claim(msgspec.Struct, frozen=True):
    """A triplet that is validated."""

    id: str
    text: str
    link: _Link
    title: str


class _Validity(msgspec.Struct, frozen=True):
    valid: bool
    kind: Literal["explicit", "implicit"] | None = None


def read(files: Sequence[str], _: Settings) -> Iterator[Task]:
    """Yield a task for each dialogue; triplets of annotated files are proposals."""
    for file in files:
        if has_fields(Path(file), b"utterances", b"triplets"):
            for dialogue in read_dialogues(Path(file), invalid="skip").dialogues:
                yield _marking(dialogue.id, dialogue.text, dialogue.triplets)
            continue
        for talk in conversations([file]):
            text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in talk.turns)
            yield _marking(talk.id, text, ())


def _marking(name: str, text: str, triplets: Sequence[Annotated]) -> Task:
    links: list[Json] = [
        {"head": list(each.head_at), "relation": each.relation, "tail": list(each.tail_at)}
        for each in triplets
        if each.head_at and each.tail_at
    ]
    return Task(
        key=name,
        group=name,
        content={"id": name, "text": text},
        stage=MARK,
        judges=1,
        proposal=links or None,
    )


def page(page: Page) -> dict[str, Any]:
    """Return the relations, or the triplet in its text."""
    if page.task.stage == MARK:
        relations = cider_schema().relations
        return {"relations": {name: each.title or name for name, each in relations.items()}}
    claim = msgspec.convert(page.task.content, _Claim)
    return {"pieces": _pieces(claim.text, claim.link), "title": claim.title}


def _pieces(text: str, link: _Link) -> list[tuple[str, str]]:
    """Return the text in pieces, each with what it is: ``head``, ``tail``, both or nothing."""
    ends = sorted({0, len(text), *link.head, *link.tail})
    pieces = []
    for start, end in pairwise(ends):
        inside = [
            name
            for name, place in (("head", link.head), ("tail", link.tail))
            if place[0] <= start and end <= place[1]
        ]
        pieces.append((text[start:end], " ".join(inside)))
    return pieces


def answer(submitted: Submitted) -> Json:
    """Return the marked triplets, or what is said of one."""
    if submitted.page.task.stage == MARK:
        return _marked(submitted)
    form = submitted.form
    valid, kind = (form.get(name, [""])[0] for name in ("valid", "kind"))
    if valid not in ("yes", "no"):
        raise AnswerError("say whether the triplet is entailed by the dialogue")
    if valid == "no":
        return {"valid": False, "kind": None}
    if kind not in ("explicit", "implicit"):
        raise AnswerError("say whether the triplet is explicit or implicit")
    return {"valid": True, "kind": kind}


def _marked(submitted: Submitted) -> Json:
    """Return the triplets that a page holds, each checked against the text."""
    text = msgspec.convert(submitted.page.task.content, _Dialogue).text
    written = submitted.form.get("links", [""])[0]
    try:
        links = msgspec.json.decode(written or "[]", type=list[_Link])
    except msgspec.DecodeError as error:
        raise AnswerError(f"the triplets cannot be read: {error}") from None
    if bool(links) == ("none" in submitted.form):
        raise AnswerError("mark a triplet, or say that you find none, not both")
    if len(links) > MOST:
        raise AnswerError(f"a dialogue has at most {MOST} triplets")
    known = cider_schema().relations
    for link in links:
        for start, end in (link.head, link.tail):
            if not 0 <= start < end <= len(text) or not text[start:end].strip():
                raise AnswerError("head and tail are words of the dialogue")
        if link.relation not in known:
            raise AnswerError(f"{link.relation[:40]!r} is no relation of the list")
    builtins: Json = msgspec.to_builtins(list(dict.fromkeys(links)))
    return builtins


def follow(task: Task, answers: Sequence[Answer], _: Settings) -> Followed:
    """Return what is validated behind what was marked, and a third judge where two differ."""
    if task.stage == MARK:
        return Followed(tasks=tuple(_claims(task, answers[-1])))
    votes = [_validity(answer.value).valid for answer in answers]
    return Followed(judges=1) if len(votes) == VALIDATORS and len(set(votes)) > 1 else Followed()


def _claims(task: Task, answer: Answer) -> Iterator[Task]:
    dialogue = msgspec.convert(task.content, _Dialogue)
    relations = cider_schema().relations
    for number, link in enumerate(msgspec.convert(answer.value, list[_Link])):
        title = relations[link.relation].title or link.relation
        yield Task(
            key=f"{task.key}:{number}",
            group=task.group,
            content=msgspec.to_builtins(_Claim(dialogue.id, dialogue.text, link, title)),
            stage=VALIDATE,
            judges=VALIDATORS,
            excluded=(answer.judge,),
        )


def _validity(value: Json) -> _Validity:
    return msgspec.convert(value, _Validity)


def columns(tasks: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return the validity of triplets and their kind."""
    validated = {task.id for task in tasks if task.stage == VALIDATE}
    valid: dict[tuple[int, int], float | str] = {}
    kinds: dict[tuple[int, int], float | str] = {}
    for answer in answers:
        if answer.task in validated:
            validity = _validity(answer.value)
            valid[answer.task, answer.judge] = str(validity.valid)
            if validity.kind:
                kinds[answer.task, answer.judge] = validity.kind
    return [Column("valid", "nominal", valid), Column("explicit", "nominal", kinds)]


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the dialogue in CIDER's form with its valid triplets, and every verdict beside."""
    dialogue = msgspec.convert(item[0].task.content, _Dialogue)
    triplets, verdicts = [], []
    for task, values in item[1:]:
        claim = msgspec.convert(task.content, _Claim)
        validity = {name: _validity(value) for name, value in values.items()}
        valid = _majority(list(validity.values()), task)
        verdicts.append(
            {
                "link": msgspec.to_builtins(claim.link),
                "valid": valid,
                "verdicts": {name: msgspec.to_builtins(each) for name, each in validity.items()},
                "kind": _kind(list(validity.values())),
            }
        )
        if valid:
            head, tail = (claim.text[slice(*place)] for place in (claim.link.head, claim.link.tail))
            triplets.append(
                Annotated(head, claim.link.relation, tail, claim.link.head, claim.link.tail)
            )
    whole = Dialogue(dialogue.id, "", None, dialogue.text, tuple(triplets))
    record: dict[str, Json] = msgspec.json.decode(dump_dialogue(whole))
    yield {**record, "annotators": list(item[0].values), "validated": list(verdicts)}


def _majority(votes: Sequence[_Validity], task: Task) -> bool:
    if task.adjudicated is not None:
        return _validity(task.adjudicated).valid
    return sum(vote.valid for vote in votes) * 2 > len(votes)


def _kind(votes: Sequence[_Validity]) -> str | None:
    kinds = Counter(vote.kind for vote in votes if vote.kind).most_common(2)
    tied = len(kinds) > 1 and kinds[0][1] == kinds[1][1]
    return None if tied or not kinds else kinds[0][0]
