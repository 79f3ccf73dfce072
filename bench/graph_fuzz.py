"""Feeds the graph reader and the structure check with mutated graphs and looks for exceptions.

    GRICE_DATA=... python bench/graph_fuzz.py [--mutations 100000] [--seed 0]

Every mutation is one to six random edits of a gold graph of dev. Of each: reading and both checks
give a verdict; every problem lies inside of the text; a text without problem is written back as
it was; what can be written is read back as the same graph; spans of a repair are tried on one in a
hundred. Stops with the text at the first that does not hold.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path

from grice.errors import InputError
from grice.evaluation.datasets import data_folder
from grice_tasks.explagraphs.check import check_graph
from grice_tasks.explagraphs.reader import read_graph, write_graph
from grice_tasks.explagraphs.repair import repair_graph
from grice_tasks.explagraphs.samples import Sample, read_samples

PIECES = ("(", ")", ";", "; ", ")(", "((", "))", "()", " ", "", "\t", "\n", "é", "\x00", "\u202e",
          "not ", "is a", "; causes; ", "(a; b; c)", "😀", "\ud800")  # fmt: skip
REPAIRED = 100


def mutated(text: str, draws: random.Random) -> str:
    for _ in range(draws.randint(1, 6)):
        at = draws.randint(0, len(text))
        end = min(len(text), at + draws.choice((0, 0, 1, 1, 2, 5, 20)))
        kind = draws.random()
        if kind < 0.6:
            text = text[:at] + draws.choice(PIECES) + text[end:]
        elif kind < 0.8:
            text = text[:at] + text[end:]
        else:
            text = text[:at] + text[at:end] * 2 + text[end:]
    return text


def hold(text: str, sample: Sample, *, repair: bool) -> list[str]:
    """Return the kinds of problems of a text; raises where a promise is broken."""
    reading = read_graph(text)
    for problem in reading.problems:
        assert 0 <= problem.start <= problem.end <= len(text), problem
    assert len(reading.starts) == len(reading.graph.edges)
    try:
        written = write_graph(reading.graph)
    except InputError:
        written = None
    if not reading.problems:
        assert written == text
    if written:
        assert read_graph(written).graph == reading.graph
    for rules in ("released", "paper"):
        verdict = check_graph(text, sample.belief, sample.argument, rules=rules)
        assert verdict.ok == (not verdict.broken)
        if rules == "paper" and reading.problems:
            assert "form" in verdict.broken
    if repair:
        repaired = repair_graph(text, sample.belief, sample.argument)
        if repaired.graph is not None:
            assert check_graph(repaired.graph, sample.belief, sample.argument).ok
    return [problem.kind for problem in reading.problems]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets; default GRICE_DATA")
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data)
    if folder is None:
        parser.error("name the folder of data sets by --data or GRICE_DATA")
    samples = read_samples(folder / "explagraphs" / "dev.jsonl.gz")
    draws = random.Random(arguments.seed)
    kinds: Counter[str] = Counter()
    start = time.process_time()
    for number in range(arguments.mutations):
        sample = draws.choice(samples)
        text = mutated(sample.graphs[0], draws)
        try:
            problems = hold(text, sample, repair=number % REPAIRED == 0)
        except Exception as error:
            error.add_note(f"mutation {number} of seed {arguments.seed}: {text!r}")
            raise
        kinds.update(set(problems) or {"none"})
    took = time.process_time() - start
    print(f"{arguments.mutations:,} mutated graphs, no exception, in {took:.0f} s")
    print("graphs with a problem of each kind:", dict(kinds.most_common()))


if __name__ == "__main__":
    main()
