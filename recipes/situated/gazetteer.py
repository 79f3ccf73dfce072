"""Write the names of places, events and times of WordNet 3.0 that the tagger looks up.

    python recipes/situated/gazetteer.py --wordnet /usr/share/wordnet

The folder is that of the Debian package ``wordnet-base``: ``data.noun``.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

WORK = Path(__file__).parent / "work"
LOCATION, TIME, ACT, EVENT = "15", "28", "04", "11"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    folder = parser.parse_args().wordnet
    found: set[str] = set()
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
                    found.add(f"{mark}\t{name}")
    WORK.mkdir(exist_ok=True)
    target = WORK / "names.txt.gz"
    target.write_bytes(gzip.compress("\n".join(sorted(found)).encode(), 9, mtime=0))
    print(f"{len(found):,} names, {target.stat().st_size:,} bytes: {target}")


if __name__ == "__main__":
    main()
