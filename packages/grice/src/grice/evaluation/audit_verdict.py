"""State in a sentence whether an audited metric can be trusted, and for what.

The sentence follows from the figures of the audit alone. Its thresholds stand here and on the page
of ``grice audit``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.evaluation.audit_items import BASELINE
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.evaluation.audit import Agreement, AuditResult
    from grice.stats.estimate import Estimate

FEWEST = 10
"""Replies that must have been judged, and half of all."""
SAME = 0.8
"""Share of pairs with the same answer in both orders, below which no order is to be trusted."""
CHANGED = 0.1
"""Share of replies with another score when asked again, above which one answer is too few."""


def verdict(result: AuditResult, row: Agreement) -> str:
    """Return whether a metric can be trusted, and for what.

    Args:
        row: Its row of the result.
    """
    if row.metric == BASELINE:
        return f"{row.metric} is the trivial baseline: it judges nothing but the length of a reply."
    if row.judged < max(FEWEST, result.items / 2):
        return (
            f"Whether {row.metric} can be trusted is not known: it judged {row.judged} of "
            f"{result.items} replies."
        )
    if row.spearman is None:
        return f"{row.metric} cannot be trusted: it scores all {row.judged} replies alike."
    agreement = f"Spearman {with_interval(row.spearman, '+.2f')} on {row.judged} replies"
    if not _is_above(row.spearman, 0):
        return (
            f"{row.metric} cannot be trusted on this evidence: no agreement with people is shown "
            f"({agreement})."
        )
    if row.gain is None:
        return f"{row.metric} agrees with people ({agreement}); no baseline was measured beside it."
    gain = f"{with_interval(row.gain, '+.2f')} over {BASELINE}"
    if not _is_above(row.gain, 0):
        return (
            f"{row.metric} cannot be trusted more than the length of a reply: no better agreement "
            f"with people is shown ({agreement}, {gain})."
        )
    limits = list(_limits(result, row))
    but = f", but not {', nor '.join(limits)}" if limits else "; no bias was found"
    return f"{row.metric} can be trusted to rank replies ({agreement}, {gain}){but}."


def _limits(result: AuditResult, row: Agreement) -> Iterator[str]:
    """Yield where a metric that agrees with people cannot be trusted all the same."""
    tried = [each for each in result.injections if each.metric == row.metric]
    controls = [each.change.value for each in tried if each.control and each.change]
    by_length = max([0.0, *controls])
    raised = {
        each.injection: each.change.value
        for each in tried
        if not each.control and each.change and _is_above(each.change, by_length)
    }
    if raised:
        most = max(raised, key=raised.__getitem__)
        yield (
            f"where writers gain by a high score ({len(raised)} of "
            f"{sum(not each.control for each in tried)} injections raise it, {most!r} by "
            f"{raised[most]:+.2f})"
        )
    if row.padding and _is_above(row.padding, 0):
        padding = with_interval(row.padding, "+.2f")
        yield f"between replies of different length (words that say nothing raise it: {padding})"
    for order in result.order:
        if order.metric == row.metric and (bias := _order_bias(order.same, order.first)):
            yield f"for two replies side by side ({bias})"
    for spread in result.repeats:
        if spread.metric == row.metric and spread.changed and spread.changed.value > CHANGED:
            yield (
                "for one reply asked about once (another score in "
                f"{with_interval(spread.changed, '.0%')} of replies when asked again)"
            )


def _order_bias(same: Estimate | None, first: Estimate | None) -> str:
    """Return in words how the order of two replies moves a judge; empty if it does not."""
    if same is None:
        return "not measured: too few answers"
    if first is not None and first.side(0.5) != "either":
        return f"the one shown first wins in {with_interval(first, '.0%')}"
    if same.value < SAME:
        return f"the same answer in both orders in {with_interval(same, '.0%')} alone"
    return ""


def _is_above(estimate: Estimate, threshold: float) -> bool:
    """Return whether the whole interval lies above a threshold."""
    return estimate.side(threshold) == "above"
