"""Speed of commonsense with its evidence beside the shape of ACCENT's released pipeline.

    python bench/commonsense_speed.py [--replies 3]          needs the extra: train

The reference is what ACCENT (Ghazarian et al. 2023) runs for a reply: T5-base on twelve prompts in
one batch (10 beams, 22 new tokens), then BART-large on the five triples that are found on average
(10 beams, 8 new tokens). Its weights are not at hand and do not matter for the time: both models
have random ones in the published configurations, and write exactly as many tokens as those do.
Ours scores made-up replies one conversation after the other, each new, without kept answers.
The tails come from the stored or from the generative knowledge base; a row "fast" computes in
int8 (``grice score --mode fast``). Both sides use all cores.
Speeds are wall-clock, with the processor time beside for a machine that has other work; memory is
the peak of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from grice.models.embedded import Mode

TEXT = Path(__file__).parent.parent / "examples" / "charity.txt"
PROMPTS, TRIPLES, BEAMS = 12, 5, 10
PROMPT_TOKENS, QUERY_TOKENS = 100, 12
"""Pieces of a prompt with its history, and of a head with its relation."""
T5_TOKENS, BART_TOKENS = 22, 8
OURS: tuple[tuple[str, str, Mode], ...] = (
    ("calibrated", "bundle:atomic", "exact"),
    ("calibrated", "bundle:atomic", "fast"),
    ("cosine", "bundle:atomic", "exact"),
    ("calibrated", "bundle:comet", "exact"),
    ("cosine", "bundle:comet", "exact"),
    ("likelihood", "bundle:comet", "exact"),
)
"""What judges the triples, where known tails come from, and the engine's mode."""
WRITTEN = "bundle:comet"
"""Writes its tails, and so is given fewer replies."""


class Measured(NamedTuple):
    """What one side took."""

    replies: int
    seconds: float
    processor: float
    megabytes: float
    triples: float


class Figure(msgspec.Struct):
    """One figure as it is printed with ``--json``."""

    name: str
    value: float
    unit: str
    baseline: float
    ratio: float


def ours(count: int, scorer: str, knowledge: str, mode: Mode) -> Measured:
    from grice.metrics.commonsense import commonsense
    from grice.models.models import Models, default_workers
    from grice.records import Conversation, TripleEvidence, Turn
    from grice.scoring.loaded import load_metric

    models = Models(mode=mode, workers=default_workers(), cache=None)
    loaded = load_metric(commonsense, models, {"scorer": scorer, "knowledge": knowledge})
    talk = [
        Conversation(str(i), (Turn("A", before), Turn("B", reply)), (1,))
        for i, (before, reply) in enumerate(replies(count + 50))
    ]
    loaded.score(talk[:50])
    began, spent = time.perf_counter(), time.process_time()
    scores = [score for group in loaded.score(talk[50:]) for score in group]
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    triples = [
        piece for score in scores for piece in score.evidence if isinstance(piece, TripleEvidence)
    ]
    return Measured(len(scores), seconds, processor, peak(), len(triples) / len(scores))


def replies(count: int) -> list[tuple[str, str]]:
    """Return made-up exchanges of everyday clauses; nearly every clause is a new one."""
    draw = random.Random(0)
    words = sorted({word.strip(".,?!") for word in TEXT.read_text("utf-8").split()})
    nouns = [word for word in words if word.isalpha() and word.islower() and len(word) > 3]
    who = ["my sister", "my boss", "our neighbour", "a friend of mine", "my dad", "the teacher"]
    did = ["lost", "bought", "found", "broke", "forgot", "hid", "sold", "needed", "wanted", "liked"]
    felt = ["I was really happy", "I got angry", "I felt sorry", "I was so surprised"]

    def clause(person: str) -> str:
        return f"{person} {draw.choice(did)} the {draw.choice(nouns)} of the {draw.choice(nouns)}"

    return [
        (
            f"Did you hear that {clause(draw.choice(who))}?",
            f"Yes, {draw.choice(felt)} about it because {clause(draw.choice(who))}. "
            f"Then {clause('I')} and {clause('I')}.",
        )
        for _ in range(count)
    ]


def reference(count: int) -> Measured:
    import torch
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        T5Config,
        T5ForConditionalGeneration,
    )

    torch.manual_seed(0)
    extractor = T5ForConditionalGeneration(
        T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12, vocab_size=32128,
                 decoder_start_token_id=0)
    ).eval()  # fmt: skip
    comet = BartForConditionalGeneration(
        BartConfig(d_model=1024, encoder_layers=12, decoder_layers=12, encoder_attention_heads=16,
                   decoder_attention_heads=16, encoder_ffn_dim=4096, decoder_ffn_dim=4096)
    ).eval()  # fmt: skip

    def generate_once() -> None:
        with torch.no_grad():
            for model, rows, length, tokens in (
                (extractor, PROMPTS, PROMPT_TOKENS, T5_TOKENS),
                (comet, TRIPLES, QUERY_TOKENS, BART_TOKENS),
            ):
                prompts = torch.randint(5, 30_000, (rows, length))
                model.generate(
                    prompts, attention_mask=torch.ones_like(prompts), num_beams=BEAMS,
                    num_return_sequences=1 if model is extractor else BEAMS,
                    min_new_tokens=tokens, max_new_tokens=tokens, no_repeat_ngram_size=2,
                )  # fmt: skip

    began, spent = time.perf_counter(), time.process_time()
    for _ in range(count):
        generate_once()
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    return Measured(count, seconds, processor, peak(), TRIPLES)


def peak() -> float:
    """Return the most memory this process held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(work: Callable[..., Measured], *arguments: object) -> Measured:
    """Run in a fresh process, so that its peak of memory is its own."""
    context = multiprocessing.get_context("spawn")
    # Not a Pool: that waits for ever if the process runs out of memory and is killed.
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=3, help="of the reference; default 3")
    parser.add_argument("--ours", type=int, default=2000, help="of ours; default 2000")
    parser.add_argument("--written", type=int, default=400,
                        help="of ours where tails are written; default 400")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print a JSON object a figure")
    arguments = parser.parse_args()
    slow = alone(reference, arguments.replies)
    pace = slow.replies / slow.seconds
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    shown = []
    for scorer, knowledge, mode in OURS:
        count = arguments.written if knowledge == WRITTEN else arguments.ours
        fast = alone(ours, count, scorer, knowledge, mode)
        speed = fast.replies / fast.seconds
        name = f"{scorer}, {knowledge}" + (", fast" if mode == "fast" else "")
        shown.append(Figure(f"commonsense, {name}", speed, "replies/s", pace, speed / pace))
        cost, dear = fast.processor / fast.replies, slow.processor / slow.replies
        shown.append(Figure(f"processor time, {name}", cost, "s/reply", dear, cost / dear))
        shown.append(Figure(f"memory, {name}", fast.megabytes, "MiB", slow.megabytes,
                            fast.megabytes / slow.megabytes))  # fmt: skip
        if not arguments.json:
            print(
                f"{name}: {speed:.1f} replies/s with evidence ({fast.triples:.1f} triples each), "
                f"{1000 * cost:.0f} ms of processor time each, {fast.megabytes:.0f} MiB; reference "
                f"{1 / pace:.1f} s a reply, {dear:.1f} s of processor time, "
                f"{slow.megabytes:.0f} MiB; {speed / pace:,.0f} times as fast, "
                f"{dear / cost:,.0f} times by processor time; {cores} cores",
                flush=True,
            )
    if arguments.json:
        for figure in shown:
            print(json.dumps(msgspec.structs.asdict(figure)))


if __name__ == "__main__":
    main()
