"""Train a small encoder-decoder to write two sentences from keywords, and score it.

    python -m grice_research.recipes.situated.benchmark --data ../shared/data --output DIR
    python -m grice_research.recipes.situated.write --pairs DIR --data ../shared/data --minutes 15
    python -m grice_research.recipes.situated.write --data ../shared/data --evaluate

The published recipe at the size of a laptop's quarter of an hour: keywords joined by commas, both
orders of the sentences as targets, the checkpoint with the highest ROUGE-2 on held-out pairs. The
network is that of ``recipes/generator`` and starts from its weights where ``--start`` names them.
Single sentences come first: those of the pairs and CommonGen's training part. Pairs with a text
that SituatedGen's dev or test derives from are left out. Nothing of it ships.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from grice.knowledge.generative import END_OF_TEXT, NOTHING, START
from grice.models.bundle import open_bundle
from grice.models.models import Models
from grice.models.protocols import Generated
from grice_research.benches._situatedgen import entities_in, with_entities
from grice_research.places import work_folder
from grice_research.recipes.generator.batches import padded
from grice_research.recipes.generator.model import Shape, TailModel
from grice_research.recipes.generator.pieces import make_tokenizer
from grice_research.recipes.situated.corpora import evaluated, normalise
from grice_research.situated.writing import choose_checkpoint, write_pairs
from grice_tasks.situatedgen.examples import TextPair, prompt, training_pairs
from grice_tasks.situatedgen.records import Sample, read_samples
from grice_tasks.situatedgen.scores import score_outputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_tasks.situatedgen.models import ContrastModels

WORK = work_folder("situated")
PIECES, LONGEST, BATCH, RATE, OFTEN, HELD = 6500, 64, 48, 1e-3, 12, 120
COMMON = 12_000
"""Sentences of CommonGen that are learned from first."""


class Writer:
    """The network as a generator: one text for each prompt, the most probable piece by piece."""

    identity = "recipes.situated.write"

    def __init__(self, network: TailModel, tokenizer: Tokenizer) -> None:
        self.network, self.tokenizer = network, tokenizer

    def generate(self, prompts: Sequence[str], *, count: int) -> list[tuple[Generated, ...]]:
        """Return one text per prompt; there is no second."""
        assert count == 1
        answers: list[tuple[Generated, ...]] = []
        self.network.eval()
        with torch.no_grad():
            for begin in range(0, len(prompts), BATCH):
                answers += self._answer(prompts[begin : begin + BATCH])
        self.network.train()
        return answers

    def _answer(self, prompts: Sequence[str]) -> list[tuple[Generated, ...]]:
        nothing, start, end = (
            self.tokenizer.token_to_id(name) for name in (NOTHING, START, END_OF_TEXT)
        )
        source = padded(coded(self.tokenizer, prompts, self.network.shape.source_length), nothing)
        real = source != nothing
        memory = self.network.memory(self.network.encode(source, real))
        lines = torch.arange(len(prompts))
        written = torch.full((len(prompts), 1), start)
        total = torch.zeros(len(prompts))
        open_ones = torch.ones(len(prompts), dtype=torch.bool)
        while written.shape[1] < LONGEST and open_ones.any():
            asked = torch.zeros(written.shape, dtype=torch.bool)
            asked[:, -1] = True
            logits = self.network.decode(memory, real, lines, written, asked).float()
            best = logits.log_softmax(-1).max(-1)
            total += torch.where(open_ones, best.values, 0.0)
            written = torch.cat([written, torch.where(open_ones, best.indices, end)[:, None]], 1)
            open_ones &= best.indices != end
        answers = []
        for line, value in zip(written[:, 1:].tolist(), total.tolist(), strict=True):
            kept = line[: line.index(end)] if end in line else line
            text = self.tokenizer.decode(kept).strip()
            answers.append((Generated(text, value / (len(kept) + 1)),))
        return answers


def coded(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    end = tokenizer.token_to_id(END_OF_TEXT)
    return [[*encoding.ids[: longest - 1], end] for encoding in tokenizer.encode_batch(list(texts))]


def thinned(samples: Sequence[Sample], texts: set[str]) -> list[Sample]:
    """Return the samples without evaluated texts, none of whose statements comes too often."""
    seen: Counter[str] = Counter()
    kept = []
    for sample in random.Random(0).sample(list(samples), len(samples)):
        if any(normalise(text) in texts for text in sample.statements):
            continue
        if max(seen[text] for text in sample.statements) < OFTEN:
            seen.update(sample.statements)
            kept.append(sample)
    return kept


def singles(samples: Sequence[Sample], data: Path) -> list[TextPair]:
    """Return single sentences with their keywords."""
    rng = random.Random(0)
    by_text = {}
    for sample in samples:
        for side, text in enumerate(sample.statements):
            places = zip(sample.keywords, sample.keywords_pos, strict=True)
            by_text[text] = TextPair(
                prompt([word for word, place in places if place == side]), text
            )
    common = []
    for line in rows_of_commongen(data):
        words = line[1].split()
        rng.shuffle(words)
        common.append(TextPair(prompt(words), line[2].strip()))
    return [*by_text.values(), *rng.sample(common, COMMON)]


def rows_of_commongen(data: Path) -> Iterator[list[str]]:
    import gzip

    with gzip.open(data / "commongen/commongen.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "train":
                yield fields


def started(tokenizer: Tokenizer, start: Path | None) -> TailModel:
    """Return the network, with the weights of another one of its kind where they fit."""
    shape = Shape(pieces=tokenizer.get_vocab_size(), source_length=LONGEST, target_length=LONGEST)
    network = TailModel(shape, dropout=0.1)
    if start is not None:
        given = torch.load(start, weights_only=False, map_location="cpu")
        given = given.get("model", given)
        own = network.state_dict()
        for name, value in own.items():
            other = given.get(name, given.get(f"module.{name}"))
            if other is not None and other.shape[1:] == value.shape[1:]:
                value[: len(other)] = other[: len(value)]
        network.load_state_dict(own)
    return network


def epochs(
    writer: Writer, parts: Sequence[tuple[str, list[TextPair]]], minutes: float
) -> Iterator[tuple[str, Writer]]:
    """Learn one part after the other, again and again the last, and give the state after each."""
    network, tokenizer = writer.network, writer.tokenizer
    nothing, start = (tokenizer.token_to_id(name) for name in (NOTHING, START))
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    begun, number = time.process_time(), 0
    while time.process_time() - begun < 60 * minutes:
        name, pairs = parts[min(number, len(parts) - 1)]
        random.Random(number).shuffle(pairs)
        total, count = 0.0, 0
        for begin in range(0, len(pairs), BATCH):
            if time.process_time() - begun > 60 * minutes:
                break
            some = pairs[begin : begin + BATCH]
            source = padded(
                coded(tokenizer, [text_pair.source for text_pair in some], LONGEST), nothing
            )
            target = padded(
                coded(tokenizer, [text_pair.target for text_pair in some], LONGEST), nothing
            )
            given = torch.cat([torch.full((len(some), 1), start), target[:, :-1]], 1)
            with torch.autocast("cpu", torch.bfloat16):
                real = source != nothing
                memory = network.memory(network.encode(source, real))
                asked = target != nothing
                logits = network.decode(memory, real, torch.arange(len(some)), given, asked)
            loss = cross_entropy(logits.float(), target[asked])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            done = (time.process_time() - begun) / (60 * minutes)
            optimiser.param_groups[0]["lr"] = RATE * min(1.0, max(0.05, 2 - 2 * done))
            optimiser.step()
            total, count = total + loss.item(), count + 1
        number += 1
        minute = (time.process_time() - begun) / 60
        print(f"{number} {name}: loss {total / max(1, count):.3f}, minute {minute:.1f}", flush=True)
        yield f"{number} {name}", writer


def train(arguments: argparse.Namespace) -> None:
    _, texts = evaluated(arguments.data)
    samples = thinned(read_samples(arguments.pairs / "train.jsonl"), texts)
    held = thinned(read_samples(arguments.pairs / "dev.jsonl"), texts)[:HELD]
    first, second = singles(samples, arguments.data), training_pairs(samples)
    print(f"{len(first):,} sentences, {len(second):,} pairs, {len(held)} held out", flush=True)
    if arguments.start is not None:
        tokenizer = Tokenizer.from_file(str(arguments.start.parent / "tokenizer.json"))
    else:
        teacher = Tokenizer.from_file(str(open_bundle("encoder").path("tokenizer.json")))
        tokenizer = make_tokenizer(teacher, [t for p in first + second for t in p], (), PIECES)
    writer = Writer(started(tokenizer, arguments.start), tokenizer)
    tokenizer.save(str(WORK / "writer.json"))
    best = -1.0

    def saved() -> Iterator[tuple[str, Writer]]:
        nonlocal best
        for name, now in epochs(writer, [("sentences", first), ("pairs", second)],
                                arguments.minutes):  # fmt: skip
            rouge = choose_checkpoint([(name, now)], held).rouge_2
            print(f"  ROUGE-2 of {len(held)}: {rouge:.4f}", flush=True)
            if rouge > best:
                best = rouge
                torch.save(now.network.state_dict(), WORK / "writer.pt")
            yield name, now

    for _ in saved():
        pass
    print(f"kept {best:.4f}")


def evaluate(data: Path, every: int) -> None:
    """Print the row of the released test set, or of each so-many-th pair, and five outputs."""
    tokenizer = Tokenizer.from_file(str(WORK / "writer.json"))
    network = started(tokenizer, None)
    network.load_state_dict(torch.load(WORK / "writer.pt", weights_only=True))
    folder = data / "situatedgen"
    known = entities_in(folder)
    samples = [with_entities(each, known) for each in read_samples(folder / "test.jsonl.gz")]
    samples = samples[::every]
    texts = write_pairs([each.keywords for each in samples], Writer(network, tokenizer))
    models = Models(mode="exact", workers=1, cache=None)
    judge = cast("ContrastModels", models.open("bundle:situated")).judge
    judgements = judge.judge_outputs(samples, texts)
    outputs = {each.id: text for each, text in zip(samples, texts, strict=True)}
    extra = {"plausibility": [judged.plausibility for judged in judgements]}
    for row in score_outputs(samples, outputs, name="keyword-to-text", extra=extra):
        for measure, estimate in row.measures.items():
            print(json.dumps({"row": row.name, "on": row.context, "measure": measure,
                              "value": round(estimate.value, 4), "low": round(estimate.low, 4),
                              "high": round(estimate.high, 4), "n": estimate.n}))  # fmt: skip
    for sample in samples[:: len(samples) // 5]:
        print(", ".join(sample.keywords), "->", outputs[sample.id])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, help="what benchmark.py wrote")
    parser.add_argument("--minutes", type=float, default=15, help="processor time to learn in")
    parser.add_argument("--start", type=Path, help="weights of recipes/generator to start from")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="score each so-many-th test pair")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if arguments.evaluate:
        evaluate(arguments.data, arguments.every)
    else:
        train(arguments)


if __name__ == "__main__":
    main()
