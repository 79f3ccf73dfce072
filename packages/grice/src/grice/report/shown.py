"""Texts of the page: a conversation with its scores as a line of JSON, and snippets of replies.

The line holds ``{"conversation": …, "scores": […], "opening": …, "findings": […],
"unspoken": […]}``: the first user turn, the findings of rules, and the turns that are not replies.
A score leaves out the fields of its panel and of its conversation. Evidence is rounded to four
significant digits, which halves the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from grice.data import Conversation, Evidence, Finding, Score
from grice.readers.roles import ASSISTANT, roles_of, unspoken
from grice.report.findings import explained
from grice.text.markup import marks, plain_text, thoughts

EVIDENCE_LIMIT = 24  # pieces of evidence that a score keeps in the page
EXACT = 2**53  # integers from here on lose digits in a browser, so they are shown as text
DEEPEST = 32
"""Levels of a nested extra field that the page shows; very deep ones are an error in a browser."""
ABOVE = 8  # levels of the line above an extra field, with a margin
READ = 20_000  # characters of a reply that a snippet is taken from
LEAD = 60  # characters before marked words that are not at the beginning
CUT_OFF = f"… cut off: nested deeper than {DEEPEST} levels"


def shown_line(
    conversation: Conversation,
    scores: Sequence[Score],
    signatures: Mapping[str, str],
    findings: Sequence[Finding] = (),
) -> bytes:
    """Return the line of one conversation, without line break; signatures are those of panels."""
    turns = tuple(
        msgspec.structs.replace(turn, meta=_plain(turn.meta)) if turn.meta else turn
        for turn in conversation.turns
    )
    record = _compact(
        conversation=msgspec.structs.replace(
            conversation, turns=turns, meta=_plain(conversation.meta)
        ),
        scores=[_shown(score, conversation, signatures[score.metric]) for score in scores],
        opening=opening(conversation),
        findings=[
            _compact(turn=each.turn, code=each.code, message=because(each), spans=each.spans)
            for each in findings
        ],
        unspoken=[i for i, silent in enumerate(unspoken(conversation.turns)) if silent],
    )
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but it has an escape in JSON.
        whole = _plain(msgspec.to_builtins(record), DEEPEST + ABOVE)
        return json.dumps(whole, separators=(",", ":")).encode()


def because(finding: Finding) -> str:
    """Return a finding in words, with those of other turns; those of the reply are marked there."""
    pairs = list(zip(finding.spans, finding.quotes, strict=True))
    own = {words for span, words in pairs if span.turn == finding.turn}
    others = [pair for pair in pairs if pair[0].turn != finding.turn and pair[1] not in own]
    spans, quotes = (tuple(part) for part in zip(*others, strict=True)) if others else ((), ())
    return explained(msgspec.structs.replace(finding, spans=spans, quotes=quotes))


def opening(conversation: Conversation) -> int | None:
    """Return the index of the first user turn with words, else of any turn with words."""
    roles = roles_of(conversation.turns)
    silent = unspoken(conversation.turns)
    spoken = [
        i
        for i, turn in enumerate(conversation.turns)
        if not silent[i] and plain_text(turn.text).text.strip()
    ]
    users = (i for i in spoken if roles[i] != ASSISTANT)
    return next(users, spoken[0] if spoken else None)


def _compact(**fields: object) -> dict[str, object]:
    """Return fields without those that are empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [])}


def _shown(score: Score, conversation: Conversation, signature: str) -> dict[str, object]:
    kept = _strongest(score.evidence)
    return _compact(
        metric=score.metric,
        status=score.status,
        value=score.value,
        turn=score.turn,
        reason=score.reason,
        flags=score.flags,
        evidence=[_plain(msgspec.to_builtins(piece), digits=4) for piece in kept],
        more=len(score.evidence) - len(kept) or None,
        signature="" if score.signature == signature else score.signature,
        meta=None if score.meta == conversation.meta else _plain(score.meta),
    )


def _strongest(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """Return at most EVIDENCE_LIMIT pieces in their order, those with the largest effect."""
    if len(evidence) <= EVIDENCE_LIMIT:
        return evidence
    effects = [getattr(piece, "effect", None) for piece in evidence]
    ranks = [-math.inf if effect is None else -abs(effect) for effect in effects]
    strongest = sorted(range(len(ranks)), key=ranks.__getitem__)[:EVIDENCE_LIMIT]
    return [evidence[i] for i in sorted(strongest)]


def _plain(value: Any, levels: int = DEEPEST, digits: int = 0) -> Any:  # noqa: ANN401 (any JSON value)
    """Return a value as a browser reads it without loss, cut off if it is nested too deeply."""
    match value:
        case dict() | list() | tuple() if not levels:
            return CUT_OFF
        case dict():
            return {key: _plain(part, levels - 1, digits) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part, levels - 1, digits) for part in value]
        case float() if not math.isfinite(value):
            return None
        case float() if digits:
            return float(f"{value:.{digits}g}")
        case int() if abs(value) >= EXACT:
            return str(value)
    return value


class Piece(NamedTuple):
    """A part of a snippet, and whether it is marked."""

    text: str
    marked: bool


def snippet(
    text: str, spans: Iterable[tuple[int, int]], most: int, *, as_written: bool = False
) -> list[Piece]:
    """Return at most so many characters of a text, in pieces that are marked or not.

    Thinking and marks of Markdown are left out, and the text is cut between words. If the
    first marked words are far from the beginning, it starts shortly before them.

    >>> snippet("Click on **Forgot password** below.", [(9, 28)], 40)
    [Piece(text='Click on ', marked=False), Piece(text='Forgot password', marked=True), \
Piece(text=' below.', marked=False)]
    """
    text = text[:READ]
    marked = bytearray(len(text))
    for start, end in spans:
        marked[start:end] = b"\1" * len(marked[start:end])
    signs = list(text)
    for start, end in () if as_written else thoughts(text):
        signs[start:end] = [" "] * (end - start)
    for start, end in () if as_written else marks(text):
        signs[start:end] = [""] * (end - start)
    read = [(" ", False)]  # each sign with its mark, single blanks between words
    for sign, mark in zip(signs, marked, strict=True):
        if sign and not sign.isspace():
            read.append((sign, bool(mark)))
        elif sign and read[-1][0] != " ":
            read.append((" ", bool(mark)))
    read = read[1 : len(read) - (read[-1][0] == " ")]
    first = next((i for i, (_, mark) in enumerate(read) if mark), 0)
    start, end = 0, len(read)
    if first > max(LEAD, most - LEAD):
        start = next((i for i in range(first - LEAD, first) if read[i - 1][0] == " "), first)
    if end - start > most:
        end = next(
            (i for i in range(start + most - 1, start, -1) if read[i][0] == " "), start + most
        )
    cut = ("…", False)
    shown = [*([cut] if start else []), *read[start:end], *([cut] if end < len(read) else [])]
    return [
        Piece("".join(sign for sign, _ in group), mark)
        for mark, group in groupby(shown, key=lambda sign: sign[1])
    ]
