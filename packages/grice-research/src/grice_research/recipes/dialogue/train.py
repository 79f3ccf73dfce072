"""Learns the small model of what is said: replies given the turns before them, and given nothing.

    python -m grice_research.recipes.dialogue.train --data ../shared/data
    python -m grice_research.recipes.dialogue.train bundle --data ../shared/data

A stopped run goes on where it was; ``bundle`` writes the model to the folder ``bundle`` in it.
"""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

from grice.knowledge.generative import END_OF_TEXT, START
from grice.models.folder import open_folder
from grice_research.places import work_folder
from grice_research.recipes.common import parser_of, rows_of, update_card
from grice_research.recipes.generator.bundle import write_engine
from grice_research.recipes.generator.data import Sheet, make_tokenizer, padded
from grice_research.recipes.generator.model import Shape, TailModel
from grice_research.recipes.generator.train import State, log, pace, sheet_loss, start_pieces
from grice_research.recipes.relevance.corpora import (
    Dialogue,
    evaluated_texts,
    normalise,
    read_dialogues,
)
from grice_research.training_texts import record_texts

LAST, BEFORE = 28, 12  # words that are read of the end of the last turn, and of the turn before it
BETWEEN = " | "

SHARES = {"star": 0.4, "schema_guided": 0.4, "taskmaster4": 0.5, "irc": 0.4, "novels": 0.8,
          "magazines": 0.8, "plays": 0.5}  # fmt: skip
"""How much of a corpus is seen in one epoch, 1 for the others."""


class Utterance(NamedTuple):
    """A reply and what the model reads of the turns before it."""

    query: str
    reply: str
    corpus: str


def asked(history: Sequence[str]) -> str:
    """Return the end of the last turn, then the end of the turn before it.

    The last turn stands first, for the engine cuts long prompts at their end.
    """
    parts = [
        " ".join(text.split()[-words:])
        for text, words in zip(reversed(history), (LAST, BEFORE), strict=False)
    ]
    return BETWEEN.join(part for part in parts if part)


def read_utterances(data: Path) -> tuple[list[Utterance], list[Utterance]]:
    """Return every reply of a person that stands in no evaluated set; nor do its two turns.

    Those of held-out conversations come second.
    """
    evaluated = evaluated_texts(data)
    training: list[Utterance] = []
    validation: list[Utterance] = []
    for dialogue in read_dialogues(data):
        (validation if dialogue.held_out else training).extend(_utterances(dialogue, evaluated))
    return training, validation


def _utterances(dialogue: Dialogue, evaluated: set[str]) -> Iterator[Utterance]:
    seen = [normalise(turn) in evaluated for turn in dialogue.turns]
    for place in range(1, len(dialogue.turns)):
        if seen[place] or seen[place - 1] or not dialogue.by_person[place]:
            continue
        first = place - 2 if place > 1 and not seen[place - 2] else place - 1
        yield Utterance(asked(dialogue.turns[first:place]), dialogue.turns[place], dialogue.source)


WORK = work_folder("dialogue")
SEED, OUT = 0, WORK / "seed0"
WEIGHED = WORK / "weighed.jsonl"
FILES = ("config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json", "usual.npy")
PIECES = 5000
WITHOUT = 0.15  # share of the replies that are learned without the turns before them
WATCHED = 1200


class Plan(NamedTuple):
    """How long and how fast it learns; the running mean of the weights is what is kept."""

    steps: int = 7000
    size: int = 96
    rate: float = 2.5e-3
    warmup: int = 200
    falling: float = 0.5
    saved_every: int = 200
    kept: float = 0.995


class Rows(NamedTuple):
    """Pieces of queries and replies; a reply begins with the mark of a start."""

    queries: list[list[int]]
    replies: list[list[int]]
    corpora: np.ndarray


def shape_of(tokenizer: Tokenizer) -> Shape:
    return Shape(
        tokenizer.get_vocab_size(),
        width=192,
        heads=6,
        inner=768,
        encoder_layers=1,
        decoder_layers=2,
        source_length=48,
        target_length=41,
    )


def code(tokenizer: Tokenizer, utterances: Sequence[Utterance], shape: Shape) -> Rows:
    """Return texts as numbers of pieces; what is too long has no end."""
    start, end = tokenizer.token_to_id(START), tokenizer.token_to_id(END_OF_TEXT)
    queries = tokenizer.encode_batch([utterance.query for utterance in utterances])
    replies = tokenizer.encode_batch([utterance.reply for utterance in utterances])
    return Rows(
        [[*text.ids[: shape.source_length - 1], end] for text in queries],
        [[start, *text.ids, end][: shape.target_length] for text in replies],
        np.array([SHARES.get(utterance.corpus, 1.0) for utterance in utterances]),
    )


