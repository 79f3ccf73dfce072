"""Write ``docs/what-it-cannot-see.md``: the flaws that metrics miss, from recorded figures.

The figures are those of :mod:`grice_research.comparisons`, from which pages of metrics have
their sentences, too. The words for flaws and baselines stand here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from grice.metrics.declaration import Metric
from grice_research.comparisons import RIGHT, Comparison, Recorded
from grice_research.pages import changes, notice

FLAWS = {
    "self contradiction": "contradicts its speaker's earlier turns",
    "partner contradiction": "contradicts or forgets the partner's turns",
    "commonsense contradiction": "contradicts common sense", "redundant": "repeats earlier content",
    "ignore": "ignores the partner's turn", "irrelevant": "is off topic",
    "incorrect fact": "states something false", "lack of empathy": "lacks empathy",
    "any of six flaws": "has any of the first six of these flaws",
    "RGM": "contradicts an earlier turn of the chatbot (RGM)",
    "DECODE": "contradicts an earlier turn of the chatbot (DECODE)",
    "breakdown": "breaks the conversation down",
}  # fmt: skip
RULES = {
    "cosine_last_turn": "the more similar to the turn before, the better",
    "cosine_own_turns": "the less similar to its speaker's earlier turns, the better",
    "log_length": "the longer, the better",
    "position": "the earlier, the better",
}
TITLE = "# What it cannot see\n\n"
HEAD = """\
This page lists the flaws that the metrics miss. Every figure is a recorded measurement (`make docs`
writes the page from `docs/results`); the [pages of the metrics](metrics) give all intervals. The
figures are those of the default models; [quality](quality.md) has larger ones.

**How to read it.** Annotators marked flawed replies of chatbots. In pairs of one marked and one
unmarked reply, a metric that detects the flaw scores the marked reply lower. *69 of 100* means that
it does so in 69 of 100 pairs; chance is 50. The best *trivial baseline*, such as "the more similar
to the turn before, the better", is shown with it: a metric that is not better adds nothing to it.

## The flaws of a reply

"""
COLUMNS = (
    "the reply …", "detected, better than by a trivial baseline",
    "detected, not better than by the best trivial baseline", "not detected", "misled",
)  # fmt: skip
UNSEEN = 2  # index of the column of undetected flaws, without the column of flaws
FOOT = """\
## Limits without a figure

- The models read English. Other languages are recognised; metrics abstain on them.
- A metric reads only the conversation: it cannot check whether an order was placed, a price is right,
  or the user got the result they wanted.
- The figures were measured on other chatbots than yours. [`grice perturb --score METRICS`](commands/perturb.md)
  breaks conversations of your own file and shows what a metric does not notice, and fifty ratings say what it is
  worth: [from 50 ratings to a trusted mean](how-to/calibrate.md).
