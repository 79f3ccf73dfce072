"""Build ``packages/grice/src/grice/data/antonyms.tsv.gz``: words of opposite meaning.

    GRICE_DATA=... python -m grice_research.recipes.antonyms.build

Pairs of the Open English WordNet (CC BY 4.0; WordNet licence) and the antonyms of ConceptNet
(CC BY-SA 4.0), single words only. One line per word and part of speech: the word; n, v, a or r;
its antonyms. ConceptNet states no part of speech: a pair of it is kept for each reading that
both words have in the lexicon, but for verbs, which it pairs loosely ("say" and "listen").
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from itertools import permutations
from pathlib import Path

from grice.text.lexicon import look_up
from grice_research.places import PRODUCT_DATA
from grice_research.recipes.common import opened, parser_of, table_of

OUT = PRODUCT_DATA / "antonyms.tsv.gz"
WORDNET, CONCEPTNET = "conceptnet/wordnet_antonyms.tsv.gz", "deam/conceptnet_antonyms.txt.gz"
POS = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}


def pairs(data: Path) -> set[tuple[str, str, str]]:
    """Return (word, part of speech, antonym), both ways round."""
    triples = set()
    for row in table_of(data / WORDNET):
        for first_word, other in permutations((row["a"], row["b"])):
            triples.add((first_word, POS[row["pos"]], other))
    with opened(data / CONCEPTNET) as lines:
        rows = [line.strip().split("|||") for line in lines]
    named = {(first, second) for first, relation, second in rows if relation == "/r/Antonym"}
    for first, second in named:
        for pos in set(look_up(first).readings) & set(look_up(second).readings):
            if pos != "v":
                triples |= {(first, pos, second), (second, pos, first)}
    return {
        (source_word, pos, other)
        for source_word, pos, other in triples
        if source_word != other and all(word.isalpha() and word.islower() and len(word) > 2
                                for word in (source_word, other))
    }  # fmt: skip


def main() -> None:
    grouped = defaultdict(set)
    for first_word, pos, other in pairs(parser_of(__doc__).parse_args().data):
        grouped[first_word, pos].add(other)
    content = "".join(
        f"{word}\t{pos}\t{' '.join(sorted(others))}\n"
        for (word, pos), others in sorted(grouped.items())
    )
    OUT.write_bytes(gzip.compress(content.encode(), mtime=0))
    print(f"{len(grouped):,} words, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
