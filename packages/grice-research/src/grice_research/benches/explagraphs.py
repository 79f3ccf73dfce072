"""Explanation graphs on dev: ours, the released predictions, and answers without understanding.

SeCA, EA and informativeness are by the shipped judges: they compare the rows here with each other,
not with published figures. Everything else is counted as the official script counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from grice.stats import mean
from grice.stats.estimate import Estimate
from grice_research.context import BenchContext, data_digest
from grice_research.figures import Figure, Kind, figure
from grice_research.published import printed
from grice_tasks.explagraphs.classifiers import GraphClassifiers
from grice_tasks.explagraphs.generator import generate_graphs
from grice_tasks.explagraphs.samples import (
    Prediction,
    Sample,
    Stance,
    read_predictions,
    read_samples,
)
from grice_tasks.explagraphs.scores import ScoreOptions, score_samples
from grice_tasks.explagraphs.wording import graph_polarity, nonsense_graph, word_polarity

TITLE = "Explanation graphs (ExplaGraphs, dev)"
PAPER = (
    "Saha et al., ExplaGraphs: An Explanation Graph Generation Task for Structured Commonsense "
    "Reasoning, EMNLP 2021"
)
MODEL = "builtin:graphs"
RELEASED = ("pred_maxmargin_dev", "pred_codex_dev")
MEASURES = ("sa", "stca", "seca", "g_bleu", "g_rouge2", "g_rougel", "ged", "ea", "informativeness")
SCORED = {"g_rouge2": "g_rouge_2", "g_rougel": "g_rouge_l"}  # names of scores that differ
OWN = ("seca", "ea", "informativeness")
PRINTED = {
    "sa": "SA", "stca": "StCA", "g_bleu": "G-BLEU F1", "g_rouge2": "G-ROUGE-2 F1",
    "g_rougel": "G-ROUGE-L F1",
}  # fmt: skip
"""Columns of table 5; SeCA and EA are by judges that were not released."""
OWN_JUDGE = "by the shipped judge: compares with the rows here, not with published figures"
APART = (
    "informativeness and the generator are taught on topics apart and ask each other nothing; "
    "graphs of the generator are among those that informativeness was taught to place low"
)
CHOSEN = (
    "the generator picks by a judge of the same kind as seca's, so that its seca is flattered: per "
    "graph that is compared it stands above gold graphs, which is no merit"
)
NOTES = {"informativeness": APART, "seca": CHOSEN}

Values = dict[str, list[float]]


class _System(NamedTuple):
    name: str
    kind: Kind
    predictions: dict[str, Prediction]
    why: str = ""


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield every measure of every system on the 398 dev rows."""
    folder = context.folder / "explagraphs"
    samples = read_samples(folder / "dev.jsonl.gz")
    judges: GraphClassifiers = context.models().load(MODEL)  # type: ignore[assignment]
    fingerprint = (
        f"{context.models().fingerprint(MODEL)}|on:{data_digest(context.folder, 'explagraphs')}"
    )
    re_t5 = {measure: v for (_, measure), v in printed("explagraphs", "table 5")["RE-T5"].items()}
    for system in _systems(samples, judges, folder):
        answered = [sample for sample in samples if sample.id in system.predictions]
        values = _values(answered, system.predictions, judges)
        for name in MEASURES:
            ours = system.name == "embedded"
            beside = re_t5.get(PRINTED.get(name, "")) if ours else None
            notes = (OWN_JUDGE * (name in OWN), NOTES.get(name, "") * ours, system.why)
            yield figure(
                row=system.name,
                measure=name,
                estimate=_mean(values[SCORED.get(name, name)], answered),
                kind=system.kind,
                published=beside,
                beside="" if beside is None else "RE-T5",
                lower=name == "ged",
                why="; ".join(filter(None, notes)),
                signature=f"{fingerprint}|{name}",
            )
    right = [float(graph_polarity(sample.graphs[0]) == sample.stance) for sample in samples]
    why = "how far the form of a graph gives its stance away"
    yield figure("polarity of the gold graph", "sa", _mean(right, samples), "baseline", why=why)


def _systems(
    samples: Sequence[Sample], judges: GraphClassifiers, folder: Path
) -> Iterator[_System]:
    ours = generate_graphs(samples, judges)
    yield _System("embedded", "ours", {prediction.id: prediction for prediction in ours})
    released = {
        name: {each.id: each for each in read_predictions(folder / f"{name}.jsonl.gz")}
        for name in RELEASED
    }
    stances = {prediction.id: prediction.stance for prediction in released[RELEASED[0]].values()}
    yield _System("nonsense", "baseline", _chains(samples, stances), "with released stances")
    guessed = {sample.id: word_polarity(sample.belief, sample.argument) for sample in samples}
    yield _System("polarity only", "baseline", _chains(samples, guessed), "on the nonsense chain")
    for name, predictions in released.items():
        yield _System(name, "printed", predictions)
    gold = {
        each.id: Prediction(each.id, each.stance, each.graphs[0]) for each in samples if each.stance
    }
    why = "what people wrote: an upper bound, no trivial baseline"
    yield _System("gold graphs", "baseline", gold, why)


def _chains(samples: Sequence[Sample], stances: Mapping[str, Stance]) -> dict[str, Prediction]:
    return {
        each.id: Prediction(each.id, stances[each.id], nonsense_graph(each.belief, each.argument))
        for each in samples
    }


def _values(
    samples: Sequence[Sample], predictions: Mapping[str, Prediction], judges: GraphClassifiers
) -> Values:
    options = ScoreOptions(classifiers=judges)
    rows = [score.values for score in score_samples(samples, predictions, options)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _mean(values: Sequence[float], samples: Sequence[Sample]) -> Estimate:
    """Return the mean, clustered by belief, for the graphs of one are alike."""
    beliefs = [sample.belief.lower() for sample in samples]
    return mean(values, groups=beliefs)
