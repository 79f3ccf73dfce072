"""Writes the card of the bundle ``graphs`` and the fingerprint of what it learned from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grice.models.bundle import file_sha256
from grice.records import Triple
from grice_research.recipes.graphs.data import Instance
from grice_research.training_texts import record_texts
from grice_tasks.explagraphs.wording import fact_text

FILES = ("cases.json", "cases.npz", "concepts.txt", "facts.npz", "judges.npz", "links.npz")


def write_card(
    out: Path, instances: list[Instance], known: list[Triple], dropped: int
) -> None:  # fmt: skip
    lines = [
        'name = "graphs"',
        'kind = "graph-heads"',
        'version = "1"',
        'summary = "Judges of explanation graphs, stances, and what graphs are built from."',
        'licence = "CC-BY-SA-4.0"',
        'encoder = "encoder"',
        'inputs = "belief, argument and graph as text; their vectors"',
        'outputs = "scores of support, counter, incorrect; plausibility of facts, 0 to 1"',
        "",
        "[training]",
        "data = [",
        '  "ExplaGraphs train, graph versions and perturbed negatives (Saha et al. 2021; MIT, '
        f'CC BY-SA 4.0): {len(instances)} rows",',
        '  "ConceptNet-100K train (CC BY-SA 4.0), ATOMIC-2020 (CC BY 4.0), Open English WordNet '
        f'antonyms and synonyms (CC BY 4.0): {len(known)} facts",',
        "]",
        'selection = ["train topics held out (k-means of beliefs), five folds", "generator and '
        'substance: taught on two folds each, apart; looked at on the fifth", "the two judges of '
        'substance: taught on one of their folds, chosen on the other", "words from outside and '
        'number of graphs the generator chooses from: 100 rows of the folds of substance"]',
        f'excluded = "rows with a belief or argument of dev or test: {dropped}; failed versions '
        'equal to the final graph: 197"',
        'command = "python -m grice_research.recipes.graphs.train"',
        "seeds = [0, 1, 2]",
        "",
        "[settings]",
        'schema = "explagraphs"',
        "",
        "[files]",
        *(f'"{name}" = "{file_sha256(out / name)}"' for name in FILES),
    ]
    (out / "card.toml").write_text("\n".join(lines) + "\n", "utf-8")
    record_texts(out, _texts(instances, known))


def _texts(instances: list[Instance], known: list[Triple]) -> Iterator[str]:
    for instance in instances:
        yield from (instance.belief, instance.argument)
        yield from (fact_text(fact) for graph, _ in instance.versions for fact in graph.edges)
    for fact in known:
        yield from (fact.head, fact.tail)
