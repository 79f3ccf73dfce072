"""Make the models of the metric ``quality``: its parts, and their values on replies of people.

    python -m grice_research.recipes.overall.fit --models small

Nothing is fitted: all parts have the same weight. The figures are of chatbot turns that people
judged, ``--replies`` of them. Answers of models are kept in the work folder.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from grice.data import Judgement
from grice.metrics.quality import PARTS, contributions, quality_of
from grice.models.joined import FILE, Part
from grice.models.loader import ModelLoader
from grice.scoring.api import named_preset
from grice_research.places import MODELS
from grice_research.recipes.common import figure_of, parser_of, update_card
from grice_research.recipes.overall.data import (
    Floats,
    Marked,
    read_marked,
    read_people,
    values_of,
)
from grice_research.roc import review_lifts, roc_areas

COSINE = "cosine_last_turn"
CHOSEN = {
    "small": ("sensibleness", "relevance", "contradiction", "repetition"),
    "medium": ("sensibleness", "relevance", "contradiction", "repetition", "likelihood"),
    "large": ("sensibleness", "relevance", "contradiction", "repetition"),
}
"""The parts by preset; the README of the recipe says why."""
CEILINGS = {"repetition": 0.05}
"""Values above count as this one: no nearly literal repetition is found."""
MAJORITY = 0.4
"""Share of people from which a turn of dbdc3 counts as marked in figures: most of three votes."""
STEPS = 100  # between quantiles


def source_of(turn: Marked) -> str:
    """Return the chatbot of a turn of dbdc3, otherwise the corpus."""
    return turn.system if turn.corpus == "dbdc3" else turn.corpus


def sample(marked: Sequence[Marked], replies: int) -> list[Marked]:
    """Return the turns of whole conversations, drawn at random, up to a number of replies."""
    groups: dict[str, list[Marked]] = {}
    for turn in marked:
        groups.setdefault(turn.group, []).append(turn)
    drawn = list(groups.values())
    random.Random(0).shuffle(drawn)
    chosen: list[Marked] = []
    for group in drawn:
        if len(chosen) + len(group) <= replies:
            chosen += group
    return chosen


def part_of(metric: str, values: Floats, preset: str) -> Part:
    """Return a part with the quantiles of its values on the replies of people."""
    stated = named_preset(preset).options.get(metric, {})
    models = {k: str(stated.get(k, v)) for k, v in PARTS[metric].models.items()}
    ceiling = CEILINGS.get(metric, 1.0)
    known = np.minimum(values[~np.isnan(values)], ceiling)
    quantiles = np.quantile(known, np.linspace(0, 1, STEPS + 1))
    with ModelLoader() as loader:
        identities = tuple(loader.fingerprint(reference) for reference in models.values())
    rounded = tuple(round(float(q), 4) for q in quantiles)
    return Part(metric, 1.0, rounded, models, ceiling, identities)


def joined(parts: Sequence[Part], columns: Mapping[str, Floats]) -> Floats:
    """Return the quality of each turn; a part without a value counts as one half."""
    rows = zip(*(columns[part.metric] for part in parts), strict=True)
    named = (
        {
            part.metric: Judgement(float(v))
            for part, v in zip(parts, row, strict=True)
            if not np.isnan(v)
        }
        for row in rows
    )
    return np.array([quality_of(contributions(parts, judged)) for judged in named])


def figures_of(
    marked: Sequence[Marked], quality: Floats, cosine: Floats, command: str
) -> Iterator[dict[str, object]]:
    """Yield the figures of each source, beside the cosine, the source of the lowest area first."""
    sources = np.array([source_of(turn) for turn in marked])
    pairs = []
    for name in np.unique(sources):
        rows = np.flatnonzero(sources == name)
        labels = [float(marked[row].flawed > MAJORITY) for row in rows]
        groups = [marked[row].group for row in rows]
        low = {"quality": [-float(v) for v in quality[rows]],
               COSINE: [-float(v) for v in cosine[rows]]}  # fmt: skip
        areas, lifts = (
            measure(low, labels, groups=groups) for measure in (roc_areas, review_lifts)
        )
        given = ("AUC", areas.areas), ("lift of the first 10 %", lifts.lifts)
        pairs.append((str(name), given))
    for name, given in sorted(pairs, key=lambda pair: pair[1][0][1]["quality"].value):
        for measure, found in given:
            note = {"note": f"{COSINE}: {found[COSINE].value:.3f}"}
            yield figure_of(name, measure, found["quality"], command) | note


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--models", choices=tuple(CHOSEN), default="small")
    parser.add_argument("--replies", type=int, default=1000)
    given = parser.parse_args()
    names = CHOSEN[given.models]
    people = values_of(read_people(given.data), names, given.models)
    parts = [part_of(name, people[name], given.models) for name in names]
    marked = sample(read_marked(given.data), given.replies)
    columns = values_of(marked, (*names, COSINE), given.models)
    command = f"python -m grice_research.recipes.overall.fit --models {given.models}"
    command += "" if given.replies else " --replies 0"
    quality, cosine = joined(parts, columns), np.nan_to_num(columns[COSINE], nan=0.5)
    figures = list(figures_of(marked, quality, cosine, command))
    for figure in figures:
        print(json.dumps(figure))
    folder = MODELS / f"quality-{given.models}"
    lines = b",\n".join(map(msgspec.json.encode, parts))
    (folder / FILE).write_bytes(b"[\n" + lines + b"\n]\n")
    used = dict.fromkeys(name for part in parts for name in part.models.values())
    settings = {"parts": [*used]}
    update_card(folder, files=(FILE,), settings=settings, quality=figures, command=command)


if __name__ == "__main__":
    main()
