"""Pytest plugin: check conversations in a test, and compare scores with thresholds.

    def test_the_bot_makes_no_certain_mistakes():
        assert_no_findings("chats.jsonl", ignore=["U"])

    def test_the_bot_stays_relevant(grice_score):
        scores = grice_score(conversations, "relevance")
        assert_scores(scores, minimum={"relevance": 0.6}, max_failed=0.0)

Metrics are loaded once per session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pytest

if TYPE_CHECKING:
    from grice.data import Conversation, Score
    from grice.detectors.check import Check
    from grice.evaluation.gate import GateResult
    from grice.scoring.api import Grader, Settings, Talk


@pytest.fixture(scope="session")
def grice_score() -> Iterator[Callable[..., list[Score]]]:
    """Score conversations; the arguments are the conversations, then those of ``grice.load``."""
    graders: dict[str, Grader] = {}

    def score(
        talk: Talk | Iterable[Conversation], *metrics: str, **settings: Unpack[Settings]
    ) -> list[Score]:
        from grice.scoring import load

        key = repr((metrics, settings))
        if key not in graders:
            graders[key] = load(*metrics, **settings)
        return graders[key].score(talk)

    yield score
    for grader in graders.values():
        grader.close()


def assert_scores(
    scores: Iterable[Score],
    *,
    minimum: Mapping[str, float] | None = None,
    max_share_below: Mapping[tuple[str, float], float] | None = None,
    max_failed: float | None = None,
    max_abstained: float | None = None,
    allow_uncertain: bool = False,
) -> GateResult:
    """Fail the test unless the scores pass the checks of ``grice gate``.

    Args:
        scores: Scores of conversations with different ids.
        minimum: Least mean by metric, compared with the low end of its 95 % interval.
        max_share_below: Largest share of items below a value, by metric and value, compared with
            the high end of its interval.
        max_failed, max_abstained: Largest share of failed or abstained scores.
        allow_uncertain: Accept checks whose interval includes the threshold.

    Raises:
        AssertionError: With one line per check, if one of them failed.
        InputError: If a metric has no scores, or there is no threshold.
    """
    from grice.evaluation.gate import EVERY, Rules, ShareBelow, gate

    __tracebackhide__ = True
    rules = Rules(
        dict(minimum or {}),
        tuple(ShareBelow(*place, share) for place, share in (max_share_below or {}).items()),
        {} if max_failed is None else {EVERY: max_failed},
        {} if max_abstained is None else {EVERY: max_abstained},
        allow_uncertain,
    )
    result = gate(scores, rules)
    if not result.passed:
        lines = (f"  {check.verdict}  {check.metric}: {check.says}" for check in result.checks)
        raise AssertionError("scores miss the thresholds\n" + "\n".join(lines))
    return result


def assert_no_findings(
    *sources: str | Path | Talk | Iterable[Talk],
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_confidence: float | None = None,
    baseline: str | Path | Check | None = None,
) -> Check:
    """Fail the test if a rule finds a flaw in a reply.

    Args:
        sources: Paths of files, or conversations, as :func:`grice.check` takes them.
        select, ignore, min_confidence, baseline: As of :func:`grice.check`.

    Raises:
        AssertionError: With one line per finding: file, conversation and turn, code, message and
            the quoted words.
        InputError: If an input or a rule cannot be used, or no record could be read.
    """
    import grice
    from grice.errors import InputError, plural
    from grice.report.findings import line

    __tracebackhide__ = True
    result = grice.check(
        *sources, select=select, ignore=ignore, min_confidence=min_confidence, baseline=baseline
    )
    if not result.replies:
        raise InputError("; ".join(("no reply was checked", *result.problems)))
    if result.count:
        found = f"{plural(result.count, 'finding')} in {plural(result.replies, 'reply', 'replies')}"
        raise AssertionError("\n  ".join((found, *map(line, result.findings))))
    return result
