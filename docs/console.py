"""Runs the commands that pages show, and writes what they print behind them.

A block of the kind ``console`` holds commands, ``$ grice …``, and what they print at 80 columns;
``$ echo $?`` shows the exit status of the one before, and ``> /dev/null`` drops what is not worth
showing. The blocks of a page run in order, in one folder that holds ``examples/`` and what the page
names as a file (a line ``FILE:`` in backticks above a block). A published file that a command names
is taken from GRICE_DATA, a model that was fetched (:data:`OF_FETCHED_MODELS`, ``--models large``)
from GRICE_TEST_MODELS; where that is not set, the block stays as it is. ``< FILE`` is what a command
reads. Of a command that describes the machine (:data:`OF_THE_MACHINE`), only the last line has to
stay. ``make docs`` writes all pages again, and a test holds them up to date by :func:`drift`.
"""

from __future__ import annotations

import atexit
import difflib
import os
import re
import shlex
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from unittest.mock import patch

from grice.cli import main as grice

ROOT = Path(__file__).parents[1]
FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```)", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)
PUBLISHED = {"deco_train.jsonl": "accent_deco/deco_train.jsonl"}
STATED = {
    "COLUMNS": "80", "GRICE_CACHE": "cache", "GRICE_CONFIG": "config", "GRICE_MODELS": "models",
    "GRICE_STATE": "state", "SOURCE_DATE_EPOCH": "1767225600",
}  # fmt: skip
FAILED = 2
OF_THE_MACHINE = frozenset({"doctor"})
OF_FETCHED_MODELS = frozenset({"steer"})
OF_LARGE = ("large", "large-states")
"""The preset whose sessions are shown, and the model that has to be there to run them again."""
STATUS = ["echo", "$?"]
SILENTLY = [">", "/dev/null"]
OWN_CACHE = re.compile(r"^\$ grice (?:cache|doctor)\b", re.MULTILINE)
"""Pages that show a cache, and have one of their own."""
FOLDERS = ("", "commands", "concepts", "how-to", "research")  # of pages that people write
FOLDER = "/home/you"  # placeholder of the folder in which the commands run

COUNTED = re.compile(r"\d+(?= replies at )")
"""A count of replies above a threshold: on another processor one more may lie above it."""
TOLERANCE = 0.02  # tolerance of figures between processors, as a fraction; hashes have none
MANY, FEW_OF_MANY = 100, 0.01
"""From so many on, a count may differ by this part of it: of what lies beyond a threshold."""
NUMBER = re.compile(r"(?<![\w@.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\w)%?")
RULE = re.compile("─+")


def written_pages() -> list[Path]:
    """Return the pages that people write; those of metrics and results are made."""
    folders = (ROOT / "docs" / name for name in FOLDERS)
    return [ROOT / "README.md", *(page for each in folders for page in sorted(each.glob("*.md")))]


def shown_pages() -> list[Path]:
    """Return the pages that show what commands print."""
    return [page for page in written_pages() if BLOCK.search(page.read_text("utf-8"))]


def refreshed(page: str) -> str:
    """Return a page with fresh output behind every command."""
    with TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        for name, content in FILE.findall(page):
            (Path(folder) / name).write_text(content, "utf-8")
        stated = STATED if OWN_CACHE.search(page) else {**STATED, "GRICE_CACHE": shared_cache()}
        with patch.dict(os.environ, stated), chdir(folder):
            return BLOCK.sub(lambda block: run(block[0]), page)


@cache
def shared_cache() -> str:
    """Return a folder in which answers of models are kept from page to page, which saves time."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def run(block: str) -> str:
    """Return the commands of a block, each with what it prints."""
    lines: list[str] = []
    status = 0
    for command, shown in zip(COMMAND.findall(block), COMMAND.split(block)[1:], strict=True):
        words = shlex.split(re.sub(r"\\\n>?", " ", command.removeprefix("$ ")))
        for name in PUBLISHED.keys() & set(words):
            if not os.environ.get("GRICE_DATA"):
                return block
            shutil.copy(Path(os.environ["GRICE_DATA"]) / PUBLISHED[name], name)
        if not _models_are_here(words):
            return block
        if words == STATUS:
            printed = [f"{status}\n"]
        elif words[-2:] == SILENTLY:
            status, printed = output(words[:-2])[0], []
        else:
            status, printed = output(words)
        kept = shown.splitlines(keepends=True)
        if OF_THE_MACHINE & set(words[1:2]) and kept[-1:] == printed[-1:]:
            printed = kept
        lines += [command, *printed]
    return "".join(lines)


def _models_are_here(words: list[str]) -> bool:
    """Return whether the fetched models that a command needs are installed."""
    models = os.environ.get("GRICE_TEST_MODELS")
    if OF_LARGE[0] in words:
        return models is not None and (Path(models) / OF_LARGE[1]).is_dir()
    return models is not None or not OF_FETCHED_MODELS & set(words[1:2])


def output(words: list[str]) -> tuple[int, list[str]]:
    """Return the exit status of a command and the lines that it prints.

    They are those from the first to the last that is not blank.
    """
    if words[0] != "grice":
        raise SystemExit(f"{shlex.join(words)}: only grice runs here; use another kind of block")
    out, err, given = StringIO(), StringIO(), StringIO()
    if "<" in words:
        *words, _, read = words
        given = StringIO(Path(read).read_text("utf-8"))
    models = os.environ.get("GRICE_TEST_MODELS")
    fetched = {}
    if models and (words[1] in OF_FETCHED_MODELS or OF_LARGE[0] in words):
        fetched = {"GRICE_MODELS": models}
    streams = patch("sys.stdin", given), redirect_stdout(out), redirect_stderr(err)
    with patch.dict(os.environ, fetched), streams[0], streams[1], streams[2]:
        status = grice(words[1:])
    if status >= FAILED:
        raise SystemExit(f"{shlex.join(words)}\n{err.getvalue()}")
    printed = out.getvalue().replace(str(Path.cwd()), FOLDER)
    text = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
    return status, [f"{line}\n" for line in text.splitlines()]


def drift(shown: str, fresh: str) -> list[str]:
    """Return how the output on a page differs from fresh output, a line each; none if it does not.

    Words, small counts and hashes must agree, figures within :data:`TOLERANCE`. Where lines break,
    and in which order entries stand, may differ: figures that are nearly equal decide it.
    """
    changed: list[str] = []
    for old, new in zip(outputs(shown), outputs(fresh), strict=True):
        if plain(old) != plain(new):
            old, new = by_words(old), by_words(new)
        if plain(old) != plain(new):
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
            changed += [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        else:
            pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
            changed += [f"{a} is now {b}" for a, b in pairs if not alike(a, b)]
    return changed


def outputs(page: str) -> list[str]:
    """Return the output of each command of a page."""
    parts = [part for block in BLOCK.findall(page) for part in COMMAND.split(block)[1:]]
    return [COUNTED.sub("some", part) for part in parts]


def plain(text: str) -> list[str]:
    """Return the words of a text with one sign for every number and every rule."""
    return RULE.sub("─", NUMBER.sub("#", text)).split()


def by_words(text: str) -> str:
    """Return a text with its entries in the order of their words.

    An entry is a line and those below it that are indented further, which are entries themselves.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    entries: list[list[str]] = []

    def indent(line: str) -> int:
        return len(line) - len(line.lstrip())

    for line in lines:
        if not entries or indent(line) <= indent(entries[-1][0]):
            entries.append([])
        entries[-1].append(line)
    sorted_inside = ["\n".join([first, by_words("\n".join(rest))]) for first, *rest in entries]
    return "\n".join(sorted(sorted_inside, key=plain)).strip("\n")


def alike(value: str, other: str) -> bool:
    """Return whether two numbers as printed are the same within the tolerance."""
    first, second = (float(number.strip("%").replace(",", "")) for number in (value, other))
    if "." in value + other:
        return abs(first - second) <= TOLERANCE * (100 if value.endswith("%") else 1)
    return first == second or (first >= MANY and abs(first - second) <= FEW_OF_MANY * first)
