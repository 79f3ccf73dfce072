"""Insults and contempt towards the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.detectors.conversation import Flaw, beginnings
from grice.detectors.rules import Rule
from grice.text.wordlists import pattern_of

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

_NOUN = (
    r"(?:idiot|moron|imbecile|fool|loser|dumb-?ass|retard|jerk|asshole|arsehole|bastard|bitch|"
    r"cunt|dick(?:head)?|scum(?:bag)?|pig|clown|dimwit|halfwit|nitwit|simpleton|creep)"
)
_CALLED = r"(?:idiot|moron|imbecile|fool|loser|dumb-?ass|asshole|bastard|bitch|dickhead|scumbag)"
_ADJECTIVE = (
    r"(?:stupid|dumb|idiotic|moronic|pathetic|worthless|useless|brainless|retarded|disgusting|"
    r"ignorant|braindead|clueless)"
)
_HOW = (
    r"(?:(?:a|an|such|so|really|too|very|just|just an?|one|the|total|complete|f\w{0,3}king) ){0,3}"
)
INSULT = re.compile(
    rf"\byou(?:['’]?re| are| r| really are| must be| sound| look| seem| act like) {_HOW}"
    rf"(?:{_ADJECTIVE} )?{_NOUN}\b"
    rf"|\b(?:you|hey|listen|ok|okay|no|yes),? (?:{_ADJECTIVE} )?{_NOUN}(?=\W*(?:\Z|[.!?,]))"
    rf"|\byou(?:['’]?re| are| r| must be| sound) {_HOW}{_ADJECTIVE}\b"
    r"(?! (?:to|at|with|in|enough)\b)"
    rf"|\bare you {_HOW}(?:{_ADJECTIVE}|{_NOUN})\b"
    rf"|\bhow {_ADJECTIVE} (?:can|could|are) (?:you|one)\b"
    rf"|,\s(?:you )?{_CALLED}(?=\W*(?:\Z|[.!?]))|\A\W*are you (?:blind|deaf)\?"
    rf"|\b(?:what an?|your|such an?) (?:really |so )?{_ADJECTIVE} (?:question|idea)s?\b"
    r"|\bshut (?:the \w{1,10} )?up\b(?! shop)|\b(?:fuck|screw) you(?=\W*(?:\Z|[.!?,]))"
    rf"|\byou(?:['’]?re| are)(?: just| simply)? too {_ADJECTIVE} to\b"
    r"|(?:\A\W*|[.!?]\W+|\bshould |\bgo |\bthen )learn (?:how )?to (?:read|count|listen)\b"
    r"|\b(?:before you|you(?:['’]?re| are)|stop|you just) wast(?:e|ing) (?:my|our) time\b"
    r"|\bstop (?:whining|moaning|crying|being (?:so )?(?:stupid|dumb|lazy))\b|\bthick skull\b"
    r"|\byour skull is too thick\b"
    r"|\beven a (?:\w+ ){0,2}(?:child|toddler|monkey|[\w-]+-old) knows\b"
    r"|\bpeople like you are\b|\bgo to hell\b|\bgo kill yourself\b|\b(?:half a|no|a pea) brain\b"
    r"|\bnobody (?:likes|asked) you\b",
    re.IGNORECASE,
)
INSULTING = beginnings(
    "blind deaf "
    "idiot moron imbecile fool loser dumb dumbass ass retard jerk asshole arsehole bastard "
    "bitch cunt dick dickhead scum scumbag pig clown dimwit halfwit nitwit simpleton creep "
    "stupid idiotic moronic pathetic worthless useless brainless retarded disgusting ignorant "
    "braindead clueless shut fuck screw learn time stop thick knows people hell kill brain "
    "likes asked"
)
"""Every insult contains one of these; a text without them is skipped."""
SOFTENED = re.compile(
    r"\b(?:not|n['’]t|never|nobody|no one|if|think|thinks|thought|say|says|said|call(?:s|ed)?|"
    r"feel|feels|felt|like)\b[^.!?]{0,30}\Z",
    re.IGNORECASE,
)
"""Words before that make it no insult: "you are not an idiot", "they call you a fool"."""


def insult_in(reply: Reply) -> Flaw | None:
    """Find an insult of the person who reads the reply."""
    if not reply.background.may_have(reply.turn, INSULTING):
        return None
    places = [
        match.span()
        for match in INSULT.finditer(reply.prose)
        if reply.prose[max(0, match.start() - 1) : match.start()] not in ('"', "“", "‘")
        and not (
            match[0][0] != ","
            and SOFTENED.search(reply.prose[max(0, match.start() - 60) : match.start()])
        )
        and not re.search(r"\bnot\b|n['’]t\b", match[0])
        and not reply.quotes(match[0])
    ]
    if not places or reply.asked_for(pattern_of("asks for insults")):
        return None
    return Flaw("the reply insults the user", tuple(places))


RULES = (Rule("V601", "insult", "insult or contempt", insult_in),)
