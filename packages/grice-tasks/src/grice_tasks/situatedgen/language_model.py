"""Contrasting sentences, and statements of questions, by a causal language model shown a few.

What it writes is held to the task: two sentences that hold every keyword; one sentence that holds
the answer, half of the question's words, and hardly a word that neither has. Where the likeliest
answer does not, further ones are looked at. Of pairs of sentences the one that lacks fewest
keywords is taken, and says what it lacks; a question without a valid statement gives none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.models.protocols import CausalGenerator
from grice.models.registry import Settings, model_kind
from grice_tasks.situatedgen.match import match_keywords
from grice_tasks.situatedgen.protocols import SituatedWriter, Written
from grice_tasks.situatedgen.records import Question, Statement, read_records, read_samples
from grice_tasks.situatedgen.words import noun_lemma, sentences, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grice.models.bundle import Bundle
    from grice.models.registry import Opener
    from grice_tasks.situatedgen.records import Sample

RETRIES = 3
"""Answers that are looked at where the first is not valid."""
LONGEST = 70
"""Tokens of two sentences."""
NEW = 0.25
"""Share of the words of a statement that may stand in neither question nor answer."""
YES, NO = "yes", "no"
ASKED = ("yes_no", "choice")
"""Forms of questions that need a statement; claims and facts are some."""
WORDS = "be is are was were do does did not no n't a an the in on at of to"
HELPING = frozenset(WORDS.split())
"""What turning a question round may bring in."""


NOTHING = Written("", ("keywords",), 0)


class LanguageSituatedSettings(Settings, frozen=True):
    """Of a bundle of kind ``language-model-situated``: the language model."""

    base: str


class Solved(msgspec.Struct, frozen=True):
    """A question with the statement it gives."""

    question: Question
    statement: str


class LanguageModelSituated:
    """A :class:`~grice_tasks.situatedgen.protocols.SituatedWriter`.

    Args:
        model: The language model.
        shown: Solved samples of keywords.
        solved: Questions with their statements.
        identity: Name and hash of the card.
    """

    def __init__(
        self,
        model: CausalGenerator,
        shown: Sequence[Sample],
        solved: Sequence[Solved],
        identity: str,
    ) -> None:
        self.identity = f"{identity}/{model.identity}"
        self._model = model
        self._shown = tuple(shown)
        self._solved = "".join(f"{_asked(each.question)} {each.statement}\n\n" for each in solved)

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[Written]:
        """Return two sentences for each list of keywords; see the protocol."""
        asked = [line for line in keywords if line]
        written = iter(write_valid_pairs(asked, self._model, shown=self._shown))
        return [next(written) if line else NOTHING for line in keywords]

    def statements(self, questions: Iterable[Question]) -> list[Statement]:
        """Return a statement for each question that gives a valid one; see the protocol.

        Claims hold as they are; a false one gives none.
        """
        given = list(questions)
        asked = [question for question in given if question.form in ASKED]
        written = iter(
            _write(
                list(map(_asked, asked)),
                self._model,
                self._solved,
                lambda place, text: _problems(text, asked[place]),
            )
        )
        texts = [
            next(written) if question.form in ASKED else _claim(question) for question in given
        ]
        return [
            Statement(question.id, text.text)
            for question, text in zip(given, texts, strict=True)
            if text.valid
        ]


def shown_prompt(keywords: Sequence[str], shown: Sequence[Sample]) -> str:
    """Return a few-shot prompt for a general language model.

    Args:
        keywords: The input.
        shown: Solved samples, such as five of the training split.
    """
    lines = [
        "Write two sentences that contrast: each is true of its own place or time and would be "
        "false with that of the other. Use every keyword once, each in one of the sentences.",
        "",
    ]
    for sample in shown:
        lines += [f"Keywords: {', '.join(sample.keywords)}", f"Sentences: {sample.reference}", ""]
    lines += [f"Keywords: {', '.join(keywords)}", "Sentences:"]
    return "\n".join(lines)


def write_valid_pairs(
    keywords: Sequence[Sequence[str]], model: CausalGenerator, *, shown: Sequence[Sample]
) -> list[Written]:
    """Return what a language model writes for each list of keywords.

    Args:
        keywords: The inputs.
        model: The language model.
        shown: Solved samples.
    """
    # What stands before the keywords is the same for all, and read once.
    before = shown_prompt([], shown).rpartition("Keywords: ")[0]
    asked = [shown_prompt(words, shown).removeprefix(before) for words in keywords]
    return _write(asked, model, before, lambda place, text: _lacking(text, keywords[place]))


def _write(
    asked: Sequence[str],
    model: CausalGenerator,
    before: str,
    problems: Callable[[int, str], tuple[str, ...]],
) -> list[Written]:
    """Return for each question the first answer without a problem, else the one with the fewest."""
    first = model.generate(asked, shown=before, max_tokens=LONGEST)
    refused = [
        place
        for place, answers in enumerate(first)
        if not answers or problems(place, answers[0].text)
    ]
    retried = model.generate(
        [asked[place] for place in refused], count=RETRIES, shown=before, max_tokens=LONGEST
    )
    further = dict(zip(refused, retried, strict=True))
    written = []
    for place, answers in enumerate(first):
        texts = [answer.text for answer in (*answers, *further.get(place, ()))] or [""]
        lacks = [problems(place, text) for text in texts]
        best = min(range(len(texts)), key=lambda answer: len(lacks[answer]))
        attempts = len(texts) if lacks[best] else best + 1
        written.append(Written(texts[best], lacks[best], attempts))
    return written


def _lacking(text: str, keywords: Sequence[str]) -> tuple[str, ...]:
    """Return which keywords a text lacks, and whether it is not two sentences."""
    # Whose sentence a keyword belongs to is not looked at.
    match = match_keywords(text, keywords, [0] * len(keywords))
    lacks = [f"the keyword {keyword!r}" for keyword in match.missing]
    if match.sentences != 2:
        lacks.append(f"two sentences: it has {match.sentences}")
    return tuple(lacks)


def _asked(question: Question) -> str:
    answer = question.answer
    said = answer if isinstance(answer, str) else YES if answer else NO
    return f"Question: {' '.join(question.question.split())}\nAnswer: {said}\nStatement:"


def _claim(question: Question) -> Written:
    text = question.question.strip()
    return Written(text, () if question.answer and text else ("truth",), 0)


def _problems(text: str, question: Question) -> tuple[str, ...]:
    """Return what a statement lacks: one sentence, the answer, words of what was asked."""
    answer = question.answer if isinstance(question.answer, str) else ""
    known = _lemmas(f"{question.question} {answer}") - HELPING
    stated = _lemmas(text)
    lost = [f"the answer's word {word!r}" for word in sorted(_lemmas(answer) - stated)]
    lacks = {
        "one sentence": len(sentences(text)) != 1 or "?" in text,
        "no foreign words": len(stated - known - HELPING) > NEW * len(stated),
        "half of the question's words": len(known & stated) < len(known) / 2,
    }
    return (*lost, *(what for what, lacking in lacks.items() if lacking))


def _lemmas(text: str) -> frozenset[str]:
    return frozenset(noun_lemma(word) for word in words(text) if word[:1].isalnum())


@model_kind(
    "language-model-situated",
    answers="contrasting sentences",
    protocol=SituatedWriter,
    settings=LanguageSituatedSettings,
)
def language_model_situated(
    bundle: Bundle, settings: LanguageSituatedSettings, opener: Opener
) -> LanguageModelSituated:
    """Open the language model with the examples of ``pairs.jsonl`` and ``questions.jsonl``."""
    model = opener.part(bundle, settings.base, CausalGenerator, "likelihood")
    shown = read_samples(bundle.path("pairs.jsonl"))
    solved = list(read_records(bundle.path("questions.jsonl"), Solved))
    return LanguageModelSituated(model, shown, solved, bundle.identity)