def batches(rows: Rows, size: int, seed: int, start: int) -> Iterator[np.ndarray]:
    """Yield rows of like length, epoch after epoch, of each corpus its share."""
    lengths = np.array([len(reply) for reply in rows.replies])
    passed, epoch = 0, 0
    while True:
        random = np.random.default_rng([seed, epoch])
        used = np.flatnonzero(random.random(len(lengths)) < rows.corpora)
        used = used[np.argsort(lengths[used] + 3 * random.random(len(used)), kind="stable")]
        parts = np.array_split(used, len(used) // size)
        for i in random.permutation(len(parts)):
            if passed >= start:
                yield parts[i]
            passed += 1
        epoch += 1


def loss_of(model: TailModel, rows: Rows, chosen: Sequence[int], hidden: np.ndarray) -> tuple:
    """Return the summed loss and the count of pieces; of hidden queries the end alone is read."""
    queries = [rows.queries[i][-1:] if h else rows.queries[i]
               for i, h in zip(chosen, hidden, strict=True)]  # fmt: skip
    source, given = padded(queries, 0), padded([rows.replies[i][:-1] for i in chosen], 0)
    wanted = padded([rows.replies[i][1:] for i in chosen], -100)
    replies = Sheet(torch.arange(len(chosen)), given, wanted)
    real = source != 0
    with torch.autocast("cpu", torch.bfloat16):
        memory = model.memory(model.encode(source, real))
        total = sheet_loss(model, memory, real, replies)
    return total, int((wanted >= 0).sum())


@torch.no_grad()
def held_out(model: TailModel, rows: Rows, *, hidden: bool) -> float:
    """Return the mean loss of a piece on held-out replies."""
    model.eval()
    total, pieces = 0.0, 0
    order = np.argsort([len(reply) for reply in rows.replies], kind="stable")
    for part in np.array_split(order, len(order) // 100 + 1):
        loss, count = loss_of(model, rows, part, np.full(len(part), hidden))
        total, pieces = total + float(loss), pieces + count
    return total / pieces


def learn(model: TailModel, training: Rows, watched: Rows, plan: Plan) -> None:
    state = State(OUT / "state.pt", model, plan.kept)
    since, losses, seen = time.time(), [], 0
    for chosen in batches(training, plan.size, SEED, state.step):
        if state.step >= plan.steps:
            break
        model.train()
        random = np.random.default_rng([SEED, 7, state.step])
        loss, pieces = loss_of(model, training, chosen, random.random(len(chosen)) < WITHOUT)
        state.update(loss / pieces, pace(state.step, plan.steps, plan, plan.rate))
        losses.append(float(loss.detach()) / pieces)
        seen += pieces
        if state.step % plan.saved_every == 0 or state.step == plan.steps:
            given, alone = (held_out(state.watched, watched, hidden=h) for h in (False, True))
            log(OUT, step=state.step, loss=float(np.mean(losses)), given=math.exp(given),
                alone=math.exp(alone), seconds=time.time() - since, pieces=seen)  # fmt: skip
            since, losses, seen = time.time(), [], 0
            state.save()
            torch.save(state.watched.state_dict(), OUT / "model.pt")


def train(options: Namespace) -> None:
    learned, held = read_utterances(options.data)
    tokenizer = _tokenizer([utterance.reply for utterance in learned])
    tokenizer.save(str(OUT / "tokenizer.json"))
    shape = shape_of(tokenizer)
    torch.manual_seed(SEED)
    model = TailModel(shape, 0.0)
    if not (OUT / "state.pt").exists():
        start_pieces(model, tokenizer)
    some = np.random.default_rng(0).permutation(len(held))[:WATCHED]
    training = code(tokenizer, learned, shape)
    watched = code(tokenizer, [held[i] for i in some], shape)
    print(f"{len(learned):,} replies, {len(held):,} held out", flush=True)
    learn(model, training, watched, Plan())


def _tokenizer(texts: list[str]) -> Tokenizer:
    kept = OUT / "tokenizer.json"
    if kept.exists():
        return Tokenizer.from_file(str(kept))
    teacher = Tokenizer.from_file(str(open_folder("encoder").file("tokenizer.json")))
    return make_tokenizer(teacher, texts, (), PIECES)


def bundle(options: Namespace) -> None:
    """Write the trained model as a folder that opens by path or ships."""
    out = options.to
    tokenizer = Tokenizer.from_file(str(OUT / "tokenizer.json"))
    model = TailModel(shape_of(tokenizer), 0.0)
    model.load_state_dict(torch.load(OUT / "model.pt", weights_only=True))
    write_engine(model, tokenizer, out)
    learned, held = read_utterances(options.data)
    np.save(out / "usual.npy", usual(tokenizer, learned))
    quality = list(rows_of(WEIGHED)) if WEIGHED.exists() else ()  # figures of weigh.py
    selection = [f"{len(held):,} replies of held-out conversations"]
    update_card(out, "dialogue", files=FILES, quality=quality, selection=selection)
    record_texts(out, (text for utterance in (*learned, *held)
                       for text in (*utterance.query.split(" | "), utterance.reply)))  # fmt: skip


def usual(tokenizer: Tokenizer, learned: list[Utterance]) -> np.ndarray:
    """Return the log share of each piece in the replies that are learned, their ends included."""
    rows = code(tokenizer, learned, shape_of(tokenizer))
    counts = np.full(tokenizer.get_vocab_size(), 0.5)
    for reply, share in zip(rows.replies, rows.corpora.tolist(), strict=True):
        np.add.at(counts, reply[1:], share)
    return np.log(counts / counts.sum()).astype(np.float16)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", nargs="?", choices=("train", "bundle"), default="train")
    parser.add_argument("--to", type=Path, default=OUT / "bundle", help="of bundle: the folder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    (bundle if options.step == "bundle" else train)(options)


if __name__ == "__main__":
    main()
