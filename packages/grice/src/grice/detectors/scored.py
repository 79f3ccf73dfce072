"""Flaws that scores and signs show, in words.

They need a model, or are not sure alone: a reply that makes no sense, is off topic, contradicts or
repeats an earlier turn, leaves a question open, or is dull; one that the user reacts to, or that
the bot takes back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import FeatureEvidence, Finding, Score, Span
from grice.detectors.reactions import ASKED, I_SAID, TAKEN_BACK, YOU_SAID, Sign, takes_up, told_of
from grice.detectors.rules import Rule
from grice.errors import excerpt
from grice.metrics.quality import LOW
from grice.text.markup import as_read

if TYPE_CHECKING:
    from collections.abc import Mapping

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
OF_CAUSE = {"unanswered": UNANSWERED, "nonsense": SENSELESS, "dull": DULL}
"""Rules of flaws that ``sensibleness`` tells apart; of equal ones the first."""
EQUAL, CLEAR = 0.02, 0.8
"""Difference of probabilities that tells nothing, and probability from which on one is clear."""
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
DENIES = re.compile(r"\b(?:no|not|never|cannot)\b|n['’]t\b", re.IGNORECASE)
NEGATED = re.compile(rf"{DENIES.pattern}|\b(?:without|no(?:body|thing|ne)|hardly)\b", re.IGNORECASE)
SAME, CONFLICT, FAR = 0.02, 0.5, 0.45
"""Values of repetition, contradiction and relevance up to which the flaw is clear."""
QUOTED, SPANS = 80, 4


def reason_of(seen: Mapping[str, Score], reply: Reply | None) -> tuple[str, Finding] | None:
    """Return the metric and the finding of a clear flaw; None if none is clear.

    The order is: a contradiction that the user states; the same words as before, which contradict
    if a number or a negation differs; other flaws that the user states; a low ``contradiction``;
    the flaws that ``sensibleness`` tells apart; a low ``relevance`` where no word of the others is
    taken up. The metric of a flaw that the user states is "".
    """
    values = {name: 1.0 if score.value is None else score.value for name, score in seen.items()}
    told = told_of(reply) if reply is not None else None
    same = values.get("repetition", 1.0) <= SAME
    if reply is not None and (told == YOU_SAID or (told == I_SAID and not same)):
        return "", _as_told(told, reply)
    if same:
        differs = reply is not None and _differs(seen["repetition"], reply)
        metric, rule = "repetition", CONTRADICTS if differs else REPEATS
    elif values.get("contradiction", 1.0) <= CONFLICT:
        metric, rule = "contradiction", CONTRADICTS
    elif cause := _cause(seen.get("sensibleness")):
        metric, rule = "sensibleness", cause
    elif reply is not None and told == ASKED:
        return "", _as_told(told, reply)
    elif values.get("relevance", 1.0) <= FAR and not (reply is not None and takes_up(reply)):
        metric, rule = "relevance", OFF_TOPIC
    else:
        return None
    if reply is None:
        place = seen[metric].conversation, seen[metric].turn or 0
        message = f"{rule.title} ({metric} {values[metric]:.2f})"
        return metric, Finding(rule.code, rule.name, *place, message, severity=rule.severity)
    return metric, _worded(rule, reply, *_flaw(rule, seen[metric], reply))


def _as_told(told: str, reply: Reply) -> Finding:
    """Return the finding of what the user says next about a reply."""
    rule, message, turn = CONTRADICTS, "contradicts what the user said, as turn {} tells", None
    if told == YOU_SAID:
        message = "contradicts an earlier turn, as the user says in turn {}"
    elif told == ASKED:
        rule, message, turn = UNANSWERED, "leaves turn {} unanswered", reply.last_of_other
    elif "?" in reply.text:
        rule, message = REPEATS, "asks for what the user said, as turn {} tells"
    turn = reply.next_of_user if turn is None else turn
    return _worded(rule, reply, message.format(turn), [Span(reply.turn, 0, len(reply.whole))])


def _differs(score: Score, reply: Reply) -> bool:
    """Return whether words that are repeated have another number, or are negated, in one turn."""
    shown = [each.span for each in score.evidence if isinstance(each, FeatureEvidence)]
    spans = [span for span in shown if span is not None][:2]
    if len(spans) < 2 or spans[0].turn == spans[1].turn:
        return False
    texts = reply.talk.turns
    own, earlier = (texts[span.turn].text[span.start : span.end] for span in spans)
    if not {*NUMBER.findall(own)} <= {*NUMBER.findall(texts[spans[1].turn].text)}:
        return True
    pairs = (own, earlier), (earlier, own)
    return any(DENIES.search(one) and not NEGATED.search(other) for one, other in pairs)


def _cause(score: Score | None) -> Rule | None:
    """Return the rule of the flaw that a low sensibleness names, if it is probable enough."""
    if score is None or (score.value or 0.0) >= LOW:
        return None
    heads = {each.name: each.value for each in score.evidence if isinstance(each, FeatureEvidence)}
    causes = {name: heads[name] for name in OF_CAUSE if name in heads}
    most = max(causes.values(), default=0.0)
    close = (OF_CAUSE[name] for name, p in causes.items() if p >= most - EQUAL)
    return next(close, None) if most >= CLEAR else None


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
