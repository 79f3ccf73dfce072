"""Signs of a flaw around a reply: what the user says next, and whether the bot takes it back.

The signs are weak alone: ``grice check --rank`` weighs them beside scores. The rules on
the user's next turn (:mod:`grice.detectors.user`) are stricter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grice.data import Span
from grice.metrics.user_frustration import ASKS_FOR_PERSON, GAVE_UP, OBJECTS

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

READ = 200  # characters of a turn that are looked at
OBJECTED, CONFUSED = "objects", "is confused"
REMINDED, DENIED = "recalls what was said", "disagrees"
TAKEN_BACK, APOLOGISES = "taken back", "apologises"
SIGNS = {
    OBJECTED: (OBJECTS, ASKS_FOR_PERSON, GAVE_UP),
    CONFUSED: (
        re.compile(
            r"^\W*(?:what|huh|e+h+m*|hm+|u+h+|pardon|sorry|wtf|why|really|lol|ha(?:ha)+)\W*"
            r"(?:\?|\.\.|$)|\?\s*\?|^\W*\?|\bwhat do you mean|what does (?:that|this|it) (?:even )?"
            r"(?:mean|have)|\bare you (?:ok|okay|sure|serious|kidding|drunk|broken)\b|\bconfus|"
            r"n['’]?t (?:understand|follow|get (?:it|that))|no sense|\bweird\b|\bstrange\b|"
            r"\brandom\b|\bnonsense\b|what (?:has|does) th(?:at|is) .{0,30}to do with|"
            r"\bgibberish\b|come again",
            re.IGNORECASE,
        ),
    ),
    REMINDED: (
        re.compile(
            r"\bi (?:just |already |literally |clearly )*(?:said|told|asked|wrote|gave|mean|meant|"
            r"answered)\b|\b(?:told|asked) you\b|\byou (?:just |already )*(?:said|told|asked|"
            r"wrote)\b|\b(?:said|told|asked) (?:that|this|it) (?:already|before)|"
            r"\balready (?:said|told|gave|did)\b|\bsays\b|\bthe opposite\b|\bagain\?",
            re.IGNORECASE,
        ),
    ),
    DENIED: (
        re.compile(
            r"^\W*(?:(?:oh|ok|okay|hm+|well|um+)\W+)?(?:but|no+|nope|nah|not|wrong)\b"
            r"(?!\W*(?:$|thank|problem|worr|that['’]?s (?:all|it|fine)))|"
            r"\bthat['’]?s (?:not|no|wrong)\b|\b(?:is|was|are|does|do|did)(?:n['’]?t| not)\b.{0,30}"
            r"(?:right|true|answer|what|my|help)|\bthought (?:you|it|that|the)\b|\bnot much of\b|"
            r"\bthanks for nothing\b|\bwhatever\b|\bcan['’]?t be\b|\brude\b|\buseless\b|\bforgot\b",
            re.IGNORECASE,
        ),
    ),
}  # fmt: skip
"""Patterns of what the user says next."""
ADMITS = re.compile(
    r"\b(?:sorry|apologi[sz]e|apolog(?:y|ies)|my (?:mistake|bad|error|fault)|oops|excuse (?:that|"
    r"my|me)|you(?:['’]re| are)(?: \w+)? right|right you are|good catch|fair (?:enough|point)|"
    r"i (?:was wrong|misread|mixed|meant|overlooked|stand corrected|went off)|"
    r"error of mine|came out wrong|made no sense)\b",
    re.IGNORECASE,
)


class Sign(NamedTuple):
    """A sign of a flaw, or against one, with the words of another turn that show it."""

    name: str
    message: str = ""
    span: Span | None = None


def signs_of(reply: Reply) -> list[Sign]:
    """Return the signs around a reply."""
    turns, after = reply.talk.turns, reply.next_of_user
    found = []
    if ADMITS.search(reply.text[:READ]):
        found.append(Sign(APOLOGISES))
    if after is None:
        return found
    text = turns[after].text
    whole = Span(after, 0, len(text))
    for name, patterns in SIGNS.items():
        if any(pattern.search(text[:READ]) for pattern in patterns):
            found.append(Sign(name, f"the user {name} in turn {after}", whole))
    own = reply.own_after(after)
    if own is not None and (match := ADMITS.search(turns[own].text[:READ])):
        found.append(Sign(TAKEN_BACK, f"is taken back in turn {own}", Span(own, *match.span())))
    return found
