"""Judges a file of cues on DECO's training part, whole and without each group of its cues.

    python -m grice_research.recipes.extraction.judge [--cues recipes/extraction/cues.toml]

Every relation's scores are made comparable by their own mean and spread, so that only the cues
are judged.
"""

from __future__ import annotations

from pathlib import Path

from grice.knowledge.extraction.cues import cue_weights, read_cues
from grice_research.recipes.extraction.deco import cells, replies, summary
from grice_research.recipes.extraction.pack import HERE
from grice_research.recipes.extraction.pairs import best, likeness, read
from grice_research.recipes.extraction.research import standard
from grice_research.recipes.options import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--cues", type=Path, nargs="+", default=[HERE / "cues.toml"])
    arguments = parser.parse_args()
    train = replies(arguments.data, "deco_train")
    known = cells(train)
    pairs = read([reply.exchange for reply in train], [reply.gold for reply in train])
    for path in arguments.cues:
        stated = read_cues(path).weights
        for left_out in ("nothing", *stated):
            kept = {name: cues for name, cues in stated.items() if name != left_out}
            scores, chosen = best(pairs, cue_weights(kept, path))
            values = standard(scores)
            like = likeness(pairs, chosen, train)
            print(f"{path.name} without {left_out}: {summary(values, like, known)}", flush=True)


if __name__ == "__main__":
    main()
