"""Training data of the graph models: gold and judged graphs, ConceptNet, and what is left out."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from grice.data import Triple
from grice_research.recipes.common import rows_of, table_of
from grice_research.training_texts import normalised
from grice_tasks.explagraphs.graph import Graph, read_graph
from grice_tasks.explagraphs.wording import phrases

MAPS = tomllib.loads((Path(__file__).parent / "relations.toml").read_text("utf-8"))
CONCEPTNET, ATOMIC = MAPS["conceptnet"], MAPS["atomic"]
SYNONYMS = 6000
VERBS = "are|can|could|did|do|does|has|have|is|may|might|must|should|was|were|will|would"
DENIED = re.compile(rf"\b({VERBS}) not\b|\b({VERBS}|ca|wo)n['’]t\b|\bcannot\b", re.IGNORECASE)
SAID = re.compile(
    r"\b(are|can|could|did|do|does|is|may|might|must|should|was|were|will|would)\b", re.IGNORECASE
)


class Instance(NamedTuple):
    """A train row; ``versions`` are its graphs in time order with their verdicts."""

    id: str
    belief: str
    argument: str
    stance: str
    graph: Graph
    versions: tuple[tuple[Graph, str], ...]
    perturbed: tuple[tuple[Graph, str], ...]


class Judged(NamedTuple):
    """A graph with what people said: the stance it explains, or ``incorrect``."""

    instance: Instance
    graph: Graph
    label: str


def denied(belief: str) -> str | None:
    """Return the opposite belief: a ``not`` put behind its first verb, or taken away.

    None if no verb is found. What supports a belief counters this one.
    """
    match = DENIED.search(belief)
    if match is None:
        said = SAID.search(belief)
        return None if said is None else f"{belief[: said.end()]} not{belief[said.end() :]}"
    verb = match[1] or {"ca": "can", "wo": "will"}.get((match[2] or "ca").lower(), match[2])
    return belief[: match.start()] + verb + belief[match.end() :]


def parse(text: str) -> Graph:
    return read_graph(text.lower()).graph


def instances(data: Path) -> tuple[list[Instance], int]:
    """Return the train rows, and how many were dropped for a text of an evaluated row."""
    folder = data / "explagraphs"
    evaluated = {
        normalised(row[side])
        for name in ("dev", "test_inputs")
        for row in rows_of(folder / f"{name}.jsonl.gz")
        for side in ("belief", "argument")
    }
    rounds = {row["id"]: row for row in rows_of(folder / "train_rounds.jsonl.gz")}
    perturbed = {row["id"]: row for row in rows_of(folder / "train_perturbed.jsonl.gz")}
    read, dropped = [], 0
    for row in rows_of(folder / "train.jsonl.gz"):
        if {normalised(row["belief"]), normalised(row["argument"])} & evaluated:
            dropped += 1
            continue
        judged = rounds[row["id"]]
        versions = zip(map(parse, judged["graphs"]), judged["judged"], strict=True)
        wrong = (
            (parse(graph), kind)
            for graph, kind in perturbed[row["id"]]["negatives"]
            if kind == "synthetic_struct_ok"
        )
        texts = (row[name] for name in ("id", "belief", "argument", "stance"))
        read.append(Instance(*texts, parse(row["graph"]), tuple(versions), tuple(wrong)))
    return read, dropped


def judged_graphs(corpus: list[Instance]) -> list[Judged]:
    """Return every graph with a published verdict; not those that came back unchanged as gold."""
    judged = []
    for instance in corpus:
        last = instance.versions[-1][0]
        for place, (graph, verdict) in enumerate(instance.versions):
            if verdict == "correct":
                judged.append(Judged(instance, graph, instance.stance))
            elif verdict == "failed" and not (place == 1 and graph == last):
                judged.append(Judged(instance, graph, "incorrect"))
    return judged


def known_triples(path: Path, relations: dict[str, str]) -> list[Triple]:
    """Return the train triples of a table under relations of the task."""
    return [
        Triple(row["head"].strip(), relations[row["relation"]], row["tail"].strip())
        for row in table_of(path)
        if row["split"] == "train" and row["relation"] in relations
        if row["head"].strip() and row["tail"].strip()
    ]


def conceptnet(data: Path) -> list[Triple]:
    return known_triples(data / "conceptnet/cn100k.tsv.gz", CONCEPTNET)


def lexical(data: Path) -> list[Triple]:
    """Return ConceptNet and ATOMIC with WordNet's antonyms and as many synonyms as are used."""
    atomic = known_triples(data / "atomic/atomic2020_sample.tsv.gz", ATOMIC)
    pairs = (list(row.values()) for row in table_of(data / "conceptnet/wordnet_antonyms.tsv.gz"))
    antonyms = [Triple(first, "antonym of", second) for first, second, *_ in pairs]
    sets = (list(row.values()) for row in table_of(data / "conceptnet/wordnet_synsets.tsv.gz"))
    members = (words.split("|") for _, _, words, *_ in sets)
    synonyms = [Triple(some[0], "synonym of", some[1]) for some in members if len(some) > 1]
    few = random.Random(0).sample(synonyms, SYNONYMS)
    return conceptnet(data) + atomic + antonyms + few


def chains(corpus: list[Instance]) -> dict[str, Graph]:
    """Return for each row a chain of random phrases of its texts.

    Relations are drawn as often as people use them, so that rare ones give nothing away.
    """
    draws = random.Random(7)
    used = [edge.relation for each in corpus for edge in each.graph.edges]
    made = {}
    for instance in corpus:
        spoken = [*dict.fromkeys(phrases(instance.belief) + phrases(instance.argument))]
        if len(spoken) > 4:
            picked = draws.sample(spoken, 5)
            facts = (Triple(a, draws.choice(used), b) for a, b in pairwise(picked))
            made[instance.id] = Graph(tuple(facts))
    return made


def moved(corpus: list[Instance]) -> list[tuple[Instance, Graph]]:
    """Return each gold graph with its concepts moved about: links and relations stay."""
    draws = random.Random(11)
    made = []
    for instance in corpus:
        concepts = list(instance.graph.concepts)
        other = concepts[:]
        for _ in range(9):
            draws.shuffle(other)
            if sum(a == b for a, b in zip(concepts, other, strict=True)) < 2:
                break
        new = dict(zip(concepts, other, strict=True))
        facts = (Triple(new[e.head], e.relation, new[e.tail]) for e in instance.graph.edges)
        made.append((instance, Graph(tuple(facts))))
    return made


def swapped(corpus: list[Instance]) -> list[tuple[Instance, Graph]]:
    """Return texts with the gold graph of another belief."""
    draws = random.Random(12)
    others = ((instance, draws.choice(corpus)) for instance in corpus)
    return [
        (instance, other.graph) for instance, other in others if instance.belief != other.belief
    ]


def external_concepts(corpus: list[Instance]) -> Counter[str]:
    """Return how often each concept that stands in neither text was used."""
    counts: Counter[str] = Counter()
    for instance in corpus:
        texts = f"{instance.belief} {instance.argument}".lower()
        counts.update(c for c in instance.graph.concepts if c not in texts)
    return counts
