"""What the research networks of a fold say of the dialogues that validate, for ``stack``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.links import apart
from grice_research.triplets.cider import Cider
from grice_research.triplets.ensemble import HeadConditionedEnsemble
from grice_research.triplets.models import TaskModels, open_folder
from grice_research.triplets.tasks import CANDIDATES
from grice_tasks.cider.heads import SCALE, Sides, span_vectors
from grice_tasks.cider.models import TripletEncoder
from grice_tasks.cider.reading import read_texts
from grice_tasks.cider.structure import layout_of


class Held(NamedTuple):
    """What the networks say of the rows of the validating dialogues, a row each.

    Attributes:
        nli: Numbers of rows: pair, relation, whether it is entailed.
        choice: Numbers of rows: four pairs, relation, label.
        of_nli: Dialogue of each row.
        of_choice: Likewise.
        numbers: By name of network and pair, ``(pairs, 3, relations)``; ``joint`` is the mean of
            the joint networks as it is packed; ``tuned``, ``mpnet`` and ``smollm2`` are those of
            each kind.
        overlap: Of each row of both tasks, how much answers have of the tail.
        overlap_four: Of each option.
    """

    nli: np.ndarray
    choice: np.ndarray
    of_nli: np.ndarray
    of_choice: np.ndarray
    numbers: dict[str, np.ndarray]
    overlap: np.ndarray
    overlap_four: np.ndarray
    structure: np.ndarray


def outputs(path: Path, kept: dict[str, np.ndarray], *, alone: bool = False) -> np.ndarray:
    """Return a frozen head's numbers of all pairs, shape ``(pairs, 3, relations)``."""
    with np.load(path) as arrays:
        w = {name: arrays[name].astype(np.float32) for name in arrays.files}
    both = w["head_weight"].shape[0] > kept["context"].shape[1]
    parts = [kept["alone"]] if alone else [kept["context"], kept["alone"]][: 1 + both]
    vectors = np.concatenate(parts, 1).astype(np.float32) * SCALE
    numbers = kept["structure"].astype(np.float32)
    head = (vectors @ w["head_weight"] + w["head_bias"])[kept["pairs"][:, 0]]
    tail = (vectors @ w["tail_weight"] + w["tail_bias"])[kept["pairs"][:, 1]]
    joined = [head, tail, head * tail, apart(numbers) if alone else numbers]
    hidden = np.maximum(np.concatenate(joined, 1) @ w["hidden_weight"] + w["hidden_bias"], 0)
    return (hidden @ w["out_weight"] + w["out_bias"]).reshape(len(hidden), 3, -1)


