"""Make the coherence bundle. Every step goes on where an interrupted run stopped.

python recipes/coherence/train.py samples --data ../shared/data
python recipes/coherence/train.py encode
python recipes/coherence/train.py fit        # three seeds
python recipes/coherence/train.py bundle
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

import torch
from card import make_bundle
from data import HELD_OUT_KINDS, TRAINED, broken, intact, rated
from fit import Material, fit
from vectors import VectorStore  # of recipes/relevance, on the path since data was imported

from grice.runtime.bundle import open_bundle
from grice.runtime.embedded import EmbeddedEncoder

WORK = Path(__file__).parent / "work"
RELEVANCE = Path(__file__).parents[1] / "relevance" / "work" / "vectors"
SEEDS = (0, 1, 2)


def samples(data: Path, most: int, workers: int) -> None:
    """Break the conversations and keep them with the rated ones."""
    whole = intact(data)[:most]
    train = [sample for sample in whole if not sample.held_out]
    held = [sample for sample in whole if sample.held_out]
    made = {
        "train": train,
        "held": held,
        "broken": broken(train, TRAINED, 100, workers),
        "held_broken": broken(held, (*HELD_OUT_KINDS, "deam"), 900, workers),
        "rated": list(rated(data)),
    }
    WORK.mkdir(exist_ok=True)
    (WORK / "samples.pickle").write_bytes(pickle.dumps(made))
    print({name: len(found) for name, found in made.items()})


def encode(part: int, of: int) -> None:
    """Encode every distinct turn that the relevance recipe has not encoded yet, or a part."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    texts = {text for found in made.values() for one in found for text in one.turns}
    missing = sorted(texts - VectorStore(RELEVANCE).index.keys())[part::of]
    store = VectorStore(WORK / f"vectors{part}")
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    store.add(missing, encoder)


def material() -> Material:
    """Return the samples with the vectors of their turns."""
    made = pickle.loads((WORK / "samples.pickle").read_bytes())
    stores = [VectorStore(folder) for folder in sorted(WORK.glob("vectors?"))]
    return Material.of(made, [VectorStore(RELEVANCE), *stores])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["samples", "encode", "fit", "bundle"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int, default=10**9, help="conversations, for a quick run")
    parser.add_argument("--workers", type=int, default=2, help="processes that break them")
    parser.add_argument("--part", type=int, default=0, help="which part to encode, from 0")
    parser.add_argument("--of", type=int, default=1, help="how many parts there are")
    parser.add_argument("--seed", type=int, choices=SEEDS, help="one of the three only")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.step == "samples":
        samples(arguments.data, arguments.most, arguments.workers)
    elif arguments.step == "encode":
        encode(arguments.part, arguments.of)
    elif arguments.step == "fit":
        given = material()
        for seed in SEEDS if arguments.seed is None else [arguments.seed]:
            fit(given, seed, WORK / f"seed{seed}.pt")
    else:
        make_bundle(material(), [WORK / f"seed{seed}.pt" for seed in SEEDS])


if __name__ == "__main__":
    main()
