"""``grice gate``: thresholds on scores, for builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.derive import named_number
from grice.cli.output import DONE, UNMET, Output, write_text
from grice.errors import InputError
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import OutputPath
    from grice.evaluation.gate import ShareBelow

STYLES = {"passed": "green", "failed": "bold red", "uncertain": "yellow"}
SHARE_BELOW = "METRIC:VALUE=SHARE, such as relevance:0.3=0.1"


def run(
    scores: str,
    *,
    min_: Sequence[str] = (),
    max_share_below: Sequence[str] = (),
    max_failed: Sequence[str] = (),
    max_abstained: Sequence[str] = (),
    max_drop: Sequence[str] = (),
    baseline: str | None = None,
    allow_uncertain: bool = False,
    junit: OutputPath | None = None,
    markdown: OutputPath | None = None,
) -> Output:
    """Check scores against thresholds: exit status 0 passed, 1 failed, 2 unusable input.

    Args:
        scores (OUT.jsonl): scores of grice score; of another tool: FILE#COLUMN; - for stdin
        min_ (METRIC=VALUE): fail if the mean may be below VALUE (lower end of the 95 % interval);
            may be repeated
        max_share_below (METRIC:VALUE=SHARE): fail if more than SHARE of the items may score below
            VALUE (upper end of the 95 % interval); may be repeated
        max_failed ([METRIC=]SHARE): most scores that may have failed, of all metrics or of one
        max_abstained ([METRIC=]SHARE): most scores that may be abstained, of all metrics or of one
        max_drop ([METRIC=]DROP): fail if the mean may be more than DROP below that of the baseline
            (lower end of the interval of the difference), for all metrics or for one
        baseline (OLD.jsonl): the scores of an earlier run, for --max-drop
        allow_uncertain: pass a check whose estimate passes and whose interval does not
        junit (FILE.xml): write JUnit XML
        markdown (FILE.md): write a summary
    """
    from grice.evaluation.gate import Rules, gate_file
    from grice.report.exports import junit as junit_of
    from grice.report.exports import markdown as markdown_of

    wanted = Rules(
        _by_metric("--min", min_, "METRIC=VALUE, such as relevance=0.6"),
        tuple(map(_share_below, max_share_below)),
        _by_metric("--max-failed", max_failed, "[METRIC=]SHARE"),
        _by_metric("--max-abstained", max_abstained, "[METRIC=]SHARE"),
        allow_uncertain,
        _by_metric("--max-drop", max_drop, "[METRIC=]DROP"),
    )
    result = gate_file(scores, wanted, baseline)
    for output, written in ((junit, junit_of), (markdown, markdown_of)):
        if output is not None:
            write_text(written(result, scores), output)
    view = (
        Lines([f"{check.verdict:9}  {check.metric}: {check.says}"], style=STYLES[check.verdict])
        for check in result.checks
    )
    return Output([result], view, DONE if result.passed else UNMET)


def _by_metric(flag: str, thresholds: Sequence[str], form: str) -> dict[str, float]:
    """Return thresholds by metric; two for one metric are refused."""
    from grice.evaluation.gate import EVERY

    by_metric: dict[str, float] = {}
    for text in thresholds:
        metric, value = named_number(flag, text, form)
        name = metric or EVERY
        if name in by_metric:
            pair = f"{by_metric[name]:g} and {value:g}"
            raise InputError(f"{flag}: two thresholds for {name}, {pair}")
        by_metric[name] = value
    return by_metric


def _share_below(text: str) -> ShareBelow:
    from grice.evaluation.gate import ShareBelow

    option = "--max-share-below"
    place, share = named_number(option, text, SHARE_BELOW)
    metric, value = named_number(option, place, SHARE_BELOW, between=":")
    return ShareBelow(metric, value, share)
