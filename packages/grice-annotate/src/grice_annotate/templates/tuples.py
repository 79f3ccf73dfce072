"""Event tuples of a reply, relation by relation (ACCENT's panel).

For each relation a judge writes head, tail and whether both are of the reply (single) or one is of
the turn before (pair), or says that no tuple applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grice.data import TripleEvidence
from grice.errors import InputError, did_you_mean
from grice_annotate.records import AnswerError
from grice_annotate.templates._template import (
    Column,
    Judged,
    Page,
    Submitted,
    Template,
    reply_record,
    reply_tasks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.data import Json, Score
    from grice_annotate.records import Answer, Settings, Task

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


def _read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    relations_of(settings)
    return reply_tasks(files, settings.judges, "tuples")


def _page(page: Page) -> dict[str, Any]:
    words = {name: RELATIONS[name] for name in relations_of(page.settings)}
    return {"relations": words, "rows": range(ROWS), "scopes": SCOPES, "longest": LONGEST}


def _answer(submitted: Submitted) -> Json:
    """Return the tuples of each relation; an empty list where no tuple applies."""
    form = submitted.form
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


def _propose(scores: Mapping[str, Score], settings: Settings) -> Json:
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


def _rows_of(value: Json, relation: str) -> list[dict[str, Json]]:
    rows = value.get(relation) if isinstance(value, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _columns(_: Sequence[Task], answers: Sequence[Answer]) -> list[Column]:
    """Return for each relation whether a judge sees any tuple of it."""
    relations = [name for name in RELATIONS if any(name in _fields(each.value) for each in answers)]
    return [
        Column(
            relation,
            "nominal",
            {
                (answer.task, answer.judge): str(bool(_rows_of(answer.value, relation)))
                for answer in answers
            },
        )
        for relation in relations
    ]


def _fields(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _record(item: Sequence[Judged]) -> dict[str, Json]:
    task, values = item[0]
    tuples: list[Json] = [
        {"relation": relation, "annotator": name, **row}
        for name, value in values.items()
        for relation in _fields(value)
        for row in _rows_of(value, relation)
    ]
    return reply_record(task, {"tuples": tuples})


TEMPLATE = Template(
    name="tuples",
    about="write the event tuples of replies, relation by relation",
    read=_read,
    answer=_answer,
    record=_record,
    columns=_columns,
    options=frozenset({"relations"}),
    page=_page,
    propose=_propose,
)
