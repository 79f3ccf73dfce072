"""An assertion of promptfoo: ``value: file://grice_assert.py``, which imports ``get_assert``.

# grice_assert.py
from grice.integrations.promptfoo import get_assert

# promptfooconfig.yaml
assert:
  - type: python
    value: file://grice_assert.py
    config: {metrics: "relevance,repetition", minimum: 0.5}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grice.errors import GriceError
from grice.evaluation.checks import check
from grice.integrations.evaluator import METRICS, Evaluation, Evaluator
from grice.readers import from_messages
from grice.report.findings import explained

HISTORY = ("messages", "history", "conversation", "_conversation")
"""Variables of a test that contain the conversation history."""
MINIMUM = 0.5


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return promptfoo's grading result of an output, a text or message, as a reply to its prompt.

    ``context["config"]`` may hold ``metrics``, ``minimum`` and ``models``; the score is the mean.
    A metric that abstains passes, with the reason, and is no component. A finding of a default rule
    of ``grice check`` fails.
    """
    config, given = context.get("config") or {}, context.get("vars") or {}
    said = next((given[name] for name in HISTORY if given.get(name)), context.get("prompt") or "")
    try:
        evaluator = Evaluator(
            config.get("metrics", METRICS), config.get("minimum", MINIMUM), config.get("models")
        )
        before = from_messages(said, "prompt").turns
        reply = from_messages([output if output else ""], "output").turns
        messages = [{"role": turn.role, "content": turn.text} for turn in before]
        messages.append({"role": "assistant", "content": reply[0].text})
        evaluations = evaluator.reply(messages)
        findings = check(from_messages(messages, "prompt")).findings
    except GriceError as error:
        return {"pass": False, "score": 0.0, "reason": f"grice: {error}"}
    values = {item.metric: item.value for item in evaluations if item.value is not None}
    flaws = [f"{finding.code} {explained(finding)}" for finding in findings]
    components = [
        {"pass": item.passed is not False, "score": item.value, "reason": _reason(item)}
        for item in evaluations
        if item.value is not None
    ]
    return {
        "pass": not flaws and all(item.passed is not False for item in evaluations),
        "score": sum(values.values()) / len(values) if values else 0.0,
        "reason": "; ".join([*flaws, *map(_reason, evaluations)]),
        "namedScores": values,
        "componentResults": [
            *({"pass": False, "score": 0.0, "reason": flaw} for flaw in flaws),
            *components,
        ],
    }


def _reason(evaluation: Evaluation) -> str:
    value = "abstained" if evaluation.value is None else f"{evaluation.value:.2f}"
    return f"{evaluation.metric} {value}: {evaluation.reason}"
