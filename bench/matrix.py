"""Do the tests pass with the oldest and newest Python, and of each dependency?

    python bench/matrix.py [--write docs/versions.md] [--state FILE] [3.11:oldest 3.14:newest …]

Needs uv (``pip install uv``), which resolves the lower bounds that ``pyproject.toml`` states, and
a Python of each version that it can find. Each environment is a folder of its own: the package with
its optional parts, those of training left out, at the oldest or newest version of each direct
dependency; the tools of testing are the newest in all. ``--state`` keeps what was finished, so that
a Python of another system (a container) can add its part to the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EXTRAS = (
    "amr", "annotate", "arrow", "graphs", "llm", "onnx", "serve", "stats", "stores", "traces",
)  # fmt: skip
TOOLS = ("pytest", "pytest-xdist", "pytest-socket", "hypothesis")
TESTS = (
    "tests/annotate/test_annotate_pages.py", "tests/annotate/test_annotate_study.py",
    "tests/annotate/test_annotate_templates.py", "tests/cli/test_progress.py",
    "tests/formats/test_arrow.py", "tests/formats/test_traces.py", "tests/graphs/test_order.py",
    "tests/graphs/test_scores.py", "tests/integrations/test_stores.py",
    "tests/integrations/test_tools.py", "tests/perturb/test_perturb.py",
    "tests/report/test_report_command.py", "tests/report/test_report_writer.py",
    "tests/runtime/test_conversion.py",
    "tests/runtime/test_embedded.py", "tests/runtime/test_endpoint.py",
    "tests/runtime/test_engines.py", "tests/runtime/test_generator.py",
    "tests/runtime/test_spans.py", "tests/scoring/test_api.py", "tests/scoring/test_score_table.py",
    "tests/serve", "tests/stats", "tests/test_outputs.py",
)  # fmt: skip
"""Those that call a dependency; the whole suite in each would take hours."""
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
ENVIRONMENTS = ("3.11:oldest", "3.11:newest", "3.13:newest", "3.14:newest")
"""The oldest versions are tried with the oldest Python: newer ones came after them."""
NAME = re.compile(r"^[\w.-]+")
LAST = re.compile(r"\d+ (?:passed|failed|skipped|error)[^\n]*")


class Outcome(NamedTuple):
    """What came of one environment: the whole Python, the tests' last line, versions by name."""

    python: str
    tests: str
    seconds: float
    versions: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="page to write")
    parser.add_argument("--state", type=Path, help="file that keeps what was finished")
    parser.add_argument("environments", nargs="*", default=ENVIRONMENTS, metavar="PYTHON:WHICH")
    arguments = parser.parse_args()
    uv = shutil.which("uv") or sys.exit("uv is not here: pip install uv")
    state = arguments.state
    outcomes = json.loads(state.read_text("utf-8")) if state and state.exists() else {}
    for name in arguments.environments:
        if name not in outcomes:
            python, label = name.split(":")
            outcomes[name] = tried(uv, python, RESOLUTIONS[label])
            print(name, outcomes[name].tests, flush=True)
            if state:
                state.with_suffix(".new").write_text(json.dumps(outcomes), "utf-8")
                state.with_suffix(".new").replace(state)
    runs = {name: Outcome(*outcome) for name, outcome in outcomes.items()}
    if arguments.write:
        arguments.write.write_text(page(runs), "utf-8")
    sys.exit(any(not passed(run) for run in runs.values()))


def tried(uv: str, python: str, resolution: str) -> Outcome:
    """Make an environment and run the tests in it."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder, "bin", "python")
        package = f"grice[{','.join(EXTRAS)}] @ {ROOT.as_uri()}"
        install = [uv, "pip", "install", "--quiet", "--python", str(inside)]
        for command in (
            [uv, "venv", "--quiet", "--python", python, folder],
            [*install, "--resolution", resolution, package],
            [*install, *TOOLS],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return Outcome(python, f"not installed: {done.stderr.strip()[-600:]}", 0, {})
        return tested(inside)


def tested(python: Path) -> Outcome:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GRICE_", "PYTHON", "VIRTUAL_ENV"))
    }
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "0", "-W", "default", *TESTS],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    last = LAST.search(lines[-1]) if lines else None
    tests = "; ".join([last[0] if last else done.stderr.strip()[-600:], *failed[:20]])
    whole = subprocess.check_output(
        [python, "-c", "import platform as p; print(p.python_version())"]
    )
    listed = subprocess.check_output(
        [python, "-c", "import importlib.metadata as m, json;"
         "print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"],
    )  # fmt: skip
    return Outcome(whole.decode().strip(), tests, seconds, json.loads(listed))


def passed(run: Outcome) -> bool:
    return " passed" in run.tests and not re.search("failed|error", run.tests.lower())


def dependencies() -> dict[str, str]:
    """Return each direct dependency with the bound that the package states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    stated = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    return {NAME.match(line)[0]: line[NAME.match(line).end() :] for line in sorted(stated)}


def page(runs: dict[str, Outcome]) -> str:
    rows = [
        f"| {run.python} | {name.split(':')[1]} | {run.tests.replace('|', '/')} |"
        for name, run in runs.items()
    ]
    names = [f"{run.python}, {name.split(':')[1]}" for name, run in runs.items()]
    versions = [
        f"| {name} | {bound.split(']')[-1]} | "
        + " | ".join(run.versions.get(name.lower(), "–") for run in runs.values())
        + " |"
        for name, bound in dependencies().items()
    ]
    tests = TRIED.format(extras=", ".join(EXTRAS), tests=", ".join(f"`{name}`" for name in TESTS))
    head = PAGE.format(
        tests=textwrap.fill(tests, 100, break_on_hyphens=False, break_long_words=False),
        machine=f"{platform.system()}, {platform.machine()}",
    )
    parts = [head, *rows, VERSIONS + " | ".join(names) + " |", "|---" * (2 + len(runs)) + "|"]
    return "\n".join([*parts, *versions, ""])


PAGE = """# Versions that it was tested with

Written by `python bench/matrix.py --write docs/versions.md`, on {machine}; no figure is typed.
Instruction sets are tried by `make portability` ([portability](portability.md)).

{tests}

| Python | dependencies | tests |
|---|---|---|"""
TRIED = (
    "Each row is an environment of its own: the oldest or newest version of each direct "
    "dependency, with the optional parts {extras}; of training there are none. Not the whole "
    "suite runs, which would take hours, but the tests that call a dependency, as far as they "
    "need neither data nor fetched models: {tests}. What a dependency warns of fails none."
)
VERSIONS = """
## What was installed

| dependency | bound | """

if __name__ == "__main__":
    main()
