"""Event tuples of a reply, relation by relation (ACCENT's panel), validated by three others.

For each relation a judge writes head, tail and whether both are of the reply (single) or one is of
the turn before (pair), or says that no tuple applies. Three judges who wrote none for the reply
then say whether each tuple is valid, and the majority counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.data import TripleEvidence
from grice.errors import InputError, did_you_mean
from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._replies import reply_record, reply_tasks
from grice_annotate.templates._template import (
    Column,
    Followed,
    Judged,
    Page,
    Submitted,
    fields,
)
from grice_annotate.templates._verdicts import majority, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Json, Score
    from grice_annotate.records import Answer, Settings

ABOUT = "write the event tuples of replies, relation by relation; others validate them"
OPTIONS = frozenset({"relations"})
RELATIONS = {
    "xIntent": "because PersonX wanted",
    "xNeed": "but before, PersonX needed",
    "xReact": "as a result, PersonX feels",
    "oReact": "as a result, others feel",
    "xWant": "as a result, PersonX wants",
    "oWant": "as a result, others want",
    "xAttr": "PersonX is seen as",
    "xEffect": "as a result, PersonX will",
    "oEffect": "as a result, others will",
    "HinderedBy": "can be hindered by",
    "isAfter": "happens after",
    "HasSubEvent": "includes the event",
}
"""ACCENT's relations, each in words between head and tail."""
SCOPES = ("single", "pair")
WRITE, VALIDATE = "tuples", "validate"
VALIDATORS = 3
VERDICTS = {
    "valid": "It is valid.",
    "events": "Head or tail is no event: nothing that happens, is done or is the case.",
    "source": "An event is neither of the reply nor of the turn before.",
    "relation": "The relation between them cannot be inferred from these turns.",
}
"""Answers of a validation; all but the first say what is wrong."""
ROWS = 5
"""Tuples of one relation."""
LONGEST = 200
"""Characters of a head or tail."""


def relations_of(settings: Settings) -> tuple[str, ...]:
    """Return the relations that are asked for."""
    for name in settings.relations:
        if name not in RELATIONS:
            raise InputError(f"relation {name!r}{did_you_mean(name, RELATIONS)}")
    return settings.relations or tuple(RELATIONS)


def read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield a task for each reply."""
    relations_of(settings)
    return reply_tasks(files, settings, stage=WRITE)


def page(page: Page) -> dict[str, Any]:
    """Return the relations with their words, and the verdicts."""
    words = {name: RELATIONS[name] for name in relations_of(page.settings)}
    form = {"rows": range(ROWS), "scopes": SCOPES, "longest": LONGEST}
    return {"relations": words, "verdicts": VERDICTS, **form}


def answer(submitted: Submitted) -> Json:
    """Return the tuples of each relation, or what is said of one; an empty list for no tuple."""
    form = submitted.form
    if submitted.page.task.stage == VALIDATE:
        verdict = form.get("verdict", [""])[0]
        if verdict not in VERDICTS:
            raise AnswerError("say that the tuple is valid, or what is wrong with it")
        return verdict
    answer: dict[str, Json] = {}
    for relation in relations_of(submitted.page.settings):
        rows: list[Json] = [
            row for number in range(ROWS) if (row := _row(form, relation, number)) is not None
        ]
        if bool(rows) == (f"{relation}.none" in form):
            raise AnswerError(f"{relation}: write a tuple, or mark that you cannot find any")
        answer[relation] = rows
    return answer


def _row(form: Mapping[str, list[str]], relation: str, number: int) -> Json:
    head, tail, scope = (
        " ".join(form.get(f"{relation}.{number}.{part}", [""])[0].split())
        for part in ("head", "tail", "scope")
    )
    if not head and not tail:
        return None
    if not head or not tail or scope not in SCOPES:
        raise AnswerError(f"{relation}: a tuple has a head, a tail, and is single or a pair")
    if max(len(head), len(tail)) > LONGEST:
        raise AnswerError(f"{relation}: a head or a tail has at most {LONGEST} characters")
    return {"head": head, "tail": tail, "scope": scope}


def propose(scores: Mapping[str, Score], settings: Settings) -> Json:
    """Return the triples in the evidence of scores, as tuples of the relations asked for."""
    proposal: dict[str, list[Json]] = {name: [] for name in relations_of(settings)}
    for score in scores.values():
        for piece in score.evidence:
            if isinstance(piece, TripleEvidence) and piece.triple.relation in proposal:
                rows = proposal[piece.triple.relation]
                if len(rows) < ROWS:
                    rows.append(
                        {"head": piece.triple.head, "tail": piece.triple.tail, "scope": "single"}
                    )
    return dict(proposal) if any(proposal.values()) else None


def follow(task: Task, answers: Sequence[Answer], _: Settings) -> Followed:
    """Return the validation of each distinct tuple by others than those who wrote any."""
    if task.stage == VALIDATE:
        return Followed()
    written = [row for answer in answers for row in _written(answer.value)]
    distinct = [row for place, row in enumerate(written) if row not in written[:place]]
    claims = (
        Task(
            key=f"{task.key}:{number}",
            group=task.group,
            content={**fields(task.content), "claim": claim},
            stage=VALIDATE,
            judges=VALIDATORS,
            excluded=tuple(answer.judge for answer in answers),
        )
        for number, claim in enumerate(distinct)
    )
    return Followed(tasks=tuple(claims))


def columns(tasks: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return for each relation whether a judge sees any tuple of it, and the verdicts."""
    written = [answer for answer in answers if isinstance(answer.value, dict)]
    seen = {
        (each.task, each.judge): {row["relation"] for row in _written(each.value)}
        for each in written
    }
    asked = [name for name in RELATIONS if any(name in fields(each.value) for each in written)]
    return [
        Column(name, "nominal", {place: str(name in found) for place, found in seen.items()})
        for name in asked
    ] + verdicts("verdict", VALIDATE, VERDICTS, tasks, answers)


def _written(value: Json) -> list[dict[str, Json]]:
    """Return the tuples of an answer, each with its relation."""
    return [
        {"relation": name, **row}
        for name, rows in fields(value).items()
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    ]


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield the reply with its tuples; ``valid`` is None before three others have said."""
    task, values = item[0]
    claims = ((fields(claim.content)["claim"], votes) for claim, votes in item[1:])
    said = {tuple(fields(claim).values()): _valid(votes) for claim, votes in claims}
    tuples: list[Json] = [
        {"annotator": name, **row, "valid": said.get(tuple(row.values()))}
        for name, value in values.items()
        for row in _written(value)
    ]
    yield reply_record(task, {"tuples": tuples})


def _valid(votes: Mapping[str, Json]) -> bool | None:
    said = majority([str(vote) for vote in votes.values()])
    return said == "valid" if len(votes) >= VALIDATORS else None
