"""Flaws that scores and signs show, in words.

They need a model, or are not sure alone: a reply that makes no sense, is off topic, contradicts or
repeats an earlier turn, leaves a question open, or is dull; one that the user reacts to, or that
the bot takes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.data import FeatureEvidence, Finding, Score, Span
from grice.detectors.reactions import TAKEN_BACK, Sign
from grice.detectors.rules import Rule
from grice.errors import excerpt
from grice.text.markup import as_read

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

SENSELESS = Rule("D311", "senseless", "makes no sense", severity="warning")
OFF_TOPIC = Rule("D312", "off-topic", "off topic", severity="warning")
CONTRADICTS = Rule("D313", "contradicts", "contradicts an earlier turn", severity="warning")
REPEATS = Rule("D314", "repeats", "repeats itself", severity="warning")
UNANSWERED = Rule("D315", "unanswered", "leaves a question open", severity="warning")
DULL = Rule("D316", "dull", "dull reply", severity="warning")
REACTED = Rule("U511", "user-reacts", "the user reacts to it", severity="note")
WITHDRAWN = Rule("U512", "taken-back", "the bot takes it back", severity="note")
SCORED_RULES = (SENSELESS, OFF_TOPIC, CONTRADICTS, REPEATS, UNANSWERED, DULL, REACTED, WITHDRAWN)
OF_METRIC = {"contradiction": CONTRADICTS, "relevance": OFF_TOPIC, "repetition": REPEATS}
"""Rule of a metric that sees one kind of flaw."""
OF_CAUSE = {"unanswered": UNANSWERED, "nonsense": SENSELESS, "dull": DULL}
"""Rules of flaws that ``sensibleness`` tells apart; of equal ones the first."""
EQUAL = 0.02  # difference of probabilities that tells nothing
QUOTED, SPANS = 80, 4


def rule_of(score: Score) -> Rule:
    """Return the rule that a low score of a metric belongs to."""
    if known := OF_METRIC.get(score.metric):
        return known
    heads = {each.name: each.value for each in score.evidence if isinstance(each, FeatureEvidence)}
    causes = {name: heads[name] for name in OF_CAUSE if name in heads}
    most = max(causes.values(), default=0.0)
    return next((OF_CAUSE[name] for name, p in causes.items() if p >= most - EQUAL), SENSELESS)


def finding_by(score: Score, reply: Reply | None) -> Finding:
    """Return the finding of a low score, in words where the text of the reply is known."""
    rule = rule_of(score)
    if reply is None:
        message = f"{rule.title} ({score.metric} {score.value or 0.0:.2f})"
        place = score.conversation, score.turn or 0
        return Finding(rule.code, rule.name, *place, message, severity=rule.severity)
    return _worded(rule, reply, *_flaw(rule, score, reply))


def finding_of(sign: Sign, reply: Reply) -> Finding:
    """Return the finding of a sign around a reply."""
    rule = WITHDRAWN if sign.name == TAKEN_BACK else REACTED
    return _worded(rule, reply, sign.message, [sign.span] if sign.span else [])


def _worded(rule: Rule, reply: Reply, message: str, spans: list[Span]) -> Finding:
    """Return a finding with the words of its spans, without marks of Markdown."""
    texts = reply.talk.turns
    quoted = [(s, as_read(texts[s.turn].text, s.start, s.end).strip()) for s in spans]
    quoted = [(span, excerpt(words, QUOTED)) for span, words in quoted if words][:SPANS]
    return Finding(
        rule.code,
        rule.name,
        reply.talk.id,
        reply.turn,
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
