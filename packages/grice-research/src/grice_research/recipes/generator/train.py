"""Trains the generator; ``bundle.py`` then writes and measures the model.

    python -m grice_research.recipes.generator.train [--data ../shared/data] [--seed 0]

First the encoder learns to give the sentence vectors of the shipped one, then all of it learns
tails, and at last goes on alone in small steps whose running mean is kept. A stopped run goes on
where it was.
"""

from __future__ import annotations

import json
import math
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from grice.knowledge.generative import NOTHING, plain_event
from grice.knowledge.schema import head_text, load_schema
from grice.models.folder import open_folder
from grice_research.places import work_folder
from grice_research.recipes.common import VectorStore, exact_encoder, parser_of
from grice_research.recipes.generator.data import (
    PERSONS,
    Coded,
    Head,
    Sheet,
    Step,
    code_heads,
    code_texts,
    make_tokenizer,
    material,
    padded,
    steps,
    text_batches,
)
from grice_research.recipes.generator.model import Shape, TailModel
from grice_research.recipes.plausibility.data import training_examples

VECTORS = work_folder("plausibility") / "vectors"
"""Sentence vectors of about 320,000 texts; the recipe of the plausibility heads keeps them."""
PIECES = 6500


class Prepared(NamedTuple):
    texts: list[list[int]]
    rows: np.ndarray
    training: list[Coded]
    validation: list[Coded]
    tokenizer: str


def prepare(data: Path) -> Prepared:
    """Read the corpora, encode what was not encoded yet, choose the vocabulary."""
    heads = material(data)
    print(f"{len(heads.training):,} heads, {len(heads.validation):,} held out; {heads.sources}")
    texts, rows = _teacher_texts(data, heads.training)
    teacher = Tokenizer.from_file(str(open_folder("encoder").file("tokenizer.json")))
    every = [*texts, *(tail for head in heads.training for _, tail in head.tails)]
    tokenizer = make_tokenizer(teacher, every, tuple(load_schema("atomic2020").relations), PIECES)
    shape = Shape(tokenizer.get_vocab_size())
    known = dict(zip(texts, rows.tolist(), strict=True))
    training, validation = (
        code_heads(
            tokenizer,
            part,
            [known.get(plain_event(head.text), -1) for head in part],
            source_length=shape.source_length,
            target_length=shape.target_length,
        )
        for part in (heads.training, heads.validation)
    )
    coded = code_texts(tokenizer, texts, shape.source_length)
    return Prepared(coded, rows, training, validation, tokenizer.to_str())


def _teacher_texts(data: Path, heads: tuple[Head, ...]) -> tuple[list[str], np.ndarray]:
    """Return texts, and the row of each one's vector."""
    examples, _ = training_examples(data)
    worded = {text: text for e in examples for text in (e.head, e.tail, e.event) if text}
    worded_heads = {plain_event(head.text): head_text(head.text) for head in heads}
    pairs = {**worded, **{text: asked for text, asked in worded_heads.items() if asked}}
    vectors = VectorStore(VECTORS)
    encoder = exact_encoder()
    vectors.add(pairs.values(), encoder)
    return list(pairs), vectors.ids(pairs.values())


WORK = work_folder("generator")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"  # the model ``encoder`` as it was published
DROPOUT = 0.0
WATCHED = 300  # Held-out heads that are looked at while it learns
THIRD = 10_000_000
"""Added to the seed of the third part, so that it draws other batches than the second."""
TEACHER_WEIGHT = 0.5  # weight of the teacher's vector beside the tails, in the second part


class Plan(NamedTuple):
    """How long and how fast the three parts learn.

    The second part was planned for 470 steps and halted at 400, its time being over; the pace of
    learning had then fallen to 0.43 of its highest. The third keeps one pace, so that it may end
    at any step: the mean of the weights takes the place of a falling pace.
    """

    first_steps: int = 1300
    first_size: int = 96
    first_rate: float = 1.5e-3
    second_steps: int = 470
    halted: int = 400
    second_size: int = 192
    second_rate: float = 2e-3
    warmup: int = 100
    falling: float = 0.35
    saved_every: int = 50
    third_steps: int = 1000
    third_rate: float = 6e-4
    kept: float = 0.998  # share of the mean of the weights that stays at a step of the third part


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    out = WORK / f"seed{arguments.seed}"
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    prepared = out / "prepared.pickle"
    if not prepared.exists():
        made = prepare(arguments.data)
        prepared.write_bytes(pickle.dumps(tuple(made)))
        (out / "tokenizer.json").write_text(made.tokenizer, "utf-8")
    read = Prepared(*pickle.loads(prepared.read_bytes()))
    tokenizer = Tokenizer.from_str(read.tokenizer)
    torch.manual_seed(arguments.seed)
    model = TailModel(Shape(tokenizer.get_vocab_size()), DROPOUT)
    if not (out / "first.pt").exists():
        start_pieces(model, tokenizer)
    table = VectorStore(VECTORS).matrix()
    learning = Learning(model, read, table, Plan(), arguments.seed, out)
    learning.vectors()
    learning.tails()
    torch.save(learning.more_tails().state_dict(), out / "model.pt")