"""


def blind_spots(known: Recorded, metrics: Mapping[str, Metric]) -> str:
    """Return the page on the measured limits of metrics, which are given by name."""
    defaults = [name for name, metric in metrics.items() if metric.default]
    parts = [TITLE, *_outdated(known), HEAD, *_flaws(known, defaults)]
    return "".join([*parts, *_unmeasured(known, metrics), FOOT])


def _outdated(known: Recorded) -> Iterator[str]:
    """Yield which metrics were recorded in versions that do not ship, if any were."""
    old = {
        change: tuple(each.command for each in limits.comparisons)
        for limits in known.metrics.values()
        for change in changes(limits.signature)
    }
    commands = [command for each in old.values() for command in each if command]
    if old:
        yield notice(old, commands, "Figures of these metrics") + "\n\n"


def _flaws(known: Recorded, defaults: Sequence[str]) -> Iterator[str]:
    by_flaw: dict[str, dict[str, Comparison]] = {}
    for metric, limits in known.metrics.items():
        for comparison in limits.marked():
            if comparison.measure != RIGHT:
                by_flaw.setdefault(comparison.on, {})[metric] = comparison
    yield from _in_short(by_flaw, defaults)
    yield "\n" + _row(COLUMNS) + "\n" + "|---" * len(COLUMNS) + "|\n"
    for flaw, by_metric in by_flaw.items():
        yield _flaw_row(flaw, by_metric) + "\n"
    yield "\n"
    compared = [each for by_metric in by_flaw.values() for each in by_metric.values()]
    for note in dict.fromkeys(each.note for each in compared if each.note):
        metrics = [
            f"`{metric}`"
            for metric, limits in known.metrics.items()
            if any(each.note == note for each in limits.comparisons)
        ]
        yield f"Compared by {note}: {', '.join(metrics)}.\n"
    yield f"Measured by {_commands(compared)}.\n\n"


def _in_short(
    by_flaw: Mapping[str, Mapping[str, Comparison]], defaults: Sequence[str]
) -> Iterator[str]:
    columns = {
        flaw: {metric: _column(each) for metric, each in by_metric.items()}
        for flaw, by_metric in by_flaw.items()
    }
    beaten = [flaw for flaw, by_metric in columns.items() if 0 in by_metric.values()]
    count = f"{len(beaten)} of {len(by_flaw)} kinds"
    yield f"- A metric is better than every trivial baseline for {count}: {_in_words(beaten)}.\n"
    missed = [
        flaw
        for flaw, by_metric in columns.items()
        if all(by_metric.get(name, 0) >= UNSEEN for name in defaults)
    ]
    listed = ", ".join(f"`{name}`" for name in defaults)
    yield f"- The default metrics ({listed}) do not detect: {_in_words(missed)}.\n"
    turned: dict[str, list[str]] = {}
    for flaw, by_metric in by_flaw.items():
        for metric, comparison in by_metric.items():
            if _column(comparison) > UNSEEN:
                turned.setdefault(metric, []).append(_bounded(FLAWS.get(flaw, flaw), comparison))
    for metric, flaws in turned.items():
        listed = "; ".join(flaws)
        yield f"- `{metric}` is misled: it tends to score *higher* a reply that {listed}.\n"


def _flaw_row(flaw: str, by_metric: Mapping[str, Comparison]) -> str:
    cells: list[list[str]] = [[], [], [], []]
    ordered = sorted(by_metric.items(), key=lambda pair: -pair[1].value)
    for metric, comparison in ordered:
        cells[_column(comparison)].append(f"`{metric}`&nbsp;{100 * comparison.value:.0f}")
    best = next(iter(by_metric.values()))
    rule = f"*{RULES.get(best.baseline, best.baseline)}*: {_hundredths(best.of_baseline)}"
    cells[1].append(rule)
    return _row([FLAWS.get(flaw, flaw), *("<br>".join(cell) or "–" for cell in cells)])


def _column(comparison: Comparison) -> int:
    """Return the column of a metric: 0 detected best, 3 misled."""
    if comparison.high < comparison.chance:
        return UNSEEN + 1
    if comparison.low <= comparison.chance:
        return UNSEEN
    return 0 if comparison.is_above else 1


def _in_words(flaws: Iterable[str]) -> str:
    return ", ".join(f"*{FLAWS.get(flaw, flaw)}*" for flaw in flaws) or "none"


def _bounded(flaw: str, comparison: Comparison) -> str:
    low, high = _hundredths(comparison.low), _hundredths(comparison.high)
    return f"{flaw} ({_hundredths(comparison.value)} of 100, between {low} and {high})"


def _unmeasured(known: Recorded, metrics: Mapping[str, Metric]) -> Iterator[str]:
    compared = {*known.metrics, *known.baselines}
    names = [f"`{name}`" for name in metrics if name not in compared]
    if names:
        yield (
            "## Metrics without a comparison\n\n"
            f"{', '.join(names)}: no recorded figure says what they miss.\n\n"
        )


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _hundredths(value: float) -> str:
    rounded = f"{100 * value:.0f}"
    return f"{100 * value:.1f}" if rounded == "50" else rounded  # on which side of a guess?


def _commands(comparisons: Iterable[Comparison]) -> str:
    commands = dict.fromkeys(each.command for each in comparisons if each.command)
    return " and ".join(f"`{command}`" for command in commands)
