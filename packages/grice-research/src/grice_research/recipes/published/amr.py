"""What is trained here of DEAM's way through meaning: a parser of AMR, and a generator.

amrlib's models learned from 55,635 graphs of news and forums (LDC2020T02), which nobody may pass
on. Here 1,766 teach: questions of QALD-9 and nine tenths of The Little Prince. Both are measured on
the test questions of QALD-9 and on the other tenth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from grice.files import make_folder, write_text
from grice.models.seq2seq import Seq2Seq, cleaned
from grice.perturb.amr_models import generated_texts, parsed_texts
from grice.perturb.meaning import graphs_of_file
from grice.stats.resample import Sampling, resampled_estimate
from grice.stats.systems import mean
from grice_research.recipes.published.conversations import GREEDY
from grice_research.recipes.published.measures import SHARE, Figure, Floor
from grice_research.recipes.published.writers import HALF
from grice_tasks.situatedgen.captions import bleu_4, bleu_counts, rouge_l

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.models.models import Models
    from grice.stats.estimate import Estimate
    from grice.stats.inputs import Floats
    from grice.stats.resample import Statistic

QUESTIONS, ASKED = "qald9_train.amr.gz", "qald9_test.amr.gz"
STORY = "little_prince.amr.gz"
TENTH = 10
DIFFERS = "1,766 graphs of QALD-9 and The Little Prince for 55,635 of LDC2020T02; other test set"


class AmrModel:
    """amrlib's parser or generator.

    Args:
        recipe: ``amr-parser`` or ``amr-generator``.
        data: Where the data sets are.
        folder: Where the graphs that are learned from are written.
    """

    def __init__(self, recipe: str, *, data: Path, folder: Path) -> None:
        self.recipe = recipe
        self._parses = recipe == "amr-parser"
        self.differs = f"{DIFFERS}; greedy for 4 beams" if self._parses else DIFFERS
        self.changes = (HALF, f"epochs={3 if self._parses else 2}", "batch=16")
        self._data, self._folder = data / "amr", folder

    def prepare(self) -> Path:
        """Write the graphs that are learned from."""
        make_folder(self._folder)
        path = self._folder / "train.amr"
        story = list(_sentences(self._data / STORY).items())
        learned = [pair for i, pair in enumerate(story) if i % TENTH]
        pairs = [*_sentences(self._data / QUESTIONS).items(), *learned]
        write_text(path, "\n\n".join(f"# ::snt {text}\n{graph}" for text, graph in pairs))
        return path

    def figures(self, models: Models, bundle: str) -> Iterator[Figure]:
        """Yield Smatch of a parser, BLEU-4 and ROUGE-L of a generator."""
        model, gold = models.open(bundle, Seq2Seq), self._held()
        if self._parses:
            graphs = parsed_texts(model, gold, GREEDY)
            yield _smatch(list(gold.values()), [graphs.get(text, "") for text in gold])
        else:
            yield from _likeness(list(gold), generated_texts(model, gold.values()))

    def floors(self) -> Iterator[Floor]:
        """Yield what words as concepts get, and concepts as words."""
        gold = self._held()
        if self._parses:
            flat = _smatch(list(gold.values()), [_flat(text) for text in gold])
            yield Floor("each word a concept of the first", flat)
        else:
            texts = [_concepts(graph) for graph in gold.values()]
            for figure in _likeness(list(gold), texts):
                yield Floor("concepts in their order", figure)

    def _held(self) -> dict[str, str]:
        story = list(_sentences(self._data / STORY).items())
        held = [pair for i, pair in enumerate(story) if not i % TENTH]
        return _sentences(self._data / ASKED) | dict(held)


def _sentences(path: Path) -> dict[str, str]:
    """Return graphs by sentence, without the blanks before punctuation that one release has."""
    return {cleaned(text): graph for text, graph in graphs_of_file(path).items()}


def _flat(text: str) -> str:
    first, *others = [
        "".join(filter(str.isalnum, word)).lower() or "thing" for word in text.split()
    ]
    branches = "".join(f" :mod (x{i} / {word})" for i, word in enumerate(others))
    return f"(x / {first}{branches})"


def _concepts(graph: str) -> str:
    names = re.findall(r"/ ([^\s()]+)", graph)
    return " ".join(name.rstrip("0123456789").rstrip("-").replace("-", " ") for name in names)


def _smatch(gold: Sequence[str], parsed: Sequence[str]) -> Figure:
    """Return Smatch F1 (Cai and Knight 2013) of all graphs together."""
    import smatch

    counts = []
    for wanted, given in zip(gold, parsed, strict=True):
        one_line = " ".join(wanted.split())
        if given:
            counts.append(smatch.get_amr_match(" ".join(given.split()), one_line))
        else:
            alone = smatch.get_amr_match(one_line, one_line)[2]
            counts.append((0, 0, alone))
        smatch.match_triple_dict.clear()
    table = np.array(counts, np.float64)

    def statistic(weights: Floats) -> Floats:
        sums = weights @ table
        return 2 * sums[:, :1] / np.maximum(sums[:, 1:2] + sums[:, 2:], 1)

    return Figure("smatch", _estimate(statistic, len(table), "Smatch"))


def _likeness(gold: Sequence[str], written: Sequence[str]) -> Iterator[Figure]:
    rouge = [rouge_l(mine, text) for mine, text in zip(written, gold, strict=True)]
    yield Figure("rouge_l", mean(rouge, bounds=SHARE))
    counts = np.stack([bleu_counts(mine, text) for mine, text in zip(written, gold, strict=True)])

    def statistic(weights: Floats) -> Floats:
        return bleu_4(weights @ counts)[:, None]

    yield Figure("bleu4", _estimate(statistic, len(counts), "BLEU-4"))


def _estimate(statistic: Statistic, count: int, name: str) -> Estimate:
    return resampled_estimate(statistic, count, name, Sampling("jackknife"), bounded="share")
