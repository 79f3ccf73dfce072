"""The perturbations of DEAM on words: coreference, contradiction, irrelevancy, engagement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from grice.data import Conversation
from grice.perturb import Change, Material, Perturbed, perturbation, some_turns, with_texts
from grice.perturb.wording import (
    Word,
    agreeing,
    antonyms,
    cased_as,
    lemma,
    negated,
    replace,
    sentences,
    words,
)
from grice.text import wordlists as en
from grice.text.lexicon import base_form, is_past, is_verb, look_up

DEAM = "DEAM (Ghazarian et al. 2022), on the words instead of AMR"
FEW_TURNS, MANY_TURNS = 0.1, 0.2  # shares of the turns that are changed, at least one (DEAM)
REPLACED = 0.5  # share of the words of an irrelevant turn, at least one (DEAM)


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
CASES = ("subject", "object", "possessive")
_CASES = {
    word: (person, CASES[words.index(word)] if words.count(word) == 1 else "")
    for person, forms in PERSONS.items()
    for words in [tuple(form.lower() for form in (forms.subject, forms.object, forms.possessive))]
    for word in words
}
"""Person of each pronoun, and its case where the word has one alone."""
_CLITIC = {"'m": "be", "'re": "be", "'s": "be", "'ve": "have", "'ll": "will", "'d": "would"}
_AGREEING = {
    "am": "be", "is": "be", "are": "be", "was": "been", "were": "been", "do": "do", "does": "do",
    "have": "have", "has": "have",
}  # fmt: skip


@perturbation("coreference", "semantic", f"coreference inconsistency, {DEAM}")
def coreference(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Change the referent of a pronoun of one turn: another pronoun, or an earlier noun."""
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
    """Return the replacements by position; None if they are uncertain."""
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
        return "object" if after in en.AFTER_OBJECT or not after.isalpha() else "possessive"
    finite = after in en.AUXILIARIES or after.endswith("n't") or "'" in context[i].lower
    verbal = finite or is_verb(after) or after in en.ADVERBS
    lead = context[i - 2] if i > 1 else None
    asked = i == 1 or (lead and (lead.lower in en.QUESTIONS or not lead.text[0].isalnum()))
    inverted = before in en.AUXILIARIES and (verbal or asked or not after.isalpha())
    behind = before in en.PREPOSITIONS or is_verb(before)
    return "subject" if finite or inverted or (verbal and not behind) else "object"


def _agreement(
    context: Sequence[Word], i: int, other: Forms, clitic: str
) -> dict[tuple[int, int], str] | None:
    """Return the verb of a subject as the other person needs it; None if there is doubt."""
    word = context[i]
    if clitic:
        verb = _CLITIC.get(clitic)
        new = {"be": other.be, "have": "has" if other.third else "have"}.get(verb or "", verb)
        return None if new is None else {(word.end, word.end): f" {new}"}
    before = context[i - 1] if i else None
    if before and before.lower.removesuffix("n't") in _AGREEING:
        return _verb(before, other)
    if before and before.lower in en.AUXILIARIES | {"didn't", "won't", "can't", "let", "make"}:
        return {}
    k = i + 1
    while k < len(context) and context[k].lower in en.ADVERBS:
        k += 1
    return _verb(context[k], other) if k < len(context) else None


def _verb(word: Word, other: Forms) -> dict[tuple[int, int], str] | None:
    lower = word.lower.removesuffix("n't")
    short = word.lower[len(lower) :]
    if verb := _AGREEING.get(lower):
        do, have = ("does", "has") if other.third else ("do", "have")
        new = {"be": other.be, "been": other.been, "do": do, "have": have}[verb] + short
        new = "am not" if new == "amn't" else new
    elif lower in en.AUXILIARIES or short or is_past(lower):
        return {}
    elif is_verb(lower) and not lower.endswith("ing"):
        base = base_form(lower)
        new = (look_up(base).third or lower) if other.third else base
    else:
        return None
    return {(word.start, word.end): cased_as(new, word)}


