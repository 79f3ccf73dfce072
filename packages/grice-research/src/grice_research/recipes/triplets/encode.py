"""Encodes every CIDER text and span once; states and vectors stay in ``work/``.

python -m grice_research.recipes.triplets.encode [--data ../shared/data]
"""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import numpy as np

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder, Hidden
from grice_research.places import work_folder
from grice_research.recipes.options import parser_of
from grice_tasks.cider.reading import read_texts

WORK = work_folder("triplets")
BLOCK = 64


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def main() -> None:
    parser = parser_of(__doc__)
    folder = parser.parse_args().data / "cider"
    WORK.mkdir(exist_ok=True)
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)

    def hidden(texts: list[str]) -> list[Hidden]:
        return [hidden_states for hidden_states, _ in encoder.hidden(texts)]

    dialogues = [json.loads(line) for line in _lines(folder / "dialogues.jsonl.gz")]
    texts = {
        dialogue["id"]: dialogue["context"] + (dialogue["appended"] or "")
        for dialogue in dialogues
        if dialogue["context"] is not None
    }
    states = {}
    names = list(texts)
    for start in range(0, len(names), BLOCK):
        part = names[start : start + BLOCK]
        for name, text_reading in zip(
            part, read_texts([texts[n] for n in part], hidden), strict=True
        ):
            states[name] = text_reading._replace(states=text_reading.states.astype(np.float16))
        print(start, len(names), flush=True)
    (WORK / "states.pkl").write_bytes(pickle.dumps(states))
    rows = [json.loads(line) for line in _lines(folder / "experiment.jsonl.gz")]
    spans = dict.fromkeys(row[side].strip() for row in rows for side in "ht")
    spans |= dict.fromkeys(option for row in rows for option in row.get("mcq") or ())
    listed = list(spans)
    vectors = encoder.encode(listed)
    stacked = np.stack(vectors).astype(np.float16)
    (WORK / "spans.pkl").write_bytes(pickle.dumps((listed, stacked)))
    print(len(listed), "spans")


if __name__ == "__main__":
    main()
