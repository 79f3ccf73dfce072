"""Make the relevance bundle. Every step goes on where an interrupted run stopped."""

from __future__ import annotations

import argparse
import json
import shutil
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from babble import babble
from card import FILES, write_card
from corpora import EVALUATED, RESEARCH, SOURCES, evaluated_texts, normalise, read_dialogues
from examples import Mix, collect, texts_of
from fit import Fitted, Material, Settings, fit
from towers import Towers, TowerSettings, fit_towers, layers_of
from vectors import VectorStore

from grice.evaluation.trained import record_texts
from grice.runtime.bundle import open_bundle, shipped_bundles
from grice.runtime.embedded import EmbeddedEncoder
from grice.runtime.heads import Mlp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corpora import Dialogue

WORK = Path(__file__).parent / "work"
SEEDS = (0, 1, 2)
CORPORA = tuple(dict.fromkeys(source.name for source in (*SOURCES, *RESEARCH)))
BABBLED = {"train": 24_000, "valid": 3_000}
WEIGHTS = {"star": 0.5, "schema_guided": 0.5, "taskmaster4": 0.5, "irc": 0.7}
"""How often a reply of a corpus is drawn, relative to 1 for the others."""

TOWERS = TowerSettings()
CHOSEN = Settings(mix=Mix(other_corpus=0.1, same_conversation=0.1), rated=128)
VARIANTS = {
    "chosen": CHOSEN,
    "unrated": CHOSEN._replace(rated=0),
    "more_rated": CHOSEN._replace(rated=192),
    "random": CHOSEN._replace(mix=Mix()),
    "other_corpus": CHOSEN._replace(mix=Mix(other_corpus=0.5)),
    "same_conversation": CHOSEN._replace(mix=Mix(other_corpus=0.1, same_conversation=0.3)),
    "near_history": CHOSEN._replace(mix=Mix(other_corpus=0.1, near_history=0.15)),
    "babbled": CHOSEN._replace(babbled=0.2),
    "more_babbled": CHOSEN._replace(babbled=0.4),
    "near_reply": CHOSEN._replace(mix=Mix(other_corpus=0.1, near_reply=0.15)),
}

SETTINGS = {"decay": TOWERS.decay}
FACTS = {
    "name": "relevance",
    "kind": "pair-head",
    "version": "1",
    "summary": "Does a response fit what was said before it? A small network on frozen vectors.",
    "licence": "Apache-2.0",
    "encoder": "encoder",
    "inputs": "left: up to 4 turns of history, oldest first; right: the response",
    "outputs": (
        "probability, 0 to 1, that the response is the true reply and no random one; 0.5 is "
        "where, on held-out conversations, true replies and random replies of the same corpus "
        "are equally likely (logistic scale and shift fitted there)"
    ),
}
SELECTION = [
    "6 % of the conversations of each corpus, held out: true against random replies",
    "30 % of the conversations of convai2017, held out: messages people called good or bad",
    "the kinds of false replies and the weight of the rated messages: the two areas under the "
    "curve of one seed, and that of true against other replies of the same conversation",
    "shipped seed: the largest sum of the first two areas",
]
COMMAND = "python recipes/relevance/train.py STEP --data ../shared/data"
EVALUATE = (
    "python recipes/relevance/evaluate.py --data ../shared/data src/grice/data/bundles/relevance"
)


def encode(data: Path, *, research: bool = False) -> None:
    """Encode every distinct text that may train."""
    encoder = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    evaluated = evaluated_texts(data)
    store = VectorStore(WORK / "vectors")
    texts = texts_of(read_dialogues(data, research=research), evaluated)
    if not research:
        everything = texts_of(read_dialogues(data), set())
        _write_exclusion(len(evaluated), len(everything) - len(texts), len(texts))
    store.add(texts, encoder)
    store.add(set(chain(*_babbled(list(read_dialogues(data)), evaluated).values())), encoder)


def _babbled(dialogues: list[Dialogue], excluded: set[str]) -> dict[str, list[str]]:
    """Return replies that lose their thread, made of training and of held-out conversations."""
    said: dict[str, list[str]] = {"train": [], "valid": []}
    for dialogue in dialogues:
        part = said["valid" if dialogue.held_out else "train"]
        turns = zip(dialogue.turns, dialogue.by_person, strict=True)
        part += [text for text, by_person in turns if by_person and normalise(text) not in excluded]
    return {name: babble(texts, BABBLED[name], seed=0) for name, texts in said.items()}


def _write_exclusion(evaluated: int, dropped: int, kept: int) -> None:
    text = (
        f"{dropped:,} distinct training texts stand (letters and digits in lower case) among the "
        f"{evaluated:,} strings of the evaluated sets ({', '.join(EVALUATED)}); none is a reply or "
        "in a history. "
        f"{kept:,} distinct texts are left."
    )
    (WORK / "excluded.json").write_text(json.dumps({"text": text}))


