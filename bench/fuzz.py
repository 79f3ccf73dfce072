"""Damage conversation files at random and read them: no crash, nothing endless.

    python bench/fuzz.py [COUNT] [--seed 0]

Takes the made examples of every format, changes, cuts, repeats or mixes bytes of them, and reads
the outcome. Whatever comes must be conversations, or records of what is wrong, or an InputError
that says so; anything else is printed with its seed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import collections
import random
import tempfile
import time
import traceback
from pathlib import Path

from grice.errors import GriceError, RecordError
from grice.formats import find_formats, read

FORMATS = find_formats().formats

ROOT = Path(__file__).parent.parent
TOKENS = (
    b'{"', b'":', b"null", b"\xff\xfe", b"\x00", b"\n\n", b"[[[[", b'"turns":', b"1e999",
    b"\\ud800", b",", b"</UTT>", b"\xef\xbb\xbf", b"-1", b'{"role":"user"}', b"\r", b"\t",
    b"true", b"NaN",
)  # fmt: skip
MOST_SECONDS = 5.0


def samples() -> list[tuple[str, bytes]]:
    """Return name and bytes of an example of each format, and of the shipped example files."""
    seeds = [(f"{form.name}.txt", form.example.encode()) for form in FORMATS.values()]
    files = sorted((ROOT / "examples").glob("*.*"))
    return seeds + [(path.name, path.read_bytes()[:20_000]) for path in files]


def damaged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return the bytes after one to eight random changes."""
    kept = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(kept) + 1)
        upto = min(len(kept), at + rng.randint(0, 40))
        kind = rng.randrange(6)
        if kind == 0:
            kept[at:upto] = rng.randbytes(rng.randint(0, 8))
        elif kind == 1:
            kept[at:at] = rng.choice(TOKENS)
        elif kind == 2:
            del kept[at:upto]
        elif kind == 3:
            kept[at:at] = kept[at:upto] * rng.randint(1, 5)
        elif kind == 4:
            del kept[at:]
        else:
            start = rng.randrange(len(other) + 1)
            kept[at:at] = other[start : start + 200]
    return bytes(kept)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    known = samples()
    outcomes: collections.Counter[str] = collections.Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.count):
            rng = random.Random(f"{arguments.seed} {number}")
            name, data = rng.choice(known)
            path = Path(folder) / name
            path.write_bytes(damaged(data, rng.choice(known)[1], rng))
            start = time.monotonic()
            try:
                for record in read(path):
                    outcomes[
                        "broken records" if isinstance(record, RecordError) else "conversations"
                    ] += 1
            except GriceError:
                outcomes["files refused"] += 1
            except Exception:  # noqa: BLE001 - whatever else comes is what is looked for
                faults += 1
                print(f"seed {arguments.seed}, file {number} ({name}):\n{traceback.format_exc()}")
            if time.monotonic() - start > MOST_SECONDS:
                faults += 1
                print(f"seed {arguments.seed}, file {number} ({name}): over {MOST_SECONDS:g} s")
            path.unlink()
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{arguments.count:,} damaged files of {len(known)} examples and {len(FORMATS)} formats: "
          f"{counts}; {faults} faults")  # fmt: skip
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
