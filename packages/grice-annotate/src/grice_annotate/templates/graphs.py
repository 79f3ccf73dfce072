"""Explanation graphs (ExplaGraphs): collect, verify by belief and graph alone, refine.

One judge writes facts, whose structure is checked and drawn meanwhile; others see belief and graph
and say which stance it explains, or that it is incorrect; a graph whose majority is not the stance
goes to somebody else, who adds, removes or replaces facts; and so on until it is correct.
"""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from grice.data import Triple
from grice.errors import InputError, RecordError
from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._template import Followed, Judged, Page, Submitted
from grice_annotate.templates._verdicts import majority, verdicts
from grice_tasks.explagraphs.check import MAX_FACTS, check_graph
from grice_tasks.explagraphs.drawing import draw_graph
from grice_tasks.explagraphs.graph import Graph, read_graph, write_graph
from grice_tasks.explagraphs.samples import read_predictions, read_samples
from grice_tasks.explagraphs.wording import relation_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Form, Settings

ABOUT = "write explanation graphs, verify them without the argument, refine them"
OPTIONS = frozenset({"predictions", "refiners"})
COLLECT, VERIFY, REFINE = "collect", "verify", "refine"
VERDICTS = ("support", "counter", "incorrect")
ROUNDS = 3
"""Rounds of verification, after which a graph stays as it is."""


class _Content(msgspec.Struct, frozen=True):
    """A belief, an argument and the graph so far.

    Attributes:
        writers: Judges who wrote it: they never verify it.
        round: Of verification, from 0.
        verdict: What the verifiers said, for whoever refines.
    """

    id: str
    belief: str
    argument: str
    stance: Literal["support", "counter"]
    graph: str = ""
    writers: tuple[int, ...] = ()
    round: int = 0
    verdict: str = ""


def read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield a task for each graph to write, or of a system to verify."""
    if settings.predictions is not None:
        yield from _predicted(files, settings)
        return
    for file in files:
        for sample in read_samples(Path(file)):
            if sample.stance is None:
                problem = f"sample {sample.id!r} has no stance that a graph could explain"
                raise RecordError(problem, file=file, field="stance")
            content = _Content(
                id=sample.id, belief=sample.belief, argument=sample.argument, stance=sample.stance
            )
            proposal = next(iter(sample.graphs), None)
            yield _task(content, COLLECT, 1, proposal=proposal)


def _predicted(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield the verification of each graph of a system that has the stance and breaks no rule."""
    path = Path(settings.predictions or "")
    answers = {answer.id: answer for answer in read_predictions(path)}
    for sample in (sample for file in files for sample in read_samples(Path(file))):
        answer = answers.pop(sample.id, None)
        if answer is None or answer.stance != sample.stance:
            continue
        if check_graph(answer.graph, sample.belief, sample.argument).ok:
            texts = (sample.id, sample.belief, sample.argument, answer.stance, answer.graph)
            yield _task(_Content(*texts), VERIFY, settings.judges)
    if answers:
        raise InputError(f"{path}: no sample {next(iter(answers))!r} in {', '.join(files)}")


def _task(content: _Content, stage: str, judges: int, *, proposal: Json = None) -> Task:
    return Task(
        key=content.id if stage == COLLECT else f"{content.id}:{stage}{content.round}",
        group=content.id,
        content=msgspec.to_builtins(content),
        stage=stage,
        judges=judges,
        expected=content.stance if stage == VERIFY else None,
        proposal=proposal,
        excluded=content.writers,
    )


def _content(task: Task) -> _Content:
    return msgspec.convert(task.content, _Content)


def page(page: Page) -> dict[str, Any]:
    """Return the verdicts, the relations and the drawing."""
    content = _content(page.task)
    drawing = ""
    if page.task.stage == VERIFY:  # beside the belief alone: the argument is not to be seen
        drawing = draw_graph(read_graph(content.graph).graph, content.belief)
    return {
        "verdicts": VERDICTS,
        "relations": relation_names(),
        "rows": range(MAX_FACTS),
        "drawing": drawing,
        "facts_of": _facts_of,
    }


def _facts_of(graph: str | None) -> list[Triple]:
    """Return the facts of a written graph, for the fields of the page."""
    return list(read_graph(graph or "").graph.edges)


