"""Two contrasting sentences from keywords: SituatedGen test, written after training examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.models.protocols import CausalGenerator
from grice.stats import mean
from grice_research.language_models.read import judged_shares
from grice_research.language_models.samples import SHIPS, Place, sampled
from grice_tasks.situatedgen.language_model import write_valid_pairs
from grice_tasks.situatedgen.models import ContextModels, ContrastModels
from grice_tasks.situatedgen.records import read_samples
from grice_tasks.situatedgen.scores import score_outputs
from grice_tasks.situatedgen.trivial_outputs import halved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice_research.context import BenchContext
    from grice_research.language_models.samples import Candidate, Size
    from grice_research.rows import Row
    from grice_tasks.situatedgen.protocols import Written
    from grice_tasks.situatedgen.records import Sample

__all__ = ["rows", "written_pairs"]

SHIPPED, TAGGER = "bundle:situated", "bundle:context"
COUNTS: dict[Size, int] = {"medium": 24, "large": 20}
SHOWN = 4
MOST_WORDS = 24
"""Words of an example, so that all fit before the keywords."""
ON = "keywords to text, SituatedGen test, sample"
MEASURES = ("match_first", "coverage", "rouge_l", "meteor")


def rows(context: BenchContext, candidate: Candidate) -> Iterator[Row]:
    """Yield the measures of both systems and of halved keywords, and how often text was valid."""
    samples, written = written_pairs(context, candidate)
    models = context.models()
    contrast = models.open(SHIPPED, ContrastModels)
    tagger = models.open(TAGGER, ContextModels).tagger
    keywords = [sample.keywords for sample in samples]
    systems = {
        candidate.row: [pair.text for pair in written],
        SHIPS: contrast.recomposer(tagger).generate(keywords),
        "halved keywords": [halved(each) for each in keywords],
    }
    place = Place(candidate.on(ON), models, candidate, candidate.base)
    scored = {}
    for name, texts in systems.items():
        outputs = {sample.id: text for sample, text in zip(samples, texts, strict=True)}
        scored[name] = score_outputs(samples, outputs, name=name)[0].measures
    for measure in MEASURES:
        yield from place.rows(measure, {name: each[measure] for name, each in scored.items()})
    valid = {
        f"{candidate.row}, {name}": mean(
            list(map(float, values)), interval="percentile", bounds=(0, 1)
        )
        for name, values in {
            "valid at once": [pair.valid and pair.attempts == 1 for pair in written],
            "valid after a retry": [pair.valid and pair.attempts > 1 for pair in written],
        }.items()
    }
    yield from place.rows("share of texts", valid)
    read = judged_shares(
        "sentences", candidate.size, [(s.id, p.text) for s, p in zip(samples, written, strict=True)]
    )
    if len(read) > 1:
        true = {candidate.row: mean(read, interval="percentile", bounds=(0, 1))}
        yield from place.rows("sentences that are true, read by one reader", true)


def written_pairs(
    context: BenchContext, candidate: Candidate
) -> tuple[list[Sample], list[Written]]:
    """Return test samples and what the language model writes for their keywords."""
    folder = context.folder / "situatedgen"
    everything = read_samples(folder / "test.jsonl.gz")
    samples = sampled(everything, COUNTS[candidate.size], lambda sample: sample.id)
    model = context.models().open(candidate.base, CausalGenerator)
    keywords = [sample.keywords for sample in samples]
    return samples, write_valid_pairs(keywords, model, shown=_shown(context))


def _shown(context: BenchContext) -> list[Sample]:
    train = read_samples(context.folder / "situatedgen" / "train.jsonl.gz")
    short = [sample for sample in train if len(sample.reference.split()) <= MOST_WORDS]
    return sampled(short, SHOWN, lambda sample: sample.id)
