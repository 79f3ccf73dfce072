"""Metrics, encoder and context of benches that compute nothing."""

import gzip
import json

import numpy as np

from grice.data import Score, TurnEvidence
from grice.errors import ModelError
from grice.scoring import load
from grice_research.context import metric_and_preset
from grice_research.figures import Figure
from grice_research.runs import Run


class TurnMetric:
    """Scores flawed turns 0 and others 1; of a whole conversation it points at the flawed ones."""

    def __init__(self, name, flawed, whole=()):
        self.name, self.flawed, self.whole = name, flawed, whole

    def score(self, talks):
        metric, _ = metric_and_preset(self.name)
        signature = f"{metric}:1|mode:fast"
        for talk in talks:
            flawed = [i for i in talk.targets or () if self.flawed(talk, i)]
            if self.name in self.whole:
                evidence = tuple(TurnEvidence(i, -1.0) for i in flawed)
                yield Score(talk.id, None, self.name, 0.5, "ok", None, (), evidence, self.name)
                continue
            for i in talk.targets or ():
                value = float(i not in flawed)
                yield Score(talk.id, i, metric, value, "ok", None, (), (), signature)


class ValueMetric:
    """Gives each reply, or each conversation as a whole, the value of a function of it."""

    def __init__(self, name, value, whole=()):
        self.name, self.value, self.whole = name, value, whole

    def score(self, talks):
        for talk in talks:
            turn = None if self.name in self.whole else talk.targets[0]
            value = float(self.value(self.name, talk))
            yield Score(talk.id, turn, self.name, value, "ok", None, (), (), self.name)


class Letters:
    """Encodes a text by its vowels."""

    def encode(self, texts):
        return [np.array([text.count(c) for c in "aeiou"], np.float32) / 9 for text in texts]


class FakeContext:
    """The context of a bench whose metrics are made by a function of their name."""

    def __init__(self, metric, folder=None, missing=()):
        self.metric, self.folder, self.not_fetched = metric, folder, missing

    def grader(self, name):
        if name in self.not_fetched:
            raise ModelError(f"the model of {name} is not here")
        return self.metric(name), {name: f"{name}:1|mode:fast"}

    def trained_share(self, metric, on):
        return 0.25

    def models(self):
        return self

    def load(self, reference):
        return Letters()

    def fingerprint(self, reference):
        return f"{reference.partition(':')[2]}@0a1b2c3d"


def packed(path, rows):
    """Write JSON lines, gzipped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def gap_of(row, baseline):
    """Return how far a row is above a trivial baseline."""
    return next(gap.value for gap in row.gaps if gap.baseline == baseline)


def by_measure(rows):
    """Return figures by row and measure."""
    return {(row.row, row.measure): row for row in rows}


def loaded(names):
    """Open metrics as the command does for a bench."""
    grader = load(*names)
    return grader, grader.signatures


def figure_of(rows, row, measure, on=None):
    """Return the figure of a row and measure, on one of several sets if that is named."""
    return next(r for r in rows if (r.row, r.measure) == (row, measure) and on in (None, r.on))


def made_figure(row, signature="", **more):
    fields = {"kind": "ours", "on": "set", "measure": "spearman", "value": 0.4, "n": 50, **more}
    around = {"low": fields["value"] - 0.1, "high": fields["value"] + 0.1}
    return Figure(bench="b", row=row, signature=signature, **around | fields)


def made_run(*rows, **fields):
    known = {"bench": "b", "title": "T", "paper": "P", "date": "2026-01-02", "version": "1"}
    return Run(**known | {"command": "grice bench b", "counts": {}, "notes": {}} | fields,
               figures=rows)  # fmt: skip