def _written(form: Form) -> str:
    """Return the graph of a form."""
    facts = []
    for number in range(MAX_FACTS):
        head, relation, tail = (
            " ".join(form.get(f"fact{number}.{part}", [""])[0].split())
            for part in ("head", "relation", "tail")
        )
        if head and tail and relation:
            facts.append(Triple(head, relation, tail))
        elif head or tail:
            raise AnswerError(f"fact {number + 1}: write both concepts and choose a relation")
    try:
        return write_graph(Graph(tuple(facts)))
    except InputError as error:
        raise AnswerError(str(error)) from None


def answer(submitted: Submitted) -> Json:
    """Return the written graph, which breaks no rule, or a verdict."""
    content = _content(submitted.page.task)
    if submitted.page.task.stage == VERIFY:
        verdict = submitted.form.get("verdict", [""])[0]
        if verdict not in VERDICTS:
            raise AnswerError("say which stance the graph explains, or that it is incorrect")
        return verdict
    graph = _written(submitted.form)
    failures = check_graph(graph, content.belief, content.argument, rules="paper").failures
    if failures:
        raise AnswerError("; ".join(failure.reason for failure in failures))
    return graph


def preview(submitted: Submitted) -> str:
    """Return what is wrong with a graph so far, and its picture."""
    content = _content(submitted.page.task)
    try:
        graph = _written(submitted.form)
    except AnswerError as error:
        return f"<p>{escape(str(error))}</p>"
    failures = check_graph(graph, content.belief, content.argument, rules="paper").failures
    reasons = "".join(f"<li>{escape(failure.reason)}</li>" for failure in failures)
    drawn = read_graph(graph).graph
    picture = draw_graph(drawn, content.belief, content.argument) if drawn.edges else ""
    verdict = f"<ul>{reasons}</ul>" if reasons else "<p>The structure is right.</p>"
    region = 'class="drawing" tabindex="0" role="region" aria-label="The graph so far"'
    return f"{verdict}<div {region}>{picture}</div>"


def follow(task: Task, answers: Sequence[Answer], settings: Settings) -> Followed:
    """Return the verification of a written graph, or the refinement of a refused one."""
    content = _content(task)
    if task.stage == VERIFY:
        verdict = majority([str(answer.value) for answer in answers]) or "incorrect"
        if verdict == content.stance or content.round + 1 == ROUNDS or settings.predictions:
            return Followed()
        refused = msgspec.structs.replace(content, verdict=verdict)
        return Followed(tasks=(_task(refused, REFINE, 1),))
    answer = answers[-1]
    written = msgspec.structs.replace(
        content,
        graph=str(answer.value),
        writers=(*content.writers, answer.judge),
        round=content.round + (task.stage == REFINE),
    )
    return Followed(tasks=(_task(written, VERIFY, settings.judges),))


def verified(task: Task, answers: Sequence[Json]) -> tuple[int, bool] | None:
    """Return the last writer of a graph, and whether most say that it explains the stance."""
    content = _content(task)
    if task.stage != VERIFY or not content.writers:
        return None
    return content.writers[-1], majority(list(map(str, answers))) == content.stance


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield belief, argument, stance and the last graph, with what verifiers said of each."""
    content = _content(item[0].task)
    rounds: list[dict[str, Json]] = []
    for task, values in item:
        if task.stage == VERIFY:
            rounds = rounds or [{"graph": _content(task).graph}]
            verdict = majority([str(value) for value in values.values()]) or "incorrect"
            rounds[-1] |= {"verdict": verdict, "verdicts": dict(values)}
        else:
            name, graph = next(iter(values.items()))
            rounds.append({"graph": graph, "annotator": name})
    last = rounds[-1]
    yield {
        "id": content.id,
        "belief": content.belief,
        "argument": content.argument,
        "stance": content.stance,
        "graph": last["graph"],
        "correct": last["verdict"] == content.stance if "verdict" in last else None,
        "rounds": list(rounds),
    }


columns = partial(verdicts, "verdict", VERIFY, VERDICTS)


def chance(_: Task) -> float:
    """Return the share of one verdict."""
    return 1 / len(VERDICTS)
