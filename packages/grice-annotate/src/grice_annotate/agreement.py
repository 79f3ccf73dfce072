"""Agreement of judges: by coefficient, pair by pair, with proposals, and where it is worst."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from grice.errors import InputError
from grice.stats import leave_one_annotator_out
from grice.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from grice.stats.comparison import proportion
from grice.stats.estimate import FEW, LEVEL, Estimate
from grice_annotate.templates._template import is_right

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Task
    from grice_annotate.templates import Column, Template


class Agreement(msgspec.Struct, frozen=True, omit_defaults=True):
    """One coefficient of one column.

    Attributes:
        column: What was judged.
        measure: Name of the coefficient.
        estimate: Its value with its interval; None where it is not defined.
        note: Why it is not.
    """

    column: str
    measure: str
    estimate: Estimate | None = None
    note: str | None = None


class Disputed(NamedTuple):
    """A task and how much its judges disagree, 0 to 1."""

    task: Task
    spread: float


def counting(tasks: Sequence[Task], answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers that count: not set aside, and not to attention checks."""
    checks = {task.id for task in tasks if not task.judges}
    return [answer for answer in answers if not answer.set_aside and answer.task not in checks]


def agreement_of(
    template: Template,
    tasks: Sequence[Task],
    answers: Sequence[Answer],
    names: Mapping[int, str] | None = None,
) -> list[Agreement]:
    """Return the agreement of each column, with intervals over conversations."""
    groups = {task.id: task.group for task in tasks}
    counted = counting(tasks, answers)
    rows: list[Agreement] = []
    for column in template.columns(tasks, counted):
        rows += _of_column(column, groups, names)
    return rows + _accuracy(template, tasks, counted) + _anchoring(tasks, counted)


def _of_column(
    column: Column, groups: Mapping[int, str], names: Mapping[int, str] | None
) -> list[Agreement]:
    judges = sorted({judge for _, judge in column.values})
    items = list(dict.fromkeys(task for task, _ in column.values))
    table = [[column.values.get((task, judge)) for judge in judges] for task in items]
    # Several labels of one task share its conversation; ids of such labels lie apart.
    clusters = [groups.get(task, str(task)) for task in items]
    tried: list[tuple[str, Callable[[], Estimate]]] = [
        (
            f"Krippendorff's alpha ({column.scale})",
            partial(krippendorff_alpha, table, scale=column.scale, groups=clusters),
        )
    ]
    if column.scale == "nominal":
        if fleiss := _complete(table, clusters):
            tried.append(("Fleiss' kappa", partial(fleiss_kappa, fleiss[0], groups=fleiss[1])))
    else:
        numbers = [[None if value is None else float(value) for value in row] for row in table]
        others = partial(leave_one_annotator_out, numbers, pool="pairs", groups=clusters)
        tried.append(("a judge against the mean of the others (Spearman)", others))
    for first, second in combinations(judges, 2) if names else ():
        tried += _pair(column, first, second, groups, names or {})
    return [_tried(column.name, measure, compute) for measure, compute in tried]


def _pair(
    column: Column, first: int, second: int, groups: Mapping[int, str], names: Mapping[int, str]
) -> list[tuple[str, Callable[[], Estimate]]]:
    """Return Cohen's kappa of two judges, if they share enough tasks."""
    mine = {task: value for (task, judge), value in column.values.items() if judge == first}
    yours = {task: value for (task, judge), value in column.values.items() if judge == second}
    shared = [task for task in mine if task in yours]
    if len(shared) < FEW:
        return []
    clusters = [groups.get(task, str(task)) for task in shared]
    ordered = column.scale != "nominal"
    compute = partial(
        cohen_kappa,
        *_paired([mine[task] for task in shared], [yours[task] for task in shared]),
        weights="quadratic" if ordered else "none",
        groups=clusters,
    )
    kind = "quadratic kappa" if ordered else "kappa"
    return [(f"{kind} of {names[first]} and {names[second]}", compute)]


def _paired(first: Sequence[float | str], second: Sequence[float | str]) -> list[list[float]]:
    """Return the values of two judges as numbers, equal for equal values, in their order."""
    known = sorted({*first, *second}, key=lambda value: (isinstance(value, str), value))
    places = {value: float(place) for place, value in enumerate(known)}
    return [[places[value] for value in values] for values in (first, second)]