def log(run: Path, **figures: float | str) -> None:
    """Print figures as a line of JSON, and append it to the log of a run."""
    rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}
    line = json.dumps(rounded)
    print(line, flush=True)
    with (run / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def start_pieces(model: TailModel, tokenizer: Tokenizer) -> None:
    """Start from the teacher's word pieces on their main axes, so that like words are alike."""
    from transformers import AutoModel, AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(MINILM).get_vocab()
    table = AutoModel.from_pretrained(MINILM).embeddings.word_embeddings.weight.detach()
    names = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    ours = [theirs.get("person" if name in PERSONS else name, -1) for name in names]
    known = torch.tensor([i for i, row in enumerate(ours) if row >= 0])
    rows = table[[row for row in ours if row >= 0]].double()
    rows = rows - rows.mean(0)
    _, _, axes = torch.linalg.svd(rows, full_matrices=False)
    short = (rows @ axes[: model.shape.width].T).float()
    with torch.no_grad():
        model.pieces.weight[known] = short * (0.05 / short.std())
        for name in PERSONS:  # alike, not the same
            noise = torch.randn(model.shape.width) * 0.02
            model.pieces.weight[tokenizer.token_to_id(name)] += noise


class State:
    """A run that can be stopped: model, optimiser, place, and a running mean of the weights."""

    def __init__(self, path: Path, model: TailModel, kept: float | None = None) -> None:
        self._path, self.model = path, model
        decayed = [p for p in model.parameters() if p.dim() > 1]
        other = [p for p in model.parameters() if p.dim() == 1]
        groups = [{"params": decayed, "weight_decay": 0.03}, {"params": other, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.98), fused=True)
        self.mean = kept and AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(kept))
        self.step = 0
        if path.exists():
            stored: dict[str, Any] = torch.load(path, weights_only=True)
            model.load_state_dict(stored["model"])
            self.optimiser.load_state_dict(stored["optimiser"])
            if self.mean:
                self.mean.load_state_dict(stored["mean"])
            self.step = int(stored["step"])
            print(f"goes on at step {self.step} of {path.name}")

    @property
    def watched(self) -> TailModel:
        """The model that is measured: that of the mean weights, if there is one."""
        return self.mean.module if self.mean else self.model

    def save(self) -> None:
        parts = {"model": self.model, "optimiser": self.optimiser, "mean": self.mean}
        kept = {name: part.state_dict() for name, part in parts.items() if part}
        torch.save({**kept, "step": self.step}, self._path.with_suffix(".new"))
        self._path.with_suffix(".new").replace(self._path)

    def update(self, loss: torch.Tensor, pace: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = pace
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        if self.mean:
            self.mean.update_parameters(self.model)


def pace(step: int, total: int, plan: Plan, highest: float) -> float:
    """Rise, stay, and fall over the last part; the end may be moved while it stays."""
    fall = (total - step) / (plan.falling * total)
    return highest * min(1.0, (step + 1) / plan.warmup, fall)


def epochs(
    make: Callable[[np.random.Generator], Iterable[Any]], seed: int, start: int
) -> Iterator[Any]:
    """Yield batches, epoch after epoch; the order depends on the seed alone."""
    every = (make(np.random.default_rng([seed, epoch])) for epoch in count())
    return islice(chain.from_iterable(every), start, None)


class Learning(NamedTuple):
    model: TailModel
    read: Prepared
    table: np.ndarray
    plan: Plan
    seed: int
    out: Path

    def vectors(self) -> None:
        """Teach the encoder the sentence vectors of the teacher."""
        plan, texts = self.plan, self.read.texts
        state = State(self.out / "first.pt", self.model)
        batches = epochs(
            lambda random: text_batches(texts, plan.first_size, random), self.seed, state.step
        )
        since, losses = time.time(), []
        self.model.train()
        while state.step < plan.first_steps:
            batch = next(batches)
            self._seed(state.step * 16)
            source = padded([texts[i] for i in batch], 0)
            asked = torch.from_numpy(self.table[self.read.rows[batch]].astype(np.float32))
            real = source != 0
            with torch.autocast("cpu", torch.bfloat16):
                made = self.model.sentence(self.model.encode(source, real), real)
            loss = 1 - (made * asked).sum(-1).mean()
            state.update(loss, pace(state.step, plan.first_steps, plan, plan.first_rate))
            losses.append(float(loss.detach()))
            if state.step % plan.saved_every == 0 or state.step == plan.first_steps:
                log(self.out, part="vectors", step=state.step, loss=float(np.mean(losses)),
                    seconds=time.time() - since)  # fmt: skip
                since, losses = time.time(), []
                state.save()

    def tails(self) -> None:
        plan = self.plan
        state = State(self.out / "second.pt", self.model)

        def rate(step: int) -> float:
            return pace(step, plan.second_steps, plan, plan.second_rate)

        last = min(plan.second_steps, plan.halted)
        self._steps("tails", state, 0, last, plan.saved_every, rate)

    def more_tails(self) -> TailModel:
        """Go on in small steps, and return the running mean of the weights."""
        plan = self.plan
        state = State(self.out / "third.pt", self.model, plan.kept)

        def rate(step: int) -> float:
            return plan.third_rate * min(1.0, (step + 1) / plan.warmup)

        self._steps("more tails", state, THIRD, plan.third_steps, plan.saved_every * 5, rate)
        return state.watched

    def _seed(self, number: int) -> None:
        torch.manual_seed(self.seed * 1_000_003 + number)

    def _steps(
        self, part: str, state: State, shift: int, last: int, every: int,
        rate: Callable[[int], float],
    ) -> None:  # fmt: skip
        """Learn tails step by step, and write the state every so many steps."""
        plan, nothing = self.plan, Tokenizer.from_str(self.read.tokenizer).token_to_id(NOTHING)
        batches = epochs(
            lambda random: steps(
                self.read.training, nothing=nothing, size=plan.second_size, random=random
            ),
            self.seed + shift,
            state.step,
        )
        since, losses, tails = time.time(), [], 0
        while state.step < last:
            step = next(batches)
            self.model.train()
            self._seed(shift + state.step if shift else state.step * 16)
            loss, value = step_loss(self.model, step, self.table)
            state.update(loss, rate(state.step))
            losses.append(value)
            tails += step.tails
            if state.step % every == 0 or state.step == last:
                seconds, watch = time.time() - since, self.read.validation[:WATCHED]
                held = held_out_loss(state.watched, watch, nothing)
                log(self.out, part=part, step=state.step, loss=float(np.mean(losses)),
                    held_out=held, perplexity=math.exp(held), seconds=seconds,
                    tails=tails)  # fmt: skip
                since, losses, tails = time.time(), [], 0
                state.save()


def step_loss(model: TailModel, step: Step, table: np.ndarray) -> tuple[torch.Tensor, float]:
    """Return what is minimised, and the mean negative log-likelihood of a piece alone."""
    pieces = sum(int((sheet.wanted >= 0).sum()) for sheet in step.sheets)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.encode(step.source, step.real)
        memory = model.memory(states)
        total = torch.zeros(())
        for sheet in step.sheets:
            total = total + sheet_loss(model, memory, step.real, sheet)
        taught = step.vectors >= 0
        made = model.sentence(states[taught], step.real[taught])
    asked = torch.from_numpy(table[step.vectors[taught].numpy()].astype(np.float32))
    apart = (1 - (made * asked).sum(-1)).mean() if len(asked) else torch.zeros(())
    loss = total / pieces
    return loss + TEACHER_WEIGHT * apart, float(loss.detach())


def sheet_loss(
    model: TailModel, memory: list[tuple[torch.Tensor, ...]], real: torch.Tensor, sheet: Sheet
) -> torch.Tensor:
    asked = sheet.wanted >= 0
    logits = model.decode(memory, real, sheet.rows, sheet.given, asked)
    return cross_entropy(logits.float(), sheet.wanted[asked], reduction="sum")


@torch.no_grad()
def held_out_loss(model: TailModel, heads: list[Coded], nothing: int) -> float:
    model.eval()
    total, pieces = 0.0, 0
    for step in steps(heads, nothing=nothing, size=512, random=None):
        with torch.autocast("cpu", torch.bfloat16):
            memory = model.memory(model.encode(step.source, step.real))
            for sheet in step.sheets:
                total += float(sheet_loss(model, memory, step.real, sheet))
                pieces += int((sheet.wanted >= 0).sum())
    return total / pieces


if __name__ == "__main__":
    main()
