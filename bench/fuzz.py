"""Damage files of every format, and read them: nothing but grice's own errors may come::

    python bench/fuzz.py --seconds 300

Begun with are the examples of ``docs/formats.md``, the files of ``examples/``, what tracers wrote
(``packages/grice/tests/readers/samples``) and what broke a reader before
(``packages/grice/tests/readers/fuzz``, which a test reads again). What breaks one now, or takes
longer than a file of its size may, is made smaller and kept there, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import tempfile
import time
from pathlib import Path

from grice.data import Conversation
from grice.errors import GriceError, RecordError
from grice.readers import find_formats, read

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "packages/grice/tests/readers" / "samples"
KEPT = ROOT / "packages/grice/tests/readers" / "fuzz"
PATIENCE = 5.0  # seconds that a file of a few KiB may take
TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\r", b"\t", b"\0", b"null", b"-1",
    b"1e999", b'""', b"[]", b"{}", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf",
)  # fmt: skip


def seeds() -> list[bytes]:
    page = (ROOT / "docs/formats.md").read_text()
    examples = [found.encode() for found in re.findall(r"```text\n(.*?)```", page, re.DOTALL)]
    files = [*SAMPLES.glob("*.jsonl"), *KEPT.glob("*.bin")]
    shown = [file.read_bytes()[:20_000] for file in (ROOT / "examples").glob("*.*")]
    return examples + shown + [file.read_bytes() for file in files]


def damaged(data: bytes, draw: random.Random, others: list[bytes]) -> bytes:
    """Return a file with a few changes."""
    content = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(content) + 1)
        end = min(len(content), at + draw.randint(0, 40))
        match draw.randrange(6):
            case 0:
                content[at:at] = draw.choice(TOKENS)
            case 1:
                del content[at:end]
            case 2:
                content[at:at] = content[at:end] * draw.randint(1, 200)
            case 3 if at < len(content):
                content[at] = draw.randrange(256)
            case 4:
                del content[at:]
            case _:
                other = draw.choice(others)
                cut = draw.randrange(len(other) + 1)
                content[at:end] = other[cut : cut + draw.randint(0, 400)]
    return bytes(content)


def problem(data: bytes, file: Path) -> str | None:
    """Return what is wrong with how a file is read, by its looks and by each format named."""
    file.write_bytes(data)
    for form in (None, *find_formats().formats):
        began = time.perf_counter()
        try:
            for record in read(file, format=form):
                if isinstance(record, Conversation):
                    if not record.turns:
                        return f"{form}: a conversation without a turn"
                elif not isinstance(record, RecordError):
                    return f"{form}: yielded {type(record).__name__}"
        except GriceError:
            pass
        except Exception as error:  # noqa: BLE001 - what is looked for
            return f"{form}: {type(error).__name__}: {error}"
        if (took := time.perf_counter() - began) > PATIENCE:
            return f"{form}: took {took:.1f} s"
    return None


def smaller(data: bytes, file: Path) -> bytes:
    """Return the smallest file that still breaks a reader, by leaving out ever smaller parts."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if problem(shorter, file) is not None:
                data = shorter
            else:
                at += size
        size //= 2
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    draw, begun_with = random.Random(seed), seeds()
    until, count, broken = time.monotonic() + arguments.seconds, 0, set[str]()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        while time.monotonic() < until:
            data = damaged(draw.choice(begun_with), draw, begun_with)
            count += 1
            what = problem(data, file)
            if (
                what is None
                or (kind := what.partition(":")[0] + what.partition(":")[2][:24]) in broken
            ):
                continue
            broken.add(kind)
            data = smaller(data, file)
            KEPT.mkdir(exist_ok=True)
            kept = KEPT / f"{hashlib.sha256(data).hexdigest()[:16]}.bin"
            kept.write_bytes(data)
            print(f"{what}\n  kept as {kept.relative_to(ROOT)}", flush=True)
    print(f"seed {seed}: {count:,} files from {len(begun_with)}, {len(broken)} broke a reader")
    if broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