@perturbation("contradiction", "semantic", f"contradiction, {DEAM}")
def contradiction(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Add a contradiction of an earlier statement by its speaker: negated or by antonym."""
    places = list(range(len(conversation.turns) - 2))
    draw.shuffle(places)
    wanted = max(1, int(FEW_TURNS * len(places)))
    broken, changes = conversation, []
    for place in places:
        if change := _contradict(broken, conversation, place, draw):
            broken = with_texts(broken, {change.turns[0]: change.after})
            changes.append(change)
        if len(changes) == wanted:
            break
    return Perturbed(broken, tuple(changes)) if changes else None


def _contradict(
    broken: Conversation, conversation: Conversation, place: int, draw: Random
) -> Change | None:
    turn = conversation.turns[place]
    later = [
        i
        for i in range(place + 1, len(conversation.turns))
        if conversation.turns[i].speaker == turn.speaker
    ]
    texts = [turn.text[start:end] for start, end in sentences(turn.text)]
    draw.shuffle(texts)
    by_antonym = draw.random() < 0.5
    for indirect in (by_antonym, not by_antonym):
        for text in texts:
            other = opposite(text, draw) if indirect else negated(text)
            if other is not None and later:
                host = draw.choice(later)
                before = broken.turns[host].text
                what = f'says "{other}" after "{text}" in turn {place}'
                return Change("contradiction", (host,), what, before, _joined(before, other))
    return None


def opposite(sentence: str, draw: Random) -> str | None:
    """Return a statement with one word turned into its antonym; None if none has one."""
    context = () if sentence.endswith("?") else words(sentence)
    places = [i for i, word in enumerate(context) if word.kind and antonyms(word.lower, word.kind)]
    if not places:
        return None
    i = draw.choice(places)
    word = context[i]
    assert word.kind is not None
    other = draw.choice(antonyms(word.lower, word.kind))
    return replace(sentence, {(word.start, word.end): agreeing(other, context, i)})


def _joined(text: str, sentence: str) -> str:
    lead = text.rstrip()
    sentence = sentence[0].upper() + sentence[1:] if lead[-1:] in ".!?" else sentence
    stop = "" if sentence[-1] in ".!" else "."
    mark = "" if not lead or lead[-1] in ".!?,;:" else "."
    if mark:
        sentence = sentence[0].upper() + sentence[1:]
    return f"{lead}{mark} {sentence}{stop}".strip()


@perturbation("irrelevancy", "semantic", f"irrelevancy, {DEAM}")
def irrelevancy(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Replace words of a turn by words of the same kind from other turns."""
    texts = [turn.text for turn in conversation.turns]
    words_of = [words(text) for text in texts]
    return some_turns(
        conversation, draw, FEW_TURNS, lambda place: exchanged(texts, words_of, place, draw)
    )


def exchanged(
    texts: Sequence[str], words_of: Sequence[Sequence[Word]], place: int, draw: Random
) -> Change | None:
    """Replace words of one turn by words of the others; None if none can take another's place."""
    own = {(word.kind, base(word)) for word in words_of[place] if word.kind}
    pool: dict[tuple[str, str], list[str]] = {}
    for i, others in enumerate(words_of):
        for word in others:
            if i != place and word.kind and (word.kind, base(word)) not in own:
                bases = pool.setdefault(placeholder(word), [])
                if base(word) not in bases:
                    bases.append(base(word))
    able = [i for i, word in enumerate(words_of[place]) if word.kind and placeholder(word) in pool]
    if not able:
        return None
    chosen = draw.sample(able, max(1, int(REPLACED * len(able))))
    edits, pairs = {}, []
    for i in sorted(chosen):
        word = words_of[place][i]
        new = agreeing(draw.choice(pool[placeholder(word)]), words_of[place], i)
        edits[word.start, word.end] = new
        pairs.append(f"{word.text} to {new}")
    text = texts[place]
    return Change("irrelevancy", (place,), "; ".join(pairs), text, replace(text, edits))


def base(word: Word) -> str:
    """Return the lemma of a word that has a kind."""
    assert word.kind is not None
    return lemma(word.lower if word.kind != "name" else word.text, word.kind)


def placeholder(word: Word) -> tuple[str, str]:
    """Return what a word can take the place of: the same kind, and of verbs the same frame."""
    assert word.kind is not None
    return word.kind, word.frame if word.kind == "verb" else ""


PARTICLES = frozenset(["up", "out", "off", "on", "down", "over"])


@perturbation("decreased-engagement", "semantic", f"decreased engagement, {DEAM}")
def decreased_engagement(conversation: Conversation, draw: Random, _: Material) -> Perturbed | None:
    """Remove a question, the most detailed sentence and the rest, or a detail."""

    def change(place: int) -> Change | None:
        before = conversation.turns[place].text
        ways = list(_shorter(before))
        if not ways:
            return None
        what, after = draw.choice(ways)
        return Change("decreased-engagement", (place,), what, before, after)

    return some_turns(conversation, draw, MANY_TURNS, change)


def _shorter(text: str) -> Iterator[tuple[str, str]]:
    """Yield descriptions of possible removals, and the remaining text."""
    spans = sentences(text)
    if len(spans) == 1:
        yield from _detail(text)
        return
    questions = [(start, end) for start, end in spans if text[start:end].endswith("?")]
    if questions:
        start, end = questions[-1]
        left = f"{text[:start].rstrip()} {text[end:].lstrip()}".strip()
        yield f'question "{text[start:end]}" taken out', left
    if spans:
        longest = max(spans, key=lambda span: span[1] - span[0])
        start = longest[0] if longest != spans[0] else spans[1][0]
        yield f'"{text[start:]}" taken out', text[:start].rstrip()


def _detail(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentence without its last prepositional phrase."""
    context = words(text)
    for i in range(len(context) - 1, 2, -1):
        word, kind = context[i].lower, context[i - 1].kind
        if word in en.PREPOSITIONS - PARTICLES and kind in ("noun", "name", "adjective"):
            end = next(
                (other.start for other in context[i:] if not other.text.isalnum()), len(text)
            )
            if end - context[i].start > len(word) + 1:
                detail = text[context[i].start : end].rstrip()
                blank = " " if text[end : end + 1] not in {".", ",", "!", "?", ";"} else ""
                left = f"{text[: context[i - 1].end]}{blank}{text[end:]}".rstrip()
                yield f'"{detail}" taken out', left
            return
