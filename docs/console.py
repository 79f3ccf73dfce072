"""Runs the commands of a page anew and writes what they print behind them.

    python docs/console.py docs/knowledge.md

A page names its input files (a line ``FILE:`` in backticks above a block) and shows commands as
``$ grice …`` in blocks; they run in order, in one empty folder. A published file that a command
names is taken from GRICE_DATA; where that is not set, the block stays as it is. A test holds such
pages up to date, numbers aside: the last digit of a score may differ between machines.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from grice.cli import main as grice

FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(?<=^```console\n)\$ .*?(?=^```)", re.DOTALL | re.MULTILINE)
PUBLISHED = {"deco_train.jsonl": "accent_deco/deco_train.jsonl"}
FAILED = 2


def refreshed(page: str) -> str:
    """Return a page with fresh output behind every command."""
    with TemporaryDirectory() as folder:
        for name, content in FILE.findall(page):
            (Path(folder) / name).write_text(content, "utf-8")
        stated = {"COLUMNS": "80", "GRICE_CACHE": "cache", "SOURCE_DATE_EPOCH": "1767225600"}
        with patch.dict(os.environ, stated), chdir(folder):
            return BLOCK.sub(lambda block: run(block[0]), page)


def run(block: str) -> str:
    """Return the commands of a block, each with what it prints at 80 columns."""
    shown = []
    for line in block.splitlines():
        if not line.startswith("$ grice "):
            continue
        words = shlex.split(line.removeprefix("$ grice "))
        for name in PUBLISHED.keys() & set(words):
            if not os.environ.get("GRICE_DATA"):
                return block
            shutil.copy(Path(os.environ["GRICE_DATA"]) / PUBLISHED[name], name)
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = grice(words)
        if status >= FAILED:
            raise SystemExit(f"{line}\n{err.getvalue()}")
        lines = (one.rstrip() for one in out.getvalue().splitlines())
        shown += [line, *(one for one in lines if one)]
    return "\n".join(shown) + "\n"


def without_numbers(page: str) -> str:
    """Return a page whose numbers and hashes are all alike, and its blanks too."""
    plain = re.sub(r"[-+]?\d[\d.,]*", "0", re.sub(r"@[0-9a-f]{8}", "@", page))
    return " ".join(re.sub("─+", "─", plain).split())


def main() -> None:
    """Write the named pages anew."""
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(refreshed(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
