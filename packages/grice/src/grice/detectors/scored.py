"""Rules that read scores: which flaw a low score shows, and in which words.

The rules find what needs a model: a reply that makes no sense, is off topic, contradicts or repeats
an earlier turn, leaves a question open, or is dull.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import FeatureEvidence, Finding, Span
from grice.detectors.rules import Rule
from grice.errors import excerpt
from grice.metrics.sensibleness import cause_of
from grice.text.markup import as_read

if TYPE_CHECKING:
    from grice.data import Score
    from grice.detectors.conversation import Reply

SENSELESS = Rule("D311", "senseless", "makes no sense", severity="warning")
OFF_TOPIC = Rule("D312", "off-topic", "off topic", severity="warning")
CONTRADICTS = Rule("D313", "contradicts", "contradicts an earlier turn", severity="warning")
REPEATS = Rule("D314", "repeats", "repeats itself", severity="warning")
UNANSWERED = Rule("D315", "unanswered", "leaves a question open", severity="warning")
DULL = Rule("D316", "dull", "dull reply", severity="warning")
SCORED_RULES = (SENSELESS, OFF_TOPIC, CONTRADICTS, REPEATS, UNANSWERED, DULL)
OF_METRIC = {"contradiction": CONTRADICTS, "relevance": OFF_TOPIC, "repetition": REPEATS}
"""Rule of a metric that sees one kind of flaw."""
OF_CAUSE = {
    "contradiction": CONTRADICTS, "repetition": REPEATS, "unanswered": UNANSWERED, "dull": DULL,
}  # fmt: skip
"""Rule of a flaw that the evidence of ``sensibleness`` names clearly."""
QUOTED, SPANS = 80, 4


def rule_of(score: Score) -> Rule:
    """Return the rule that a low score of a metric belongs to."""
    known = OF_METRIC.get(score.metric)
    return known or OF_CAUSE.get(cause_of(score.evidence) or "", SENSELESS)


def finding_by(score: Score, reply: Reply | None) -> Finding:
    """Return the finding of a low score, in words where the text of the reply is known."""
    rule, turn = rule_of(score), score.turn or 0
    if reply is None:
        message = f"{rule.title} ({score.metric} {score.value or 0.0:.2f})"
        return Finding(
            rule.code, rule.name, score.conversation, turn, message, severity=rule.severity
        )
    message, spans = _flaw(rule, score, reply)
    texts = reply.talk.turns
    quoted = [(s, as_read(texts[s.turn].text, s.start, s.end).strip()) for s in spans]
    quoted = [(span, excerpt(words, QUOTED)) for span, words in quoted if words][:SPANS]
    return Finding(
        rule.code,
        rule.name,
        score.conversation,
        turn,
        message,
        tuple(span for span, _ in quoted),
        tuple(words for _, words in quoted),
        rule.severity,
    )


def _flaw(rule: Rule, score: Score, reply: Reply) -> tuple[str, list[Span]]:
    """Return the message and the spans: those of the evidence, else reply and turn before."""
    shown = [each.span for each in score.evidence if isinstance(each, FeatureEvidence)]
    spans = [span for span in shown if span is not None]
    last = reply.last_of_other
    whole = Span(reply.turn, 0, len(reply.whole))
    if rule in (REPEATS, CONTRADICTS) and spans:
        turns = sorted({span.turn for span in spans} - {reply.turn})
        verb = "repeats" if rule is REPEATS else "contradicts"
        return f"{verb} turn {turns[0]}" if turns else rule.title, spans[:2]
    if last is None or rule in (REPEATS, CONTRADICTS):
        return rule.title, [whole]
    message = {
        SENSELESS: f"makes no sense after turn {last}",
        OFF_TOPIC: f"is not about turn {last}",
        UNANSWERED: f"leaves turn {last} unanswered",
        DULL: f"says next to nothing to turn {last}",
    }[rule]
    return message, [whole, Span(last, 0, len(reply.talk.turns[last].text))]
