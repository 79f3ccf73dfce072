"""Writes a trained dialogue model as a folder that opens by path or ships.

python -m grice_research.recipes.dialogue.bundle --data ../shared/data [--run FOLDER]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from grice_research.recipes.common import parser_of, rows_of, update_card
from grice_research.recipes.dialogue.train import WORK, Utterances, code, read_utterances, shape_of
from grice_research.recipes.generator.bundle import write_engine
from grice_research.recipes.generator.model import TailModel
from grice_research.training_texts import record_texts

FILES = ("config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json", "usual.npy")
WEIGHED = WORK / "weighed.jsonl"


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
    quality = list(rows_of(WEIGHED)) if WEIGHED.exists() else ()  # figures of weigh.py
    held_out = [f"{len(corpus.validation):,} replies of held-out conversations"]
    update_card(out, "dialogue", files=FILES, quality=quality, selection=held_out)
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


if __name__ == "__main__":
    main()
