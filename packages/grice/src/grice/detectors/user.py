"""Signs in the user's next turn that a reply did not help.

The patterns are stricter than those of the metric ``user_frustration``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.data import Span
from grice.detectors.conversation import Flaw, beginnings
from grice.detectors.rules import Rule

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

_SAID = r"(?:said|asked|told|gave|wrote|answered|mentioned|explained|typed)"
_NOT = r"(?:n['’]?t| not)(?: even| really| actually| at all)?"
_ARE = r"(?:['’]?re| are)"
_IS = r"(?:['’]?s| is)"
PASSED_OVER = (
    rf"\bi(?:['’]ve)? (?:just|already) {_SAID}\b",
    rf"\A\W*(?:like|as) i (?:just |already )?{_SAID}\b|\b(?:like|as) i (?:said|wrote)\b",
    r"\balready (?:said|told you|answered)|\byou(?:['’]ve| have)? just (?:said|told me)\b",
    r"\bi (?:said|told you)(?: that)? (?:already|before|twice)",
    r"\bi(?:['’]ve| have)? already (?:tried|did|done|sent|entered) (?:that|this|it|all|so)\b",
    r"\bi(?:['’]ve| have) (?:tried|done|said|told you|asked) (?:that|this|it|you)\b[^.?!]{0,20}"
    r"\b(?:already|twice|times)\b",
    r"\bfor the (?:second|third|last|\w{1,8}th) time\b|\bhow many times (?:do|must|have) i\b",
    r"\A\W*(?:(?:no|but|hey|hello|sorry|yes|um|uh|okay|ok)\W+)?i (?:only |specifically )?(?:"
    r"asked (?!my|him|her|them|an? |and|& |\w+self)|"
    r"said (?!yes|no\b|hi|hello|good|to (?:him|her|them|my))|told you (?!so\b)|"
    r"only wanted|did(?:n['’]?t| not) ask|never (?:said|asked|ordered|agreed|gave you))",
    r"(?:,|\A)\W*(?:already )?told you(?: (?:that|already|before|twice))*\W*(?:,|\Z)",
    r"(?:,|\A)\W*(?:i )?(?:said|wrote) (?:that|this|it) (?:already|before|above|at the start)\b",
    r"\bi asked(?: about [^.?!]{1,30})?\W*\Z|\b(?:the|my) question was\b|\A\W*again\?\W*\Z",
    r"\A\W*(?:(?:but|no|wait|hm+|huh|eh)\W+)*(?:(?:before|earlier) )?you (?:just )?(?:said|told me)"
    r"(?: [\w'’]+){1,6}\W*\Z|\byou (?:just )?said\b[^?]{1,60}\?\?",
    r"(?:\A\W*|\bplease )read (?:it |that |this )?again\b|\bread (?:it |that )?again,? please\b",
)
"""The user says that something was said before, or that something else was."""
NO_ANSWER = (
    r"not what i (?:asked|said|meant|wanted|ordered)|\bnot (?:much of )?an? (?:\w+ )?answer\b",
    r"(?:didn['’]?t|never) (?:said|say|ask(?:ed)? for) th(?:at|is)|that['’]?s not my\b",
    rf"\b(?:that|this|it)(?:{_IS}| was(?= not)) (?:wrong|incorrect|nonsense|useless|"
    r"not (?:right|true|correct|my (?!fav|thing|idea|style|\w+ (?:job|place))|what (?:i|you|we)|"
    r"help(?:ful|ing)))"
    r"(?! (?:with|on|about))",
    r"\byour (?:answers?|repl(?:y|ies)|responses?) (?:is|are|makes?|do|does) ?"
    r"(?:not?|n['’]?t|wrong|useless|random|weird|strange|generic)\b",
    rf"\b(?:does|did|do){_NOT} (?:answer|help(?: me)?(?:\W|\Z)|make (?:any |much )?sense)",
    r"\bma(?:kes?|king|de) no sense\b|\banswer (?:me\b|(?:my|the) question)|\bnon[ -]sequitur\b",
    r"\b(?:nothing|anything|something) to do with (?:my|the|that|this|what|politics)\b",
    r"\bwhat (?:has|does|is) (?:that|this|it) (?:have |got )?to do with",
    rf"\b(?:that|this)(?:{_IS}| was| seems)(?: (?:so|a|bit|very|pretty|really|just|too)){{0,2}} "
    r"(?:random|generic|irrelevant|unhelpful|mean|rude|harsh|insulting|outrageous)\b|"
    r"\brandom (?:answer|reply|response)",
    rf"\byou(?:{_ARE})? (?:just )?chang(?:ed?|ing) the (?:subject|topic)|\boff[ -]topic\b",
    r"\bchanging the (?:subject|topic)|\b(?:english|in english),? please",
    r"\A\W*(?:(?:that|this|it)(?:['’]?s| is) )?(?:really )?not (?:helping|funny)\b",
    r"\bthat ca(?:n['’]?t|nnot) be (?:right|true|correct)\b|,\s*seriously\s*\?\W*\Z",
    r"n['’]?t (?:understand|get) a (?:single )?word\b",
    r"\A\W*(?:(?:but|mm+|hm+|wait)\W+)?are you (?:really )?sure(?: about (?:that|this|it))?\W*\Z",
    r"\A\W*(?:(?:eh|huh|ok|and|but)\W+)*so\b[^.?!]{1,60}\bor not\W*\Z|\byes or no\W*\Z",
)
"""The user says that the reply is wrong, or no answer."""
BAD_PARTNER = (
    rf"\byou{_ARE} (?:wrong|repeating|contradicting|confus(?:ing|ed)|mistaken|not (?:listening|"
    r"making|helping|answering|understanding|working (?:right|properly|very|well)))",
    r"(?<!hope )(?<!how do )(?<!can )\byou (?:just )?keep (?:\w+ing|the same)\b",
    r"(?<!can )(?<!could )\byou (?:always )?repeat\b|\bstop (?:repeating|saying|asking)",
    rf"\byou (?:did|do){_NOT} (?:answer|read|listen|understand|get (?:it|me)|help|hear)\b",
    r"\bdid you (?:even|actually|not) (?:read|listen|hear|understand)\b",
    r"\bdid you (?:read|listen to|hear) (?:me|my|what i)\b",
    r"\bare you (?:even listening|listening to me|deaf|blind|insane|drunk|kidding me|fooling)",
    r"\b(?:what|who) are you (?:even )?(?:talking|going on) about|\bhow can you say\b",
    r"\bwhy are you (?:talking|telling|asking|saying|so)\b",
    rf"\bi (?:do{_NOT}|ca{_NOT}|cannot|can not) (?:understand|follow|get) (?:you\b|what you)",
    r"\A\W*(?:excuse me\W*(?:\?|!|\Z)|wtf|what the (?:hell|heck|fuck)\b)",
    rf"\bhow rude\b|\A(?:wow)?\W*rude\b|\byou{_ARE} (?:so |very |being )?rude\b",
    r"\bbe respectful\b|\bplease (?:don['’]t|do not) use that",
    r"\byou(?: have|['’]ve)? (?:forgot(?:ten)?|ignored) (?:to|that|the|my|what)\b",
    r"\A\W*(?:oh )?come on\W+(?:you|that|this|don['’]?t|be|just)\b|\A\W*insert \w+\s*\?",
    r"\A\W*hell+o+\W*\?\W*\?|\?\?\?+ hello\b|(?:\A|[.?!])\W*(?:is )?any(?:one|body) there\W*\Z",
    r"\bthanks for nothing\b|\bthis (?:bot )?is (?:useless|pointless|hopeless|ridiculous|a waste)",
    rf"\byou{_ARE} (?:useless|hopeless|(?:of )?no help)",
)
"""The user objects to how the bot behaves, or gives up."""
OBJECTS = re.compile("|".join(PASSED_OVER + NO_ANSWER + BAD_PARTNER), re.IGNORECASE)
CORRECTS = re.compile(
    r"\A\W*(?:no|nope)\W+(?:i(?:['’]?m| am) (?:the|an?)\b|i (?:meant?|said|asked)\b|the\b|"
    r"not (?!yet|really|at all|right now|now|sure|that))",
    re.IGNORECASE,
)
"""The user corrects a reply, unless it asks something."""
ASKS = re.compile(r"\?|\b(?:confirm|let me know|tell me)\b", re.IGNORECASE)
_PERSON = (
    r"(?:human(?: being)?|(?:real|actual|live) (?:person|human|agent)|representative|operator|"
    r"supervisor|manager|agent|customer (?:service|support|care)|member of staff|nurse)"
)
_ANY = rf"(?:(?:an? |the |your |some )?{_PERSON}|a person)"
ASKS_FOR_PERSON = re.compile(
    rf"\b(?:talk|speak|chat) (?:to|with) {_ANY}\b(?! rel)|"
    r"\b(?:can|could|may|like to|want to|rather) (?:i )?(?:talk|speak|chat) (?:to|with) some"
    r"(?:one|body)\b|"
    rf"\b(?:connect|transfer|put|get|give) me (?:through )?(?:to |with )?{_ANY}\b|"
    rf"^(?:.{{0,20}}\W)?{_PERSON},? please\W*\Z|^\W*{_PERSON}\W*\Z|"
    rf"\b(?:want|need) (?:a|an) (?:real )?{_PERSON}\b(?! (?:job|to be))|"
    r"\b(?:is there|can i (?:get|have)) (?:any|some)(?:one|body) (?:else )?(?:i can|to) "
    r"(?:talk|speak|call|chat)",
    re.IGNORECASE,
)
OBJECTING = beginnings(
    "said asked told gave wrote answer mentioned explained typed already time times ask never "
    "not reply replies response wanted wrong incorrect nonsense useless help sense sequitur "
    "with random generic irrelevant unhelpful mean rude harsh insulting outrageous subject "
    "topic off english say repeating contradicting confusing mistaken stop keep read "
    "listening understand get hear deaf blind insane drunk kidding fooling talking going "
    "telling why follow excuse wtf hell heck fuck respectful use question again sure seriously "
    "right true funny helping forgot forgotten ignored or come insert word hello helll there "
    "pointless hopeless ridiculous waste nothing"
)
PEOPLE = beginnings(
    "human person agent representative operator supervisor manager service support care staff "
    "nurse someone somebody anyone anybody"
)
"""Every match contains one of these; a text without them is skipped."""
BREAK = re.compile(r"[.!?…]+(?=\s|\Z)|\n")
LONG = 200  # characters of a turn; longer ones match by chance


def complains_after(reply: Reply) -> Flaw | None:
    """Find a user who objects to the reply in the next turn."""
    message = "the user objects"
    found = _after(reply, OBJECTS, OBJECTING, message) or _shouts(reply)
    if found or ASKS.search(reply.text):
        return found
    return _after(reply, CORRECTS, beginnings("no nope"), message)


def asks_for_person_after(reply: Reply) -> Flaw | None:
    """Find a user who asks for a person in the next turn."""
    return _after(reply, ASKS_FOR_PERSON, PEOPLE, "the user asks for a person")


def _after(
    reply: Reply, pattern: re.Pattern[str], signs: frozenset[str], message: str
) -> Flaw | None:
    turn = reply.next_of_user
    if turn is None or len(text := reply.talk.turns[turn].text) > LONG:
        return None
    if not reply.background.may_have(turn, signs):
        return None
    match = pattern.search(text)
    return Flaw(message, (), (Span(turn, *_sentence(text, *match.span())),)) if match else None


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the sentence around a place."""
    before = BREAK.split(text[:start])[-1]
    after = BREAK.search(text, max(start, end - 1))
    return start - len(before.lstrip()), after.end() if after else len(text.rstrip())


def _shouts(reply: Reply) -> Flaw | None:
    """Find a turn in capitals of a user who does not write so otherwise."""
    turn = reply.next_of_user
    if turn is None or not _in_capitals(text := reply.talk.turns[turn].text):
        return None
    earlier = [t for i, name, t in reply.background.texts if name != reply.speaker and i < turn]
    if any(map(_in_capitals, earlier)) or not any(any(map(str.islower, t)) for t in earlier):
        return None
    return Flaw("the user shouts", (), (Span(turn, 0, len(text)),))


def _in_capitals(text: str) -> bool:
    words = [word for word in text.split() if word.strip(".,!?").isalpha()]
    return len(text) < LONG and text.isupper() and len(words) > 2


RULES = (
    Rule("U501", "user-objects", "the user objects", complains_after, severity="note"),
    Rule("U503", "asks-for-person", "the user asks for a person", asks_for_person_after,
         severity="note"),
)  # fmt: skip
