"""Keeps what every command prints and writes, and holds two such records against each other.

    python bench/golden_outputs.py write before [--only kb]     of the version on PYTHONPATH
    python bench/golden_outputs.py compare before after [--renames names.tsv]

``write`` runs the commands of ``golden_outputs.txt``, the groups side by side, and keeps of each
what it printed, its exit status, and the files that it left; with GRICE_DATA set, a few benches
too. It takes some minutes. ``compare`` finds every byte that differs; its exit status is 1 if one
does. A table of renames, a line ``before<TAB>after`` each, is applied to the first record, names of
files included. Then a difference of blanks and rules alone is counted but is none: a longer name
moves columns.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from golden_inputs import write_inputs

import grice

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
PUBLISHED = "data "  # how names of groups begin that need the published data sets
SHOWN = 12  # lines of a difference that are printed
LEFT_OUT = ("cache", "data", "__pycache__")
"""Files that commands leave and that say nothing: the cache, and the data sets."""
LAYOUT = re.compile(rb"(?:\s|\xe2\x94\x80)+")  # Blanks, and the rule in tables


class Case(NamedTuple):
    """One command."""

    name: str
    words: list[str]
    stdin: str | None
    stdout: str | None


def read_groups() -> dict[str, list[Case]]:
    """Return the commands by group, with those that ask for help."""
    lines = (HERE / "golden_outputs.txt").read_text("utf-8").splitlines()
    groups: dict[str, list[Case]] = {}
    for line in (*lines, "[metric pages]", *metric_pages()):
        if line.startswith("["):
            name = line.strip("[]")
            groups[name] = []
        elif line and not line.startswith("#"):
            groups[name].append(case(line))
    return groups


def case(line: str) -> Case:
    """Return the command of a line."""
    name, _, command = line.partition(":")
    words = shlex.split(command)
    files = {mark: words[words.index(mark) + 1] for mark in "<>" if mark in words}
    words = words[: len(words) - 2 * len(files)]
    return Case(name, words, files.get("<"), files.get(">"))


def metric_pages() -> list[str]:
    """Return commands that describe every metric."""
    table = run(["list"], Path.cwd()).stdout.partition(" format ")[0].partition(" metric ")[2]
    metrics = re.findall(r"^ ([a-z_]+)\*? ", table, re.MULTILINE)
    return [f"list {name}: list {name}" for name in metrics]


def run(
    words: list[str], folder: Path, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command at 80 columns, in a folder that hides where it lies."""
    python = [sys.executable, *words[1:]] if words[:1] == ["python"] else None
    source = str(Path(grice.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    stated = {"PYTHONPATH": paths, "COLUMNS": "80", "GRICE_CACHE": "cache",
              "GRICE_CONFIG": "config", "GRICE_MODELS": "models", "USER": "golden",
              "LOGNAME": "golden", "TZ": "UTC", "SOURCE_DATE_EPOCH": "1767225600",
              "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    if (folder / "data").exists():
        stated["GRICE_DATA"] = "data"
    kept = {name: value for name, value in os.environ.items() if name != "GRICE_DATA"}
    with open(folder / stdin if stdin else os.devnull, encoding="utf-8") as given:  # noqa: PTH123
        return subprocess.run(
            python or [sys.executable, "-m", "grice", *words], cwd=folder, env={**kept, **stated},
            stdin=given, capture_output=True, text=True, errors="surrogateescape", check=False,
        )  # fmt: skip


def write(out: Path, only: str) -> None:
    """Run all groups, or those whose name holds a text."""
    chosen = {name: some for name, some in read_groups().items() if only in name}
    if not os.environ.get("GRICE_DATA"):
        chosen = {name: some for name, some in chosen.items() if not name.startswith(PUBLISHED)}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        for name in workers.map(lambda item: run_group(out, *item), chosen.items()):
            print(f"{name}: {len(chosen[name])} commands", flush=True)


def run_group(out: Path, name: str, some: list[Case]) -> str:
    """Run the commands of a group, keep what they print and leave, and return its name."""
    shutil.rmtree(out / name, ignore_errors=True)
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_inputs(folder)
        if name.startswith(PUBLISHED):
            (folder / "data").symlink_to(Path(os.environ["GRICE_DATA"]).resolve())
        given = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        for case in some:
            done = run(case.words, folder, case.stdin)
            if case.stdout:
                (folder / case.stdout).write_text(done.stdout, "utf-8")
            parts = {"command": shlex.join(case.words), "status": str(done.returncode),
                    "stdout": done.stdout, "stderr": done.stderr}  # fmt: skip
            for part, text in parts.items():
                keep(out / name / case.name / part, text.encode("utf-8", "surrogateescape"), place)
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            made = path.is_file() and given.get(path) != path.stat().st_mtime_ns
            if made and inside.parts[0] not in LEFT_OUT:
                keep(out / name / "files" / inside, path.read_bytes(), place)
    return name


def keep(path: Path, content: bytes, place: str) -> None:
    """Write a content that does not say where it was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.replace(place.encode(), b"PLACE"))


def read_renames(path: Path | None) -> dict[str, str]:
    """Return what is renamed, the longest first."""
    if path is None:
        return {}
    pairs = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()]
    return {pair[0]: pair[1] for pair in sorted(pairs, key=lambda pair: -len(pair[0]))}


def renamed(content: bytes, renames: Mapping[str, str]) -> bytes:
    """Return a content with its names replaced where they stand as words of their own."""
    if not renames:
        return content
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    words = "|".join(as_word(before) for before in renames)
    return re.sub(words, lambda match: renames[match[0]], text).encode("utf-8")


def as_word(name: str) -> str:
    """Return a pattern of a name that is no part of a longer word."""
    first = r"(?<!\w)" if name[0].isalnum() else ""
    last = r"(?!\w)" if name[-1].isalnum() else ""
    return f"{first}{re.escape(name)}{last}"


def compare(before: Path, after: Path, renames: Mapping[str, str]) -> int:
    """Print what differs and return the exit status."""
    first = {renamed(str(path.relative_to(before)).encode(), renames).decode(): path
             for path in before.rglob("*") if path.is_file()}  # fmt: skip
    second = {str(path.relative_to(after)): path for path in after.rglob("*") if path.is_file()}
    differ = layout = 0
    for name in sorted(first.keys() | second.keys()):
        if name not in first or name not in second:
            print(f"only {'after' if name not in first else 'before'}: {name}")
            differ += 1
            continue
        old, new = renamed(first[name].read_bytes(), renames), second[name].read_bytes()
        if old == new:
            continue
        if renames and LAYOUT.sub(b"", old) == LAYOUT.sub(b"", new):
            layout += 1
            continue
        differ += 1
        print(f"differs: {name}")
        show(old, new)
    both = len(first.keys() & second.keys())
    print(f"{both:,} files in both; {differ:,} differ, {layout:,} more in blanks alone")
    return 1 if differ else 0


def show(old: bytes, new: bytes) -> None:
    """Print the first lines that differ, or that bytes do."""
    try:
        texts = old.decode("utf-8").splitlines(), new.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        print(f"    {len(old):,} bytes before, {len(new):,} after")
        return
    lines = [line for line in difflib.unified_diff(*texts, lineterm="", n=0)
             if not line.startswith(("---", "+++", "@@"))]  # fmt: skip
    for line in lines[:SHOWN]:
        print(f"    {line[:200]}")
    if len(lines) > SHOWN:
        print(f"    … {len(lines) - SHOWN:,} more lines")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    writing = steps.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--only", default="", metavar="TEXT", help="groups whose name holds this")
    comparing = steps.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--renames", type=Path, metavar="FILE.tsv")
    arguments = parser.parse_args()
    if arguments.step == "write":
        write(arguments.folder, arguments.only)
        return 0
    return compare(arguments.before, arguments.after, read_renames(arguments.renames))


if __name__ == "__main__":
    sys.exit(main())