def _complete(
    table: Sequence[Sequence[float | str | None]], clusters: Sequence[str]
) -> tuple[list[list[Hashable]], list[str]] | None:
    """Return the items with as many labels as most have: Fleiss' kappa needs one number."""
    given: list[list[Hashable]] = [[v for v in row if v is not None] for row in table]
    sizes = [len(row) for row in given if len(row) > 1]
    if not sizes:
        return None
    size = max(set(sizes), key=sizes.count)
    kept = [(row, group) for row, group in zip(given, clusters, strict=True) if len(row) == size]
    return [row for row, _ in kept], [group for _, group in kept]


def _tried(column: str, measure: str, compute: Callable[[], Estimate]) -> Agreement:
    try:
        return Agreement(column, measure, compute())
    except InputError as error:
        return Agreement(column, measure, note=str(error))


def _anchoring(tasks: Sequence[Task], answers: Sequence[Answer]) -> list[Agreement]:
    """Return how often answers equal the proposal, of judges who saw it and who did not.

    Who sees proposals is drawn at random, so that the difference is what showing them does.
    """
    proposals = {task.id: task for task in tasks if task.proposal is not None}
    rows = []
    for proposed, who in ((True, "judges who saw it"), (False, "judges who did not")):
        equal = [
            (proposals[answer.task].group, answer.value == proposals[answer.task].proposal)
            for answer in answers
            if answer.task in proposals and answer.proposed == proposed
        ]
        rows += _share("proposal", f"answers equal to it: {who}", equal)
    return rows


def _share(column: str, measure: str, parts: Iterable[tuple[str, float]]) -> list[Agreement]:
    """Return the mean of values from 0 to 1 with their conversations; nothing of nothing."""
    of_group: dict[str, list[float]] = defaultdict(list)
    for group, value in parts:
        of_group[group].append(value)
    hits, sizes = map(sum, of_group.values()), map(len, of_group.values())
    estimate = proportion(list(hits), list(sizes))
    return [] if estimate is None else [Agreement(column, measure, estimate)]


def _accuracy(
    template: Template, tasks: Sequence[Task], answers: Sequence[Answer]
) -> list[Agreement]:
    """Return how often judges give the right answer, and how often one gets it unread."""
    given: dict[int, list[Json]] = defaultdict(list)
    for answer in answers:
        given[answer.task].append(answer.value)
    asked = [task for task in tasks if task.expected is not None and task.id in given]
    frequent = Counter(str(task.expected) for task in asked).most_common(1)
    rows: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for task in asked:
        right = [is_right(template, task, value) for value in given[task.id]]
        rows["of the judges"] += [(task.group, each) for each in right]
        rows["of more than half of the judges"].append((task.group, sum(right) * 2 > len(right)))
        unread = str(task.expected) == frequent[0][0]
        rows["always the most frequent one, unread"].append((task.group, unread))
    shares = [row for name, parts in rows.items() for row in _share("right answer", name, parts)]
    chance = [template.chance(task) for task in asked]
    if not any(chance):
        return shares
    value = sum(chance) / len(chance)
    known = Estimate(value, None, None, LEVEL, len(chance), "mean", note="known without error")
    return [*shares, Agreement("right answer", "chance, unread", known)]


def disputed_tasks(
    template: Template, tasks: Sequence[Task], answers: Sequence[Answer]
) -> list[Disputed]:
    """Return the tasks that judges disagree on, most first."""
    spread: dict[int, list[float]] = defaultdict(list)
    known = {task.id: task for task in tasks}
    for column in template.columns(tasks, counting(tasks, answers)):
        of_task: dict[int, list[float | str]] = defaultdict(list)
        for (task, _), value in column.values.items():
            of_task[task].append(value)
        numbers = [value for value in column.values.values() if isinstance(value, float)]
        width = max(numbers) - min(numbers) if numbers else 0.0
        for task, values in of_task.items():
            if len(values) > 1 and task in known:
                spread[task].append(_spread(values, width))
    disputed = [Disputed(known[task], float(np.mean(of_task))) for task, of_task in spread.items()]
    disputed = [each for each in disputed if each.spread > 0]
    return sorted(disputed, key=lambda each: -each.spread)


def _spread(values: Sequence[float | str], width: float) -> float:
    """Return the mean difference of two judges, as a part of the largest there is."""
    gaps = [
        abs(float(first) - float(second)) / width if width else float(first != second)
        for first, second in combinations(values, 2)
    ]
    return sum(gaps) / len(gaps)
