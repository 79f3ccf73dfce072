"""Writes a trained dialogue model as a folder that opens by path or ships.

python -m grice_research.recipes.dialogue.bundle --data ../shared/data [--run FOLDER]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from grice.knowledge.generative import START
from grice.models.folder import write_card
from grice_research.recipes.common import parser_of
from grice_research.recipes.dialogue.train import WORK, Utterances, code, read_utterances, shape_of
from grice_research.recipes.generator.bundle import write_engine
from grice_research.recipes.generator.model import TailModel
from grice_research.recipes.relevance.corpora import EVALUATED, SOURCES
from grice_research.training_texts import record_texts

FILES = ("config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json", "usual.npy")
WEIGHED = WORK / "weighed.jsonl"
COMMAND = "python -m grice_research.recipes.dialogue.train --data ../shared/data"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--run", type=Path, default=WORK / "seed0")
    parser.add_argument("--out", type=Path, help="the folder; inside that of the run without it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    out = options.out or options.run / "bundle"
    tokenizer = Tokenizer.from_file(str(options.run / "tokenizer.json"))
    model = TailModel(shape_of(tokenizer), 0.0)
    model.load_state_dict(torch.load(options.run / "model.pt", weights_only=True))
    write_engine(model, tokenizer, out)
    corpus = read_utterances(options.data)
    np.save(out / "usual.npy", usual(tokenizer, corpus))
    describe(out, corpus)
    record_texts(out, (text for utterance in (*corpus.training, *corpus.validation)
                       for text in (*utterance.query.split(" | "), utterance.reply)))  # fmt: skip
    for path in sorted(out.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


def usual(tokenizer: Tokenizer, corpus: Utterances) -> np.ndarray:
    """Return the log share of each piece in the replies that are learned, their ends included."""
    rows = code(tokenizer, corpus.training, shape_of(tokenizer))
    counts = np.full(tokenizer.get_vocab_size(), 0.5)
    for reply, share in zip(rows.replies, rows.corpora.tolist(), strict=True):
        np.add.at(counts, reply[1:], share)
    return np.log(counts / counts.sum()).astype(np.float16)


def describe(out: Path, corpus: Utterances) -> None:
    """Write the card beside the files, whose sums it states."""
    licences = {source.name: source.licence for source in SOURCES}
    facts = {
        "name": "dialogue",
        "kind": "generator",
        "version": "1",
        "summary": "What people say after what was said: likelihoods of replies.",
        "licence": "Apache-2.0",
        "inputs": "prompt: the last turn, then | and the turn before it; text: the reply",
        "outputs": "mean log probability of a word piece, at most 0; begin every reply with <s>",
    }
    training = {
        "data": [f"{name} ({licence})" for name, licence in licences.items()],
        "selection": [f"{len(corpus.validation):,} replies of held-out conversations"],
        "excluded": (
            "replies that stand, or whose turn before stands, in an evaluated set: "
            + ", ".join(EVALUATED)
        ),
        "command": COMMAND,
        "seeds": [0],
    }
    shape = shape_of(Tokenizer.from_file(str(out / "tokenizer.json")))
    settings = {
        # In int8 a text's bits do not depend on its neighbours in the batch.
        "arithmetic": "int8",
        "begin": START,
        "max_tokens": 32,
        "max_prompt_tokens": shape.source_length,
        "max_scored_tokens": shape.target_length - 2,
    }
    write_card(out, facts, training, settings, _quality(), files=FILES)


def _quality() -> Iterator[dict[str, object]]:
    """Yield the figures of ``weigh.py``, if it has run."""
    if WEIGHED.exists():
        yield from map(json.loads, WEIGHED.read_text("utf-8").splitlines())


if __name__ == "__main__":
    main()
