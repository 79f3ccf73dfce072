"""Rules on an assistant that calls tools; here claims, errors and repeated or other calls."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from grice.data import Span
from grice.detectors.arguments import unsaid_arguments
from grice.detectors.calls import block_before, calls_of, words_of_name
from grice.detectors.conversation import READ, Flaw
from grice.detectors.results import conflicts
from grice.detectors.rules import Rule
from grice.text.wordlists import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice.detectors.conversation import Background

FAILED = re.compile(
    r"\b(?:sorry|apolog\w+|unfortunately|afraid|unable|fail\w*|errors?|problems?|issues?|trouble|"
    r"unavailable|declined|sold out|not|no|none|cannot|nothing|again|later|reach\w*|"
    r"mistake|wrong|correct(?:ion)?|instead|full|missing|invalid|offline|down|outage)\b|n['’]t\b|"
    r"\?",
    re.IGNORECASE,
)
"""Words of a reply that tells that something did not work, or asks how to go on."""
_DONE = (
    r"booked|reserved|cancell?ed|ordered|sent|transferred|changed|updated|deleted|removed|added|"
    r"scheduled|rescheduled|moved|renewed|refunded|created|informed|notified|switched|registered|"
    r"submitted|blocked|emailed|enroll?ed|paid|bought|purchased|replaced|upgraded|activated|placed"
)
CLAIM = re.compile(
    rf"\bI(?:['’]ve| have)?(?: just| now| already| also| successfully)? (?P<verb>{_DONE}|put)\b"
    rf"|\b(?:is|are|has been|have been|was) (?:now |successfully |all )?(?P<passive>{_DONE})\b"
    rf"|\A\W*(?:done|all set)\b",
    re.IGNORECASE,
)
"""A claim that something was done just now."""
ACTIONS = tuple(
    frozenset(word[:4] for word in words_of(group))
    for group in (
        "book reserve schedule make create place set order buy purchase add register sign enrol",
        "cancel delete remove terminate stop close end void drop unsubscribe deactivate block lock "
        "freeze disable",
        "send email mail notify inform message post forward share",
        "change update modify edit move set switch reschedule replace correct select upgrade put",
        "pay paid refund transfer credit charge",
        "renew extend update replace",
    )
)
"""Beginnings of verbs that name the same action: a tool may have another one than the claim."""
POLLS = words_of("status track tracking poll wait check position progress weather time now balance "
                 "random roll dice draw shuffle next")  # fmt: skip
"""Calls whose answer changes by itself."""
AGAIN = re.compile(
    r"\b(?:again|once more|another|more|next|now|still|refresh|retry|recheck|update|same|second|"
    r"twice)\b",
    re.IGNORECASE,
)
"""Words of a user who wants a call to be made again."""
EXPECTED = ("expected_trajectory", "reference_trajectory", "expected_tools")


def claims(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find claims of an action without a call for it, in a conversation with tools.

    If the record declares its tools, an action that none of them does is left out: it may have
    been done in another way.
    """
    claimed: set[str] = set()
    calls = calls_of(background)
    declared = _declared(background.talk.meta)
    for turn in background.replies if calls else ():
        text = background.talk.turns[turn].text[:READ]
        match = CLAIM.search(text)
        block = block_before(background, turn)
        if match is None or any(call.may_write for call in block):
            continue
        verb = (match["verb"] or match["passive"] or "").lower()
        before = re.split(r"[.!?:,]", text[: match.start()])[-1].split()  # mostly a subject
        # After a look-up, a passive tells a state: "room 14 is booked for you".
        if not verb or (match["passive"] and (block or len(before) > 6)):
            continue
        stems = {verb[:4]}.union(*(group for group in ACTIONS if verb[:4] in group))
        if verb in claimed or any(
            _is_about(call.words, stems) for call in calls if call.turn < turn and not call.error
        ):
            continue
        if declared and not any(_is_about(words_of_name(name), stems) for name in declared):
            continue
        claimed.add(verb)
        yield turn, Flaw(f'claims "{match[0].strip()}" without a call for it', (match.span(),))


