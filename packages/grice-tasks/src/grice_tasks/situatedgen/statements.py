"""From questions to statements, by the published rules.

The auxiliary of a yes/no question moves behind the subject, do-support vanishes; the answer of a
multiple-choice question takes the place of the words that ask.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grice.text.lexicon import look_up
from grice_tasks.situatedgen.records import Question, Statement
from grice_tasks.situatedgen.tagger import Names, TokenReader, token_features
from grice_tasks.situatedgen.words import sentences
from grice_tasks.tokens import WORDS_WITH_PERIODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from grice_tasks.situatedgen.tagger import Array, Hidden, Offsets


PRONOUNS = frozenset(("there", "it", "he", "she", "they", "we", "you", "i"))
PLACES = "of in on at to from by with for the a an and or her his their its your my than against"
INSIDE = frozenset(PLACES.split())  # Words no subject ends with
ARTICLES = frozenset(("the", "a", "an"))
BE = frozenset(("is", "are", "was", "were", "am"))


class ClauseFinder(TokenReader):
    """Finds the end of the subject."""

    def __init__(self, folder: Path, hidden: Hidden, identity: str) -> None:
        names = Names.load(folder / "names.txt.gz")
        super().__init__(folder / "clauses.npz", names, hidden, identity)

    def predicate_starts(self, questions: Sequence[str]) -> list[int]:
        """Return for each question that starts with its auxiliary where its predicate starts."""
        answers = self._hidden(questions)
        return [self._start(text, *answer) for text, answer in zip(questions, answers, strict=True)]

    def _start(self, text: str, states: Array, offsets: Offsets) -> int:
        first = text.partition(" ")[0]
        if not any(end > start > len(first) for start, end in offsets):
            return len(first)
        features, places, starts = token_features(text, states, offsets, self._names)
        heads = [i for i, start in enumerate(starts) if start and places[i][0] > len(first)]
        begins = [places[i][0] for i in heads]
        # The subject has at least one word.
        possible = [
            k for k in range(1, len(heads)) if _may_start(text, begins[k - 1], begins[k], first)
        ] or [len(heads) - 1]
        opening = WORDS_WITH_PERIODS.match(text, begins[0]) if begins else None
        if opening and opening[0].lower() in PRONOUNS and 1 in possible:
            return begins[1]
        scores = self._network(features[[heads[k] for k in possible]])[:, 0]
        return begins[possible[int(scores.argmax())]]


def _may_start(text: str, before: int, start: int, auxiliary: str) -> bool:
    """Say whether a predicate can start at a word, by the word before and the word itself."""
    word_match, last = WORDS_WITH_PERIODS.match(text, start), WORDS_WITH_PERIODS.match(text, before)
    if word_match is None or last is None or text[start - 1] != " ":
        return False
    word, behind = word_match[0], last[0]
    if behind.lower() in PRONOUNS:
        return True
    if behind.lower() in INSIDE or word.lower() == "of":
        return False
    if auxiliary.lower() not in BE and word.lower() in ARTICLES:
        return False
    # One name goes on: "Super Bowl 50", "Earth Day".
    return not (behind[:1].isupper() and (word[:1].isupper() or word[:1].isdigit()))


AUX = "is|are|was|were|do|does|did|can|could|will|would|should|may|might|must|has|have|had"
ASKING = r"(?:what|which|who|where|when|how|why)"
LEADING = re.compile(rf"{ASKING}\b", re.IGNORECASE)
BEHIND_COMMA = re.compile(
    rf"^(?P<lead>.*)[,;] (?:and |but |so )?(?P<asked>{ASKING}\b.*)$", re.IGNORECASE
)
WITHIN = re.compile(rf"^(?P<lead>.+)(?P<asked>\s(?:the )?{ASKING}\b.*)$", re.IGNORECASE)
PREPOSED = re.compile(
    rf"^(?P<prep>(?:\w+ ){{1,3}}?)(?:what|which|how)\b(?P<np>.*?)\s(?P<aux>{AUX})\s(?P<rest>.+)$",
    re.IGNORECASE,
)
WITH_AUX = re.compile(rf"^(?P<np>.*?)\s*\b(?P<aux>{AUX})\s+(?P<rest>.+)$", re.IGNORECASE)
BLANK = re.compile(r"_{2,}")
PLACED = re.compile(
    r"(?:about|approximately|in|on|at|to|by|from|near|under|with|for|into|inside|outside|during|before|after|off|over)"
    r"\b",
    re.IGNORECASE,
)
SUBJECT = re.compile(
    r"(?:the|a|an|this|that|these|those|it|he|she|they|we|you|one|i|there|people|someone|his|her|"
    r"their|its|your|my|some|most|many|all|each|every|\d+)\b",
    re.IGNORECASE,
)
MODALS = frozenset("can could will would should may might must".split())  # noqa: SIM905
ROUGH = re.compile(r"(?P<word>about|approximately|roughly)\s+(?P<asked>.*)", re.IGNORECASE)
PRONOUN = re.compile(r"(?:he|she|it|they|you|we|i)\b", re.IGNORECASE)
OPEN_END = re.compile(r"\b(?:from|in|on|at|of|with|for|to|near|by|(?:likely|able|going) to \w+)$")
PLACE_SUBJECT = re.compile(r"(?:is|are) (?:not|known|famous)\b|(?:has|have) (?:the|a|an|many)\b")
NUMBER = re.compile(r"(?:about )?[\d.,]+$|(?:one|two|three|four|five|six|seven|eight|nine|ten)$")


class Plan(NamedTuple):
    """How a statement is to be put together."""

    before: str  # what stands first, with a blank behind it or empty
    inner: str  # A question that starts with its auxiliary and becomes a statement; empty if none
    after: str  # what stands last


def plan_choice(question: str, answer: str) -> Plan | None:
    """Return how the statement of a question and its answer is put together; None without words.

    >>> plan_choice("Where would you find many canals?", "venice")
    Plan(before='', inner='would you find many canals?', after='in venice')
    """
    question_sentences = sentences(question)
    answer = answer.strip().rstrip(".")
    if not question_sentences or not answer:
        return None
    *context, last = question_sentences
    before = "".join(f"{sentence} " for sentence in context)
    if BLANK.search(last):
        return Plan(before + BLANK.sub(lambda _: answer, last, count=1), "", "")
    asked = last.rstrip("? ")
    if (match := ROUGH.match(asked)) and match["asked"].startswith("how "):
        word = "" if ROUGH.match(answer) else f"{match['word'].lower()} "
        return _asked(before, match["asked"], word + answer)
    if not last.rstrip().endswith("?") and not LEADING.match(asked):
        return Plan(f"{before}{asked} {answer}", "", "")
    within = WITHIN.match(asked)
    ends = within is not None and len(within["asked"].split()) == 1
    if not ends and (match := BEHIND_COMMA.match(asked)):
        return _asked(f"{before}{match['lead']}, ", match["asked"], answer, lead=True)
    if LEADING.match(asked) and not ends:
        return _asked(before, asked, answer)
    match = PREPOSED.match(asked)
    if match and PLACED.match(match["prep"]):
        return Plan(before, f"{match['aux']} {match['rest']}?", match["prep"].lower() + answer)
    if within:
        lead, asking = within["lead"], within["asked"]
        place = re.match(rf"\swhere(?P<behind>\s(?!(?:{AUX})\b).*)", asking, re.IGNORECASE)
        placed = _place(asking, answer, lead) + (place["behind"] if place else "")
        return Plan(f"{before}{lead} {placed}", "", "")
    return Plan(f"{before}{asked} {answer}", "", "")


def _place(asked: str, answer: str, lead: str) -> str:
    """Return the answer with the preposition that asking for a place leaves out."""
    where = re.match(r"\s*where\b", asked, re.IGNORECASE)
    bare = not PLACED.match(answer) and not re.search(r"\b(?:in|at|on|to|from)$", lead)
    return f"in {answer}" if where and bare else answer


def _asked(before: str, asked: str, answer: str, *, lead: bool = False) -> Plan:
    """Plan a question that starts with the word that asks."""
    word, rest = re.split(r",?\s+", asked + " ", maxsplit=1)
    word, rest = word.lower(), rest.strip()
    placed = _place(word, answer, "")
    match = WITH_AUX.match(rest)
    if word == "how" and match:
        return _measured(before, match, answer)
    if word in ("where", "when", "why", "how"):
        if not match:
            return Plan(f"{before}{rest} {placed}", "", "")
        behind = f"{match['aux']} {match['rest']}"
        if word == "where" and PLACE_SUBJECT.match(behind):
            return Plan(f"{before}{_first(answer, lead)} {behind}", "", "")
        # "Where in Europe": the place that the question names stands behind the answer.
        return Plan(before, f"{behind}?", f"{placed} {match['np'].strip(' ,')}".strip())
    if not match:
        return Plan(f"{before}{_first(answer, lead)} {_predicate(rest)}", "", "")
    noun, auxiliary, behind = match["np"].strip(), match["aux"].lower(), match["rest"]
    acts = r"(?<=to )do\b" if auxiliary in BE else r"\bdo\b"
    if auxiliary in BE | SUPPORT and re.search(acts, behind):
        doing = re.sub(acts, lambda _: answer, behind, count=1)
        return Plan(before, f"{match['aux']} {doing}?", "")
    of_object = auxiliary in SUPPORT or (
        bool(SUBJECT.match(behind))
        if auxiliary in MODALS or not noun
        else bool(PRONOUN.match(behind))
    )
    if auxiliary in BE and not re.match(r"(?:most|likely|best|probably)\b", behind):
        of_object = of_object or bool(OPEN_END.search(behind))
    if not of_object and auxiliary in MODALS and re.match(r"[A-Z]", behind):
        of_object = True
    if of_object:
        return Plan(before, f"{match['aux']} {behind}?", answer)
    if any(map(_is_third, noun.split()[1:])):  # the auxiliary belongs to a later clause
        return Plan(f"{before}{_first(answer, lead)} {_predicate(rest)}", "", "")
    return Plan(f"{before}{_first(answer, lead)} {auxiliary} {behind}", "", "")


def _measured(before: str, match: re.Match[str], answer: str) -> Plan:
    """Plan a question for a number: "how long", "how many legs", with its auxiliary behind."""
    noun, auxiliary, behind = match["np"].strip(), match["aux"], match["rest"]
    kind, _, counted = noun.partition(" ")
    answer = answer[0].lower() + answer[1:] if ROUGH.match(answer) else answer
    if kind in ("many", "much") and counted and NUMBER.match(answer):
        answer = f"{answer} {counted}"
    if taken := re.match(r"it take\b(?P<rest>.*)", behind):
        verb = {"does": "takes", "did": "took"}.get(auxiliary, f"{auxiliary} take")
        rest = re.sub(r"^ (?!for |to )", " for ", taken["rest"])
        return Plan(f"{before}It {verb} {answer}{rest}", "", "")
    if auxiliary not in BE or not noun:
        return Plan(before, f"{auxiliary} {behind}?", answer)
    said = behind.removeprefix("there").strip()
    if kind in ("many", "much") and not counted.startswith("times"):
        return Plan(f"{before}There {auxiliary} {answer} {said}".strip(), "", "")
    said = re.sub(r"^(?:far|many times|much)\b ?", "", noun)
    return Plan(f"{before}{behind} {auxiliary} {answer} {said}".strip(), "", "")


def _first(answer: str, inside: bool) -> str:  # noqa: FBT001 - private
    return answer if inside else answer[:1].upper() + answer[1:]


def _predicate(rest: str) -> str:
    """Return a clause from its verb on: what stands before it is what the question asks for."""
    words = rest.split()
    for place, word in enumerate(words):
        if word.lower() in ("best", "most", "likely", "probably") and place:
            return " ".join(words[place:])
        if _is_third(word) and (place or len(words) > 1):
            return " ".join(words[place:])
    return rest


def _is_third(word: str) -> bool:
    known = look_up(word.lower())
    ends = word.lower().endswith(("s", "ed"))
    return "v" in known.readings and ends and word.lower() not in known.lemmas


def _third(statement: str, behind: int) -> str:
    """Return a statement whose predicate, of so many characters, is in the third person."""
    subject, predicate = statement[: len(statement) - behind], statement[len(statement) - behind :]
    verb, blank, rest = predicate.partition(" ")
    third = "" if verb in ("best", "most") else look_up(verb).third
    return f"{subject}{third or verb}{blank}{rest}"


MAPPED = {"did": "does", "will": "would", "shall": "should", "may": "might", "had": "has"}
SUPPORT = frozenset(("do", "does", "did"))
AUXILIARY = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|"
    r"had)\b",
    re.IGNORECASE,
)


def to_statements(questions: Iterable[Question], clauses: ClauseFinder) -> list[Statement]:
    """Return a statement for each question but false claims and unknown yes/no forms."""
    asked = list(questions)
    plans = {question.id: plan for question in asked if (plan := _plan(question)) is not None}
    inner = {name: plan.inner for name, plan in plans.items() if plan.inner}
    starts = dict(zip(inner, clauses.predicate_starts(list(inner.values())), strict=True))
    statements = []
    for question in asked:
        if question.id not in plans:
            continue
        plan = plans[question.id]
        holds = question.answer if isinstance(question.answer, bool) else True
        middle = yes_no_statement(plan.inner, holds, starts[question.id]) if plan.inner else ""
        if question.form == "choice" and plan.inner.lower().startswith("does "):
            middle = _third(middle, len(plan.inner.rstrip("? ")) - starts[question.id])
        if plan.before:
            middle = middle[:1].lower() + middle[1:] if plan.before.endswith(", ") else middle
        text = f"{plan.before}{middle} {plan.after}".strip()
        statements.append(Statement(question.id, text[:1].upper() + text[1:]))
    return statements


def _plan(question: Question) -> Plan | None:
    if question.form in ("claim", "fact"):
        text = question.question.strip()
        return Plan(text, "", "") if question.answer and text else None
    if question.form == "choice":
        return plan_choice(question.question, str(question.answer))
    front = _front(question.question)
    return None if front is None else Plan("", front, "")


def _front(question: str) -> str | None:
    """Return a yes/no question with its auxiliary first; None if it has none."""
    text = question.strip()
    if not text.endswith("?"):
        return None
    text = text.rstrip("? ")
    if not AUXILIARY.match(text):
        before, comma, after = text.partition(",")
        after = after.strip()
        if not comma or not AUXILIARY.match(after):
            return None
        text = f"{after} {before[:1].lower()}{before[1:]}"
    return f"{text}?"


def yes_no_statement(question: str, answer: bool, start: int) -> str:  # noqa: FBT001 - the answer
    """Return the statement of a yes/no question that starts with its auxiliary."""
    text = question.rstrip("? ")
    auxiliary, _, _ = text.partition(" ")
    subject = text[len(auxiliary) : start].strip()
    predicate = text[start:].strip()
    word = auxiliary.lower()
    if auxiliary[:1].isupper():  # only the first word of the question was mapped
        word = MAPPED.get(word, word)
    middle = [] if word in SUPPORT else [word]
    middle += [] if answer else ["not"]
    statement = " ".join(filter(None, [subject, *middle, predicate]))
    return statement[:1].upper() + statement[1:]