def restricted(kept: dict[str, np.ndarray], pairs: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of some pairs alone."""
    return kept | {"pairs": kept["pairs"][pairs], "structure": kept["structure"][pairs]}


def only(folder: Path, pattern: str, encoder: TripletEncoder) -> HeadConditionedEnsemble | None:
    """Return the joint networks of a fold whose folders have some names, all counted alike."""
    with tempfile.TemporaryDirectory() as place:
        for path in folder.iterdir():
            if not path.name.startswith("rereader") or path.match(pattern):
                (Path(place) / path.name).symlink_to(path.resolve())
        (Path(place) / "settings.json").unlink()
        (Path(place) / "settings.json").write_text('{"level": 0}')
        return open_folder(Path(place), encoder).head_conditioned


def read_held(
    kept: dict[str, np.ndarray], held: set[str], cider: Cider, models: TaskModels, fold: int
) -> Held:
    """Return what the networks of a fold say of the dialogues that validate."""
    folder = WORK / f"fold_{fold}"
    several = {
        "joint": models.head_conditioned,
        "tuned": only(folder, "rereader_[0-9]", models.heads.encoder),
        "mpnet": only(folder, "rereader_mpnet*", models.heads.encoder),
        "smollm2": only(folder, "rereader_smollm2*", models.heads.encoder),
    }
    names = [str(name) for name in kept["names"]]
    wanted = np.array([name in held for name in names])
    of = kept["dialogue"][kept["pairs"][:, 0]]
    nli = kept["nli"][wanted[of[kept["nli"][:, 0]]]]
    choice = kept["choice"][wanted[of[kept["choice"][:, 0]]]]
    pairs = np.unique(np.concatenate([nli[:, 0], choice[:, :4].ravel()]))
    place = {int(pair_number): i for i, pair_number in enumerate(pairs)}
    few = restricted(kept, pairs)
    outputs_of_way = {
        name: np.mean([outputs(path, few) for path in sorted(WORK.glob(pattern))], axis=0)
        for name, pattern in (
            ("context", f"links_{fold}_[0-9].npz"),
            ("both", f"links_both_{fold}_[0-9].npz"),
        )
    }
    outputs_of_way["alone"] = outputs(WORK / f"links_alone_{fold}_0.npz", few, alone=True)
    outputs_of_way |= {name: np.zeros_like(outputs_of_way["both"]) for name in several}
    relations = models.heads.links.relations
    overlap: dict[tuple[int, int], float] = {}
    asked = {(int(pair), int(r)) for pair, r in nli[:, :2]}
    asked |= {(int(pair), int(row[4])) for row in choice for pair in row[:4]}
    for number in np.flatnonzero(wanted):
        text = cider.text(names[number])
        spans = np.flatnonzero(kept["dialogue"] == number)
        local = {int(span): i for i, span in enumerate(spans)}
        at = [
            None if place_of_span[0] < 0 else (int(place_of_span[0]), int(place_of_span[1]))
            for place_of_span in kept["places"][spans]
        ]
        spoken = ["" if bounds is None else text[slice(*bounds)] for bounds in at]
        beside = Sides(layout_of(text), spoken, at, np.zeros((len(at), 1)))
        again = {name: ensemble.read(text, beside) for name, ensemble in several.items()}
        mine = [pair for pair in place if of[pair] == number]
        sides = {pair: tuple(local[int(span)] for span in kept["pairs"][pair]) for pair in mine}
        rows = [place[pair] for pair in mine]
        for name, reading in again.items():
            outputs_of_way[name][rows] = reading.links([sides[pair] for pair in mine])
        here = sorted(pair for pair in asked if pair[0] in sides)
        shares = again["joint"].tail_overlaps(
            [(sides[p][0], relations[r], sides[p][1]) for p, r in here]
        )
        overlap |= dict(zip(here, shares, strict=True))
    index = np.vectorize(place.get)
    return Held(
        np.column_stack([index(nli[:, 0]), nli[:, 1:3]]),
        np.column_stack([index(choice[:, :4]), choice[:, 4:6]]),
        of[nli[:, 0]],
        of[choice[:, 0]],
        outputs_of_way,
        np.array([overlap[int(pair), int(r)] for pair, r in nli[:, :2]]),
        np.array([[overlap[int(pair), int(row[4])] for pair in row[:4]] for row in choice]),
        few["structure"].astype(np.float32),
    )


class Asked(NamedTuple):
    """A question: its dialogue, the answer, the candidates, and their numbers, best first."""

    dialogue: int
    gold: str
    answers: list[str]
    numbers: np.ndarray


def questions(held: set[str], cider: Cider, models: TaskModels) -> list[Asked]:
    """Return the questions of some dialogues with their candidates."""
    by_dialogue: dict[str, list] = {}
    for question in cider.questions():
        if question.item.dialogue in held:
            by_dialogue.setdefault(question.item.dialogue, []).append(question)
    links = models.heads.links.in_context()
    asked_questions = []
    for number, (name, asked) in enumerate(by_dialogue.items()):
        (reading,) = read_texts([cider.text(name)], models.heads.encoder.hidden)
        layout = layout_of(reading.text)
        heads = list(dict.fromkeys(asked_question.item.head.strip() for asked_question in asked))
        sides = span_vectors(reading, layout, heads, alone=models.heads.encoder.encode, both=False)
        again = models.head_conditioned.read(reading.text, sides)
        for question in asked:
            head, relation = heads.index(question.item.head.strip()), question.item.relation
            listed = again.answers(head, relation, count=CANDIDATES)
            spans = [heads[head], *(reading.text[slice(*x.place)] for x in listed)]
            both = span_vectors(
                reading,
                layout,
                spans,
                alone=models.heads.encoder.encode,
                both=False,
                places=[sides.places[head], *(x.place for x in listed)],
            )
            pairs = [(0, i) for i in range(1, len(spans))]
            frozen = links(both, pairs)[:, :, links.index(relation)]
            words = np.log1p([len(span.split()) for span in spans[1:]])
            numbers = np.column_stack(
                [[x.score for x in listed], [x.numbers for x in listed], frozen, words, words**2]
            )
            asked_questions.append(Asked(number, question.valid[0], spans[1:], numbers))
    return asked_questions
