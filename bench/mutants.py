"""Change the code in small ways and see which changes no test notices.

    python bench/mutants.py [--each 60] [--seed 0] [--minutes 12] [--least 0] [--write FILE]

Needs mutmut, which ``make mutants`` brings and ``[tool.mutmut]`` in ``pyproject.toml`` sets up. The
changes of each area are drawn by a seed; ``mutmut show NAME`` prints one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from grice.stats.estimate import wilson_interval

ROOT = Path(__file__).parents[1]
AREAS = ("scoring", "stats", "evaluation", "detectors", "serve", "models.download")
FIRST = "grice.detectors.conversation.*"  # only a run makes the changes that one can draw from
NOTICED = ("killed", "timeout", "segfault")
MISSED = ("survived", "no tests")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=60, help="changes drawn of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=12, help="what is not tried then is left")
    parser.add_argument("--least", type=float, default=0, help="share that must be noticed")
    parser.add_argument("--write", type=Path, help="page to write, else it is printed")
    given = parser.parse_args()
    if not (ROOT / "src").exists():  # below it mutmut takes paths for names of modules
        (ROOT / "src").symlink_to("packages/grice/src")
    if not statuses():
        (ROOT / "mutants/src").mkdir(parents=True, exist_ok=True)  # Python skips what is missing
        mutmut("run", FIRST)
    known = statuses()
    drawn = sample(known, given.each, given.seed)
    # Those that an earlier run tried are tried again: tests may have been added since.
    mutmut("run", *drawn, seconds=60 * given.minutes)
    known = statuses()
    judged = {name: known[name] for name in drawn}
    text = page(known, judged, {name: change(name) for name in drawn if judged[name] in MISSED})
    if given.write:
        given.write.write_text(text, "utf-8")
    print(text if not given.write else "\n".join(rows(known, judged)))
    tried = [status in NOTICED for status in judged.values() if status in NOTICED + MISSED]
    if sum(tried) < given.least * len(tried):
        sys.exit(f"under {given.least:.0%} of the changes are noticed")


def mutmut(*words: str, seconds: float | None = None) -> str:
    """Run mutmut and return what it prints; past its time it ends with the results so far."""
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "mutants/src")}  # also of commands in tests
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    try:
        shown, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate()
    else:
        if process.returncode:
            sys.exit(f"mutmut {words[0]} ended with {process.returncode}:\n{shown[-3000:]}")
    return shown


def statuses() -> dict[str, str]:
    """Return what is known of each change by its name."""
    if not (ROOT / "mutants").is_dir():
        return {}
    shown = mutmut("results", "--all", "true")
    return dict(re.findall(r"^\s*(\S+): (.+?)\s*$", shown, re.MULTILINE))


def area(name: str) -> str:
    """Return the area that a change is in."""
    return next((area for area in AREAS if name.startswith(f"grice.{area}.")), "")


def sample(known: Mapping[str, str], each: int, seed: int) -> list[str]:
    """Draw names of every area, the same ones for a seed."""
    drawn = []
    for place in AREAS:
        names = sorted(name for name in known if area(name) == place)
        drawn += random.Random(f"{seed} {place}").sample(names, min(each, len(names)))
    return drawn


def change(name: str) -> str:
    """Return the lines that a change takes away and adds."""
    changed = re.findall(r"^([-+])(?!--|\+\+) *(.*)", mutmut("show", name), re.MULTILINE)
    return "\n".join(map(" ".join, changed))


def rows(known: Mapping[str, str], judged: Mapping[str, str]) -> list[str]:
    """Return a row of the table for each area."""
    lines = []
    for place in AREAS:
        counts = Counter(status for name, status in judged.items() if area(name) == place)
        noticed = sum(counts[status] for status in NOTICED)
        tried = noticed + sum(counts[status] for status in MISSED)
        score = "–"
        if tried:
            low, high = wilson_interval(noticed / tried, tried, 0.95)
            score = f"{noticed / tried:.3f} [{low:.2f}, {high:.2f}]"
        every = sum(area(name) == place for name in known)
        left = counts.total() - tried
        cells = (f"`{place}`", every, tried, noticed, counts["survived"], counts["no tests"], left)
        lines.append(f"| {' | '.join(map(str, cells))} | {score} |")
    return lines


def page(known: Mapping[str, str], judged: Mapping[str, str], changes: Mapping[str, str]) -> str:
    parts = [PAGE.format(version=version("mutmut")), *rows(known, judged), SURVIVED]
    for name, lines in sorted(changes.items()):
        parts += [f"`{name.removeprefix('grice.')}`\n", f"```diff\n{lines}\n```\n"]
    return "\n".join(parts)


PAGE = """# Mutation score

Written by `make mutants` (`bench/mutants.py`) with mutmut {version}; no figure is typed.

mutmut changes the code in small ways, one at a time, and the tests that reach the changed function
run. A change that makes one fail is noticed. Of each area as many changes are drawn by a seed; the
score is the share that is noticed, in brackets its 95 % interval (Wilson). Some changes alter no
behaviour, so that 1 is out of reach. `strict=` and the words of errors are not changed.

| area | changes there are | tried | noticed | survived | no test reaches it | not tried | score |
|---|---|---|---|---|---|---|---|"""
SURVIVED = """
## What no test notices
"""

if __name__ == "__main__":
    main()
