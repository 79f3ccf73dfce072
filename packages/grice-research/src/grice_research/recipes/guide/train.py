r"""Train guides from drawn replies and their values.

    python -m grice_research.recipes.guide.train valid.jsonl OUT --metrics relevance,engagement \
        --metrics relevance --metrics engagement [--threshold 0.5] [--components 16]

The same as ``grice train guide``, but for where the replies come from: ``draw`` has drawn them
together, ``values`` has scored them. They are read once for all guides, which are written to
``OUT/METRIC-METRIC``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from grice.models.models import Models
from grice.models.protocols import SteerableLM
from grice_research.recipes.guide.draw import TEMPERATURE, read_drawn
from grice_research.recipes.guide.values import values_of
from grice_tasks.steering.generate import END, chat_prompt
from grice_tasks.steering.guide_bundle import save_guide
from grice_tasks.steering.guide_training import Fitting, train_guides
from grice_tasks.steering.samples import Labelled, Sampling


def main() -> None:
    """Train, print what that gave, and write the guides."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("drawn", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--metrics", type=lambda text: text.split(","), action="append")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--replies", type=int, default=8)
    parser.add_argument("--components", type=int, default=16)
    parser.add_argument("--consistency", type=float, default=0.0)
    given = parser.parse_args()
    drawn = read_drawn(given.drawn)
    names = {name for metrics in given.metrics for name in metrics}
    values = {name: values_of(given.drawn, name) for name in names}
    samples = [
        Labelled(
            number,
            chat_prompt(each.turns),
            text if text[-1] not in ".!?" else text + END,
            {name: rows[number][place] >= given.threshold for name, rows in values.items()},
        )
        for number, each in enumerate(drawn)
        for place, text in enumerate(each.texts[: given.replies])
        if text
    ]
    sampling = Sampling(given.replies, TEMPERATURE, threshold=given.threshold)
    fitting = Fitting(components=given.components, consistency=given.consistency)
    with Models(mode="fast", workers=1, cache=None) as models:
        base = models.open("model:medium", SteerableLM)
        trained = train_guides(samples, base, given.metrics, sampling, fitting)
    source = "of Topical-Chat's validation split (CDLA-Sharing), none of whose texts is evaluated"
    for guide, report in trained:
        print(msgspec.json.format(msgspec.json.encode(report)).decode())
        about = f"{report.replies} replies of {guide.settings.base} to {report.contexts} contexts"
        folder = given.output / "-".join(guide.settings.metrics)
        save_guide(folder, guide, report, [f"{about} {source}"], seed=fitting.seed)


if __name__ == "__main__":
    main()
