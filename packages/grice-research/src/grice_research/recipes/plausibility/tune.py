"""Prints how much a known tail should count, on the development part of CSKB Population.

python -m grice_research.recipes.plausibility.tune [--data ../shared/data]
"""

from __future__ import annotations

import numpy as np

from grice.knowledge.lookup import best_known
from grice.knowledge.plausibility import TripleHead, TripleSettings
from grice.knowledge.store import BundledStore
from grice.models.bundle import open_bundle
from grice.models.embedded import EmbeddedEncoder
from grice.models.registry import read_settings
from grice_research.recipes.options import parser_of
from grice_research.recipes.plausibility.data import ACCENT
from grice_research.recipes.plausibility.evaluate import WORK, read_population
from grice_research.recipes.plausibility.measure import weighted
from grice_research.recipes.plausibility.vectors import KeptEncoder, Vectors


def main() -> None:
    parser = parser_of(__doc__)
    engine = EmbeddedEncoder(open_bundle("encoder"), mode="exact", threads=1)
    encoder = KeptEncoder(Vectors(WORK / "vectors"), engine)
    triples, labels, names = read_population(parser.parse_args().data, "dev")
    rows = np.flatnonzero(np.isin(names, ACCENT))
    chosen = [triples[i] for i in rows]
    known = best_known(
        BundledStore(open_bundle("atomic")), chosen, encoder=encoder, heads=2, tails=2
    )
    bundle = open_bundle("plausibility")
    head = TripleHead(bundle, read_settings(bundle, TripleSettings), encoder)
    values = np.array(head.plausibility(chosen), float)
    scores = np.log(values) - np.log1p(-np.minimum(values, 1 - 1e-7))
    similar = np.array([0.0 if tail is None else tail.tail_similarity for tail in known])
    print(f"mean similarity of the best known tail: {similar.mean():.2f}")
    print(f"similarity alone: {weighted(similar, labels[rows], names[rows]):.4f}")
    for weight in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0):
        value = weighted(scores + weight * similar, labels[rows], names[rows])
        print(f"weight {weight}: {value:.4f}")


if __name__ == "__main__":
    main()
