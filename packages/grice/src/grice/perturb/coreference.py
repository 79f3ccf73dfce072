"""Pronouns that point to somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.perturb.declaration import Change, Perturbed, perturbation, with_texts
from grice.perturb.wording import cased_as, lemma, replace, words
from grice.text.lexicon import look_up
from grice.text.verbs import base_form, is_past, is_verb
from grice.text.wordlists import ADVERBS, AFTER_OBJECT, AUXILIARIES, PREPOSITIONS, QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from grice.perturb.declaration import Material
    from grice.perturb.wording import Word
    from grice.records import Conversation

SOURCE = "coreference inconsistency, DEAM (Ghazarian et al. 2022), on the words instead of AMR"


class Forms(NamedTuple):
    """How a person is written: subject, object, possessive; and with which verb forms."""

    subject: str
    object: str
    possessive: str
    be: str
    been: str
    third: bool


PERSONS = {
    "i": Forms("I", "me", "my", "am", "was", third=False),
    "you": Forms("you", "you", "your", "are", "were", third=False),
    "he": Forms("he", "him", "his", "is", "was", third=True),
    "she": Forms("she", "her", "her", "is", "was", third=True),
    "it": Forms("it", "it", "its", "is", "was", third=True),
    "we": Forms("we", "us", "our", "are", "were", third=False),
    "they": Forms("they", "them", "their", "are", "were", third=False),
}
_CASES = {
    "i": ("i", "subject"),
    "me": ("i", "object"),
    "my": ("i", "possessive"),
    "you": ("you", ""),
    "your": ("you", "possessive"),
    "he": ("he", "subject"),
    "him": ("he", "object"),
    "his": ("he", "possessive"),
    "she": ("she", "subject"),
    "her": ("she", ""),
    "it": ("it", ""),
    "its": ("it", "possessive"),
    "we": ("we", "subject"),
    "us": ("we", "object"),
    "our": ("we", "possessive"),
    "they": ("they", "subject"),
    "them": ("they", "object"),
    "their": ("they", "possessive"),
}
_CLITIC = {"'m": "be", "'re": "be", "'s": "be", "'ve": "have", "'ll": "", "'d": ""}
_DO = {"do", "does", "don't", "doesn't"}
_HAVE = {"have", "has", "haven't", "hasn't"}
_BE = {"am", "is", "are", "isn't", "aren't"}
_BEEN = {"was", "were", "wasn't", "weren't"}


@perturbation("coreference", "semantic", SOURCE)
def coreference(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Let a pronoun of one turn point to somebody else: another pronoun, or a noun said before."""
    in_turns = [words(turn.text) for turn in conversation.turns]
    nouns = sorted(
        {lemma(word.lower, "noun") for turn in in_turns for word in turn if word.kind == "noun"}
    )
    held = sorted(
        {
            (_CASES[word.lower.split("'")[0]][0], place)
            for place, turn in enumerate(in_turns)
            for word in turn
            if word.lower.split("'")[0] in _CASES
        }
    )
    draw.shuffle(held)
    for person, place in held:
        other = _other(person, nouns, draw)
        edits = _edits(in_turns[place], person, other)
        if edits:
            text = conversation.turns[place].text
            after = replace(text, edits)
            what = f"{PERSONS[person].subject} to {other.subject}"
            change = Change("coreference", (place,), what, text, after)
            return Perturbed(with_texts(conversation, {place: after}), (change,))
    return None


def _other(person: str, nouns: list[str], draw: Random) -> Forms:
    if nouns and draw.random() < 0.5:
        noun = f"the {draw.choice(nouns)}"
        return Forms(noun, noun, f"{noun}'s", "is", "was", third=True)
    return PERSONS[draw.choice([name for name in PERSONS if name != person])]


def _edits(context: Sequence[Word], person: str, other: Forms) -> dict[tuple[int, int], str] | None:
    """Return what to write where; None where it is in doubt how."""
    edits: dict[tuple[int, int], str] = {}
    for i, word in enumerate(context):
        stem, _, ending = word.lower.partition("'")
        if _CASES.get(stem, ("", ""))[0] != person:
            continue
        case = _case(context, i)
        if case == "subject":
            verb = _agreement(context, i, other, f"'{ending}" if ending else "")
            if verb is None:
                return None
            edits |= verb
        elif ending:
            return None
        new = getattr(other, case)
        starts = i == 0 or context[i - 1].text in {".", "!", "?"}
        clitic = edits.pop((word.end, word.end), "") if ending else ""
        edits[word.start, word.end] = (new[0].upper() + new[1:] if starts else new) + clitic
    return edits or None


def _case(context: Sequence[Word], i: int) -> str:
    stem = context[i].lower.split("'")[0]
    case = _CASES[stem][1]
    if case:
        return case
    before = context[i - 1].lower if i else ""
    after = context[i + 1].lower if i + 1 < len(context) else ""
    if stem == "her":
        return "object" if after in AFTER_OBJECT or not after.isalpha() else "possessive"
    finite = after in AUXILIARIES or after.endswith("n't") or "'" in context[i].lower
    verbal = finite or is_verb(after) or after in ADVERBS
    lead = context[i - 2] if i > 1 else None
    asked = i == 1 or (lead and (lead.lower in QUESTIONS or not lead.text[0].isalnum()))
    inverted = before in AUXILIARIES and (verbal or asked or not after.isalpha())
    behind = before in PREPOSITIONS or is_verb(before)
    return "subject" if finite or inverted or (verbal and not behind) else "object"


def _agreement(
    context: Sequence[Word], i: int, other: Forms, clitic: str
) -> dict[tuple[int, int], str] | None:
    """Return the verb of a subject as the other person needs it; None if there is doubt."""
    word = context[i]
    if clitic:
        kind = _CLITIC.get(clitic)
        if kind is None:
            return None
        new = {"be": f" {other.be}", "have": " has" if other.third else " have"}.get(kind, "")
        if not kind:
            new = " will" if clitic == "'ll" else " would"
        return {(word.end, word.end): new}
    before = context[i - 1] if i else None
    if before and before.lower in _DO | _HAVE | _BE | _BEEN:
        return _verb(before, other)
    if before and before.lower in AUXILIARIES | {"didn't", "won't", "can't", "let", "make"}:
        return {}
    k = i + 1
    while k < len(context) and context[k].lower in ADVERBS:
        k += 1
    return _verb(context[k], other) if k < len(context) else None


def _verb(word: Word, other: Forms) -> dict[tuple[int, int], str] | None:
    lower, short = word.lower.removesuffix("n't"), "n't" if word.lower.endswith("n't") else ""
    if word.lower in _BE:
        new = "am not" if short and other.be == "am" else other.be + short
    elif word.lower in _BEEN:
        new = other.been + short
    elif word.lower in _DO:
        new = ("does" if other.third else "do") + short
    elif word.lower in _HAVE:
        new = ("has" if other.third else "have") + short
    elif word.lower in AUXILIARIES or short or is_past(lower):
        return {}
    elif is_verb(lower) and not lower.endswith("ing"):
        base = base_form(lower)
        new = (look_up(base).third or lower) if other.third else base
    else:
        return None
    return {(word.start, word.end): cased_as(new, word)}
