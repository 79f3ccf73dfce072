"""Encode the facts (``facts.py`` comes first): vectors of sentences and entities.

    python -m grice_research.recipes.situated.encode --glosses 6000 --workers 2

Of the facts from WordNet's glosses only so many are kept, drawn by chance: the others tell as
much, and the claims should not drown in them.
"""

from __future__ import annotations

import argparse
import json
import random
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice_research.places import work_folder

WORK = work_folder("situated")
BLOCK = 400


def encode(texts: list[str]) -> np.ndarray:
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    return np.stack(encoder.encode(texts)).astype(np.float16)


def encode_all(texts: list[str], *, workers: int) -> np.ndarray:
    """Return the vectors of texts, shape ``(n, dimensions)``, half precision."""
    parts = [texts[i : i + BLOCK] for i in range(0, len(texts), BLOCK)]
    with ProcessPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(encode, parts)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glosses", type=int, default=6000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in (WORK / "facts.jsonl").open(encoding="utf-8")]
    glosses = [row for row in rows if row[0].startswith("wordnet")]
    random.Random(0).shuffle(glosses)
    kept = [row for row in rows if not row[0].startswith("wordnet")]
    kept += glosses[: arguments.glosses]
    texts = list(dict.fromkeys(text for row in kept for text in row[1:3]))
    print(f"{len(kept):,} facts, {len(texts):,} texts", flush=True)
    vectors = dict(zip(texts, encode_all(texts, workers=arguments.workers), strict=True))
    (WORK / "kept.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    np.savez(
        WORK / "facts.npz",
        sentence=np.stack([vectors[row[1]] for row in kept]),
        entity=np.stack([vectors[row[2]] for row in kept]),
        kind=np.array([row[3] == "TEMP" for row in kept], np.int8),
    )
    print("done")


if __name__ == "__main__":
    main()