def _declared(meta: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools that a record declares, as OpenAI and Anthropic do."""
    stated = meta.get("tools") or meta.get("functions")
    tools = [tool for tool in stated if isinstance(tool, dict)] if isinstance(stated, list) else []
    named = (tool.get("function", tool) for tool in tools)
    return [str(tool["name"]) for tool in named if isinstance(tool, dict) and "name" in tool]


def _is_about(words: Sequence[str], stems: set[str]) -> bool:
    short = {stem[:3] for stem in stems}
    return any(word[:4] in stems or (len(word) == 3 and word in short) for word in words)


def ignored_errors(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find replies to a failed call that say nothing of it."""
    turns = background.talk.turns
    for turn in background.replies if calls_of(background) else ():
        block = [
            call
            for call in block_before(background, turn)
            if call.result is not None and call.result < turn
        ]
        if not block or not block[-1].error or not turns[turn].text.strip():
            continue
        if any(not call.error and call.key == block[-1].key for call in block):
            continue
        if not FAILED.search(turns[turn].text):
            source = block[-1].result or 0
            others = (Span(source, 0, len(turns[source].text)),)
            yield (
                turn,
                Flaw(
                    f"says nothing of the error of {block[-1].name}",
                    ((0, len(turns[turn].text)),),
                    others,
                ),
            )


def repeated_calls(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find a call with the same arguments as an earlier one, after which nothing was changed."""
    seen: dict[str, int] = {}
    turns = background.talk.turns
    for call in calls_of(background):
        key = call.key
        earlier = seen.get(key)
        asked = background.user_before(call.turn)
        again = earlier is not None and asked > earlier and AGAIN.search(turns[asked].text[:READ])
        if earlier is not None and not again and POLLS.isdisjoint(call.words):
            yield call.turn, Flaw(f"repeats the call of turn {earlier}: {call.name}")
            continue
        if call.writes and not call.error:
            seen.clear()
        if not call.error:
            seen[key] = call.turn


def trajectories(background: Background) -> Iterator[tuple[int, Flaw]]:
    """Find calls that differ from the expected ones, if the record states those.

    The record has a list of names, or ``{"mode": …, "calls": […]}`` with the mode ``strict`` (the
    same in this order), ``unordered``, ``subset`` (no others) or ``superset`` (at least these).
    """
    meta = background.talk.meta
    stated = next((meta[name] for name in EXPECTED if name in meta), None)
    mode, wanted = ("strict", stated)
    if isinstance(stated, dict):
        mode, wanted = str(stated.get("mode", "strict")), stated.get("calls", stated.get("tools"))
    if not isinstance(wanted, list) or not background.talk.turns:
        return
    names = [str(item.get("name") if isinstance(item, dict) else item) for item in wanted]
    made = [call.name for call in calls_of(background)]
    missing, more = Counter(names) - Counter(made), Counter(made) - Counter(names)
    fine = {
        "strict": made == names,
        "unordered": not missing and not more,
        "subset": not more,
        "superset": not missing,
    }
    if not fine.get(mode, True):
        calls = calls_of(background)
        turn = calls[-1].turn if calls else len(background.talk.turns) - 1
        yield (
            turn,
            Flaw(f"calls {', '.join(made) or 'nothing'}; expected ({mode}): {', '.join(names)}"),
        )


RULES = (
    Rule("A401", "unsaid-argument", "argument nobody said", scan=unsaid_arguments),
    Rule("A402", "conflicts-with-result", "conflicts with a tool's result", scan=conflicts),
    Rule("A403", "claims-action", "claims an action without a call", scan=claims),
    Rule("A404", "ignores-error", "ignores a tool's error", scan=ignored_errors),
    Rule(
        "A405",
        "repeated-call",
        "repeats an identical call",
        scan=repeated_calls,
        severity="warning",
    ),
    Rule("A406", "unexpected-calls", "not the expected calls", scan=trajectories),
)
