"""Measures an extractor on DECO test and writes the figures into its card. Run after all choices.

    python -m grice_research.recipes.extraction.evaluate [--data ../shared/data] [--bundle FOLDER]

``grice bench deco-extraction`` gives the same figures for the shipped bundle, beside the floors.
"""

from __future__ import annotations

from pathlib import Path

from grice.knowledge.extraction.cues import CueExtractor
from grice.knowledge.extraction.protocol import RELATIONS
from grice.models.models import Models
from grice_research.extraction import MEASURES, Cells, as_deco, extraction_measures
from grice_research.places import MODELS
from grice_research.recipes.extraction.deco import replies
from grice_research.recipes.options import parser_of

SHIPPED = MODELS / "extraction"
COMMAND = "python -m grice_research.recipes.extraction.evaluate --data ../shared/data"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--bundle", type=Path, default=SHIPPED)
    arguments = parser.parse_args()
    model = Models(mode="exact", workers=1, cache=None).open(f"file:{arguments.bundle}")
    assert isinstance(model, CueExtractor)

    test = replies(arguments.data, "deco_test")
    cells = []
    for reply, extraction in zip(test, model.extract([r.exchange for r in test]), strict=True):
        gold = {name: [pair(line) for line in lines] for name, lines in reply.gold.items()}
        ours = {t.relation: [(as_deco(t.head), as_deco(t.tail))] for t in extraction.triples}
        cells.append(Cells(gold, ours))
    card = arguments.bundle / "card.toml"
    text = card.read_text("utf-8").split("\n[[quality]]")[0].rstrip()
    given = sum(len(cell.extracted) for cell in cells)
    for name in MEASURES:
        value = extraction_measures(cells, RELATIONS)[name]
        print(f"{name} {value.value:.4f} [{value.low:.4f}, {value.high:.4f}], n {value.n}")
        text += (
            f'\n\n[[quality]]\non = "DECO test, 12 relations asked of each reply"\n'
            f'measure = "{name}"\nvalue = {value.value:.4f}\nlow = {value.low:.4f}\n'
            f'high = {value.high:.4f}\nn = {value.n}\ncommand = "{COMMAND}"\n'
            f'note = "{given} of {len(test) * len(RELATIONS)} cells hold a triple"'
        )
    card.write_text(text + "\n", "utf-8")


def pair(line: str) -> tuple[str, str]:
    head, _, tail = line.partition(" <sep> ")
    return head, tail


if __name__ == "__main__":
    main()
