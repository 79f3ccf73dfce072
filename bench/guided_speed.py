r"""What guidance and reranking cost beside the base model and beside scoring, in one run.

    grice models get medium
    grice train guide CONVERSATIONS -m relevance,engagement -o GUIDE
    python bench/guided_speed.py GUIDE CONVERSATIONS [--contexts 12] [--strength 4] [--replies 8]

Tokens per second of the base model (the likeliest token each time) and under the guide, and how
often the engine begins again behind a token that the guide prefers. Then the time in which
``rerank`` orders so many candidates of each context beside that in which the same replies are
scored, each as the end of a conversation of its own: the history is read once in both. Processor
time on one worker; rounds take turns, and the fastest of three counts. Nothing is kept between.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grice
from grice.models.models import Models
from grice.models.protocols import SteerableLM
from grice.records import Conversation, Turn
from grice_tasks.steering import rerank
from grice_tasks.steering.generate import END, chat_prompt
from grice_tasks.steering.guide import load_guide
from grice_tasks.steering.guided import GuidedChoice, likeliest
from grice_tasks.steering.rerank import FIELD
from grice_tasks.steering.samples import draw_contexts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.models.protocols import Vector
    from grice.models.stepwise import Chooser
    from grice_tasks.steering.guide import Guide

ROUNDS = 3
TOKENS = 40


class Counted:
    """A guided choice that counts where it leaves the base."""

    def __init__(self, guide: Guide, strength: float) -> None:
        self._choose = GuidedChoice(guide, strength)
        self.left = 0

    def __call__(self, logits: Vector, before: Sequence[int]) -> int:
        token = self._choose(logits, before)
        self.left += token != logits.argmax()
        return token


class Written(NamedTuple):
    """Tokens and the seconds that they took."""

    tokens: int
    seconds: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


def written(model: SteerableLM, prompts: Sequence[str], make: Callable[[], Chooser]) -> Written:
    """Return what one round took."""
    choosers = [make() for _ in prompts]
    started = time.process_time()
    texts = model.choose(prompts, choosers, stop=END, max_tokens=TOKENS)
    return Written(sum(text.tokens for text in texts), time.process_time() - started)


def seconds(metrics: Sequence[str], use: Callable[[grice.Grader], object]) -> float:
    """Return the time of a round with metrics that know nothing yet."""
    with grice.load(*metrics, workers=1, cache=None) as grader:
        grader.score(["Hello.", "Hi there."])  # opens the models
        started = time.process_time()
        use(grader)
        return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("guide", type=Path)
    parser.add_argument("conversations", type=Path)
    parser.add_argument("--model", default="model:medium")
    parser.add_argument("--contexts", type=int, default=12)
    parser.add_argument("--strength", type=float, default=4.0)
    parser.add_argument("--replies", type=int, default=8)
    given = parser.parse_args()
    drawn = draw_contexts(grice.read(given.conversations), seed=0)
    talks = (each for each in drawn if isinstance(each, Conversation))
    contexts = list(islice(talks, given.contexts))
    prompts = [chat_prompt(context.turns) for context in contexts]
    with Models(mode="fast", workers=1, cache=None) as models:
        model = models.open(given.model, SteerableLM)
        guide = load_guide(given.guide)
        guide.check(model)
        counted: list[Counted] = []

        def guided() -> Counted:
            counted.append(Counted(guide, given.strength))
            return counted[-1]

        written(model, prompts[:1], lambda: likeliest)
        rounds = [
            (written(model, prompts, lambda: likeliest), written(model, prompts, guided))
            for _ in range(ROUNDS)
        ]
        base, steered = (
            min(each, key=lambda run: run.seconds) for each in zip(*rounds, strict=True)
        )
        groups = model.alternatives(prompts, count=given.replies, stop=END, max_tokens=TOKENS)
    left = sum(each.left for each in counted) / ROUNDS
    print(f"base    {base.rate:6.1f} tokens a processor second ({base.tokens} tokens)")
    print(
        f"guided  {steered.rate:6.1f} tokens a processor second ({steered.tokens} tokens, "
        f"{left:.0f} of them other than the base's): {steered.rate / base.rate:.2f} of the base"
    )
    candidates = [[text.text for text in group] for group in groups]
    asked = [
        Conversation(context.id, context.turns, meta={FIELD: list(texts)})
        for context, texts in zip(contexts, candidates, strict=True)
    ]
    apart = [
        Conversation(f"{context.id} {place}", (*context.turns, Turn("?", text)),
                     (len(context.turns),))
        for context, texts in zip(contexts, candidates, strict=True)
        for place, text in enumerate(texts)
    ]  # fmt: skip
    for metrics in (["relevance"], ["relevance", "engagement"]):
        ranked, scored = map(
            min,
            zip(
                *(
                    (
                        seconds(metrics, lambda grader: list(rerank(asked, grader.scorer))),
                        seconds(metrics, lambda grader: list(grader.scorer.score(apart))),
                    )
                    for _ in range(ROUNDS)
                ),
                strict=True,
            ),
        )
        about = f"{' and '.join(metrics)}: {given.replies} candidates"
        ratio = ranked / scored
        print(f"{about} reranked in {ranked:.2f} s, scored in {scored:.2f} s: {ratio:.2f}")


if __name__ == "__main__":
    main()
