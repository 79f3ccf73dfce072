"""Rows of the bench of a task: ours, those of published systems and of trivial baselines.

A row beside a printed figure has a verdict, which is defined here alone: which of them can be given
follows from how the figure was computed, which outcome it has from the figures with their sign.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from grice.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grice_research.context import BenchContext

Computation: TypeAlias = Literal["released files", "published method", "another method"]
"""How a figure was computed: from what the authors released (scores, ratings, predictions, data);
by the published method, trained here or with its released weights; or by another method on the same
data. The published method with a substitute for one of its models is another method."""

Verdict: TypeAlias = Literal[
    "recomputed",
    "not recomputed",
    "reproduced",
    "not reproduced",
    "beside: above",
    "beside: level",
    "beside: below",
    "cannot be checked",
]
"""``recomputed``, ``reproduced``, ``beside`` and ``cannot be checked``, each with its outcome."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All of them in the order of tables."""

MEANINGS = {
    "recomputed": "released files give the printed digits; *not recomputed*: they give others",
    "reproduced": (
        "the published method, trained here or with its released weights, gives the printed figure "
        "within its 95 % interval; *not reproduced*: it does not"
    ),
    "beside": (
        "another method on the same data: *above*, *level* or *below* by the 95 % interval of the "
        "difference, paired where scores of each item were released, otherwise by the interval of "
        "our figure; above is better"
    ),
    "cannot be checked": "scores or data were not released",
}
"""Sentence of each verdict."""

Interval: TypeAlias = tuple[float | None, float | None]


def verdict_on(
    published: float,
    value: float,
    interval: Interval,
    *,
    computed: Computation,
    rounding: float = 0.0,
    lower: bool = False,
    difference: Interval | None = None,
) -> Verdict:
    """Return the verdict on a figure that stands beside a printed one.

    >>> verdict_on(0.30, 0.12, (0.02, 0.22), computed="another method")
    'beside: below'
    >>> verdict_on(-0.47, 0.20, (0.02, 0.37), computed="another method")
    'beside: above'
    """
    if computed == "released files":
        return "recomputed" if abs(value - published) <= rounding else "not recomputed"
    low, high = (value if bound is None else bound for bound in interval)
    low, high = low - published - rounding, high - published + rounding
    if computed == "published method":
        return "reproduced" if low <= 0 <= high else "not reproduced"
    if difference is not None and difference[0] is not None and difference[1] is not None:
        low, high = difference[0], difference[1]
    if low <= 0 <= high:
        return "beside: level"
    return "beside: above" if (low > 0) != lower else "beside: below"


def legend() -> list[str]:
    """Return what the verdicts mean, as a list in Markdown."""
    return [f"- *{name}*: {meaning}." for name, meaning in MEANINGS.items()]


Kind: TypeAlias = Literal["printed", "ours", "baseline"]
DIFFERENCE, LIKENESS = "difference of ", "spearman with "
"""How measures begin that compare two scores of the same items, and not one with people."""


class Row(msgspec.Struct, frozen=True):
    """One figure that the bench of a task has measured.

    Attributes:
        row: Whose figure it is, such as ``embedded`` or ``halved keywords``.
        measure: What is measured, such as ``macro_f1``; shares are 0 to 1.
        estimate: The figure with its interval and n; None for a printed one that nobody can check.
        kind: ``ours``, a trivial ``baseline``, or ``printed``: a published system, whose released
            output, if there is any, is measured here.
        on: The data, if a bench has several, with what was done to them.
        published: The printed figure; of ours, that of the row it is set beside.
        beside: The printed row that ours is set beside.
        rounding: How far a value may be from the printed figure to count as the same.
        lower: Whether lower is better.
        why: What the figure rests on, or why there is none.
        signature: What exactly was computed: models, settings, data.
        computed: How the value was computed, where that is not what the kind says: of a printed
            system from released files, of anything else by another method.
        difference: The value less that of the released scores of ``beside`` on the same items.
        metric: The metric of this package whose limits the row shows, with its default settings.
        baseline: The trivial baseline that the metric is compared with on the same items: the
            measure begins with :data:`DIFFERENCE` (metric less baseline) or :data:`LIKENESS`.
        trained: Share of the texts of the set that a model of the metric was trained or chosen on.
    """

    row: str
    measure: str
    estimate: Estimate | None
    kind: Kind
    on: str = ""
    published: float | None = None
    beside: str = ""
    rounding: float = 0.005
    lower: bool = False
    why: str = ""
    signature: str = ""
    computed: Computation | None = None
    difference: Estimate | None = None
    metric: str = ""
    baseline: str = ""
    trained: float = 0.0


def computation_of(kind: Kind, stated: Computation | None) -> Computation:
    """Return how the figures of a row are computed: as stated, or as its kind says."""
    return stated or ("released files" if kind == "printed" else "another method")


class Task(NamedTuple):
    """The bench of a task: one module of ``benches/``."""

    title: str
    paper: str
    measure: Callable[[BenchContext], Iterator[Row]]


PACKAGE = "grice_research.benches"


def task_names() -> list[str]:
    """Return the names of all benches of tasks: the modules of ``benches/``, ``-`` for ``_``."""
    package = import_module(PACKAGE)
    names = (module.name for module in iter_modules(package.__path__))
    return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))


def find_task(name: str) -> Task | None:
    """Return the bench of a task; None if there is none of that name."""
    if name not in task_names():
        return None
    module = import_module(f"{PACKAGE}.{name.replace('-', '_')}")
    return Task(module.TITLE, module.PAPER, module.measure)