def material(data: Path, *, research: bool = False) -> Material:
    """Read the encoded conversations as examples."""
    store = VectorStore(WORK / "vectors")
    dialogues = list(read_dialogues(data, research=research))
    evaluated = evaluated_texts(data)
    allowed = texts_of(dialogues, evaluated)  # the store may be of an earlier run
    plain_only = [one for one in dialogues if one.source not in {s.name for s in RESEARCH}]
    lost = _babbled(plain_only, evaluated)
    index = {text: place for text, place in store.index.items() if text in allowed}
    plain, rated = collect(dialogues, index, CORPORA)
    train = plain.where(~plain.held_out)
    weights = np.array([WEIGHTS.get(name, 1.0) for name in CORPORA])[train.corpus]
    return Material(
        store.matrix(),
        train,
        weights / weights.sum(),
        plain.where(plain.held_out),
        rated.where(~rated.held_out),
        rated.where(rated.held_out),
        np.array([store.index[text] for text in lost["train"]], np.int64),
        np.array([store.index[text] for text in lost["valid"]], np.int64),
    )


def towers(stuff: Material, seed: int) -> Towers:
    """Return the towers of a seed, fitted at the first call."""
    path = WORK / f"towers{seed}.pt"
    if not path.exists():
        fitted = fit_towers(stuff.vectors, stuff.train, stuff.weights, TOWERS, seed)
        torch.save(fitted.state_dict(), path)
    loaded = Towers(stuff.vectors.shape[1], TOWERS)
    loaded.load_state_dict(torch.load(path))
    return loaded.eval()


def compare(data: Path, names: list[str], *, research: bool = False) -> None:
    """Fit one seed of each variant and append what it reaches on held-out conversations."""
    stuff = material(data, research=research)
    for name in names or VARIANTS:
        print(name, flush=True)
        pair = towers(stuff, SEEDS[0])
        fitted = fit(stuff, pair, VARIANTS[name], SEEDS[0])
        kind = "research_" if research else ""
        _save(WORK / f"{kind}{name}{SEEDS[0]}", pair, fitted)
        measured = {"research": research, **fitted.measured}
        with (WORK / "compare.jsonl").open("a") as log:
            log.write(json.dumps({"variant": name, **measured}) + "\n")


def fit_seeds(data: Path) -> None:
    """Fit the chosen variant with every seed, each as a bundle of its own in the work folder."""
    stuff = material(data)
    for seed in SEEDS:
        folder = WORK / f"seed{seed}"
        if (folder / "card.toml").exists():
            continue
        pair = towers(stuff, seed)
        fitted = fit(stuff, pair, CHOSEN, seed)
        _save(folder, pair, fitted)


def _save(folder: Path, pair: Towers, fitted: Fitted) -> None:
    folder.mkdir(exist_ok=True)
    Mlp(layers_of(pair.left)).save(folder / "left.npz")
    Mlp(layers_of(pair.right)).save(folder / "right.npz")
    Mlp(fitted.layers).save(folder / "head.npz")
    (folder / "measured.json").write_text(json.dumps(fitted.measured))
    write_card(folder, FACTS, _training(), SETTINGS)


def bundle(data: Path) -> None:
    """Copy the seed that does best on held-out conversations, with its figures, to the package."""
    reached = {seed: json.loads((WORK / f"seed{seed}/measured.json").read_text()) for seed in SEEDS}
    best = max(SEEDS, key=lambda seed: reached[seed]["random"] + reached[seed]["people"])
    figures = [json.loads(line) for line in (WORK / "figures.jsonl").read_text().splitlines()]
    folder = shipped_bundles()["encoder"].parent / "relevance"
    folder.mkdir(exist_ok=True)
    for file in FILES:
        shutil.copy(WORK / f"seed{best}" / file, folder / file)
    write_card(folder, FACTS, _training(), SETTINGS, _quality(figures, f"seed{best}"))
    record_texts(folder, texts_of(read_dialogues(data), evaluated_texts(data)))


def _quality(figures: list[dict[str, Any]], shipped: str) -> Iterator[dict[str, Any]]:
    """Yield the shipped seed's figures, each noting the other seeds' and the floors' values."""
    for figure in figures:
        if figure["scorer"] != shipped:
            continue
        beside = ", ".join(
            f"{other['scorer']} {other['value']:.3f}"
            for other in figures
            if (other["on"], other["measure"]) == (figure["on"], figure["measure"])
            and other["scorer"] != shipped
        )
        numbers = {key: round(figure[key], 4) for key in ("value", "low", "high")}
        yield {
            **{key: figure[key] for key in ("on", "measure")},
            **numbers,
            "n": figure["n"],
            "command": EVALUATE,
            "note": f"this is {shipped}; {beside}",
        }


def _training() -> dict[str, Any]:
    licences = {source.name: source.licence for source in SOURCES}
    return {
        "data": [f"{name} ({licence})" for name, licence in licences.items()],
        "selection": SELECTION,
        "excluded": json.loads((WORK / "excluded.json").read_text())["text"],
        "command": COMMAND,
        "seeds": list(SEEDS),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["encode", "compare", "fit", "bundle"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--research", action="store_true", help="add DailyDialog; weights that may not ship"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.step == "encode":
        encode(options.data, research=options.research)
    elif options.step == "compare":
        compare(options.data, options.names, research=options.research)
    elif options.step == "fit":
        fit_seeds(options.data)
    else:
        bundle(options.data)


if __name__ == "__main__":
    main()
