r"""Train the guide that ships, from drawn replies and their values.

    python -m grice_research.recipes.guide.train valid.jsonl OUT --metrics relevance,engagement \
        --threshold 0.5 [--components 16]

The same as ``grice train guide``, but for where the replies come from: ``draw`` has drawn them
together, ``values`` has scored them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from grice.runtime.models import Models
from grice.runtime.protocols import SteerableLM
from grice.steer.generate import END, chat_prompt
from grice.steer.guide_bundle import save_guide
from grice.steer.guide_training import Fitting, train_guide
from grice.steer.samples import Labelled, Sampling
from grice_research.recipes.guide.draw import TEMPERATURE, read_drawn
from grice_research.recipes.guide.values import values_of


def main() -> None:
    """Train, print what that gave, and write the guide."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("drawn", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--metrics", type=lambda text: text.split(","))
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--components", type=int, default=16)
    parser.add_argument("--consistency", type=float, default=0.0)
    given = parser.parse_args()
    drawn = read_drawn(given.drawn)
    values = {name: values_of(given.drawn, name) for name in given.metrics}
    samples = [
        Labelled(
            number,
            chat_prompt(each.turns),
            text if text[-1] not in ".!?" else text + END,
            {name: rows[number][place] >= given.threshold for name, rows in values.items()},
        )
        for number, each in enumerate(drawn)
        for place, text in enumerate(each.texts)
        if text
    ]
    sampling = Sampling(len(drawn[0].texts), TEMPERATURE, threshold=given.threshold)
    fitting = Fitting(components=given.components, consistency=given.consistency)
    with Models(mode="fast", workers=1, cache=None) as models:
        base = models.open("model:medium", SteerableLM)
        guide, report = train_guide(samples, base, given.metrics, sampling, fitting)
    print(report)
    about = f"{report.replies} replies of {guide.settings.base} to {report.contexts} contexts"
    source = "of Topical-Chat's validation split (CDLA-Sharing), none of whose texts is evaluated"
    save_guide(given.output, guide, report, [f"{about} {source}"], seed=fitting.seed)


if __name__ == "__main__":
    main()
