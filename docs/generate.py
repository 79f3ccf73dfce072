"""Write what is generated: metric pages, formats, output in the README, the limits of metrics.

What metrics do not see (``src/grice/data/limits.json``) comes from the recorded runs of the
benches in ``docs/results``. A test holds the pages up to date. The README's output is real but not compared: the last digit of
a score may differ between machines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec

from grice.evaluation.limits import limits_of
from grice.evaluation.runs import read_runs
from grice.formats import document
from grice.metrics.limits import FILE, Recorded
from grice.metrics.page import metric_page
from grice.metrics.registry import find_metrics

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
LIMITS = HERE.parent / "src" / "grice" / "data" / FILE
SHOWN = re.compile(r"(?<=```\n)(\$ grice (?P<words>[^\n]*)\n).*?(?=```)", re.DOTALL)


def pages() -> dict[Path, str]:
    """Return the content of every generated page by its path."""
    registry = find_metrics()
    built_in = (name for name, origin in registry.origins.items() if origin == "grice")
    known = limits_of(read_runs(HERE / "results"))
    metrics = {
        HERE / "metrics" / f"{name}.md": metric_page(registry.named(name), known)
        for name in built_in
    }
    return {**metrics, HERE / "formats.md": document(), LIMITS: _lines(known)}


def _lines(known: Recorded) -> str:
    """Return limits as JSON with a comparison a line, so that a change of one is one of a line."""
    text = msgspec.json.encode(known).decode()
    return text.replace('{"on":', '\n{"on":') + "\n"


def readme() -> str:
    """Return the README with fresh output behind every ``$ grice`` line."""
    return SHOWN.sub(lambda m: m[1] + output(m["words"]), README.read_text("utf-8"))


def output(words: str) -> str:
    """Return what a command prints at 80 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "grice", *shlex.split(words)],
        capture_output=True,
        text=True,
        check=True,
        cwd=README.parent,
        env={**os.environ, "COLUMNS": "80"},
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def main() -> None:
    """Write the pages."""
    for path, content in {**pages(), README: readme()}.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")


if __name__ == "__main__":
    main()
