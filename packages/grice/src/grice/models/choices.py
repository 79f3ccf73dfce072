"""Choices between texts by how likely a language model finds them.

The likelihood of an option also says how usual its words are. It is calibrated by the likelihood
of the same words after a neutral prompt (Zhao et al., ICML 2021; Holtzman et al., EMNLP 2021); or
the options stand in the prompt and the likelihood of one text after each is compared (the noisy
channel of Min et al., ACL 2022), where no word is more usual than another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.models.protocols import TextScorer


class Option(NamedTuple):
    """One of the texts to choose from.

    Attributes:
        neutral: A prompt that says nothing about the text, by which it is calibrated.
    """

    prompt: str
    text: str
    neutral: str | None = None


def option_scores(scorer: TextScorer, choices: Sequence[Sequence[Option]]) -> list[list[float]]:
    """Return for each option of each choice how likely it is, in nats a token.

    That is the mean log probability of its text after its prompt, less that after its neutral
    prompt where it has one. All options are read in one call.
    """
    options = [option for choice in choices for option in choice]
    calibrated = [option for option in options if option.neutral is not None]
    prompts = [option.prompt for option in options]
    prompts += [option.neutral or "" for option in calibrated]
    texts = [option.text for option in (*options, *calibrated)]
    values = scorer.log_probabilities(prompts, texts)
    usual = iter(values[len(options) :])
    scores = (
        value if option.neutral is None else value - next(usual)
        for option, value in zip(options, values[: len(options)], strict=True)
    )
    return [[next(scores) for _ in choice] for choice in choices]
