"""What an installation weighs, and how long it takes to start, beside other tools.

    python bench/installed.py [--write docs/installed.md] [--state FILE] [NAME ...]

Needs uv (``pip install uv``). Each tool is installed in an environment of its own, as its newest
version from the package index; bytes and packages are counted there, and the processor time of
importing it and of its ``--help`` is the least of several runs. What is not installed within
``--minutes`` is said to be so. ``--state`` keeps what was finished.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RUNS = 5


class Tool(NamedTuple):
    """What is installed, imported and called."""

    package: str
    module: str
    command: str


TOOLS = {
    "grice": Tool(f"grice @ {ROOT.as_uri()}", "grice", "grice"),
    "sacrebleu": Tool("sacrebleu", "sacrebleu", "sacrebleu"),
    "evaluate": Tool("evaluate", "evaluate", "evaluate-cli"),
    "inspect_ai": Tool("inspect_ai", "inspect_ai", "inspect"),
    "deepeval": Tool("deepeval", "deepeval", "deepeval"),
    "ragas": Tool("ragas", "ragas", "ragas"),
    "lm_eval": Tool("lm_eval", "lm_eval", "lm_eval"),
    "bert-score": Tool("bert-score", "bert_score", "bert-score"),
}


class Weight(NamedTuple):
    """What was measured; seconds are None where the call failed.

    Attributes:
        version: As installed; empty if it was not.
        problem: Why it was not installed, or what a call said.
        megabytes: Of everything in the environment's folder of packages.
        packages: How many there are, itself included.
        start: Processor seconds of a bare interpreter.
        imported: Of one that imports the tool.
        helped: Of its ``--help``.
    """

    version: str
    problem: str
    megabytes: float
    packages: int
    start: float | None
    imported: float | None
    helped: float | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TOOLS))
    parser.add_argument("--write", type=Path, help="page to write")
    parser.add_argument("--state", type=Path, help="file that keeps what was finished")
    parser.add_argument("--minutes", type=float, default=10, help="for one installation")
    arguments = parser.parse_args()
    uv = shutil.which("uv") or sys.exit("uv is not here: pip install uv")
    state = arguments.state
    weights = json.loads(state.read_text("utf-8")) if state and state.exists() else {}
    for name in arguments.names or TOOLS:
        if name not in weights:
            weights[name] = weighed(uv, TOOLS[name], 60 * arguments.minutes)
            print(name, *weights[name], flush=True)
            if state:
                state.write_text(json.dumps(weights), "utf-8")
    known = {name: Weight(*weights[name]) for name in TOOLS if name in weights}
    if arguments.write:
        arguments.write.write_text(page(known), "utf-8")


def weighed(uv: str, tool: Tool, seconds: float) -> Weight:
    """Install a tool by itself and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        try:
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
            subprocess.run(
                [uv, "pip", "install", "-q", "--python", python, tool.package],
                check=True, capture_output=True, text=True, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Weight("", f"not installed within {seconds / 60:.0f} minutes", 0, 0, *[None] * 3)
        except subprocess.CalledProcessError as error:
            problem = f"not installed: {(error.stderr or '').strip().splitlines()[-1:]}"
            return Weight("", problem, 0, 0, *[None] * 3)
        packages = next(Path(folder, "lib").glob("python*/site-packages"))
        size = sum(path.lstat().st_size for path in packages.rglob("*") if path.is_file())
        name = tool.package.split(" ")[0]
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        version = subprocess.check_output([python, "-c", code], text=True).strip()
        calls = (
            [python, "-c", "pass"],
            [python, "-c", f"import {tool.module}"],
            [Path(folder, "bin", tool.command), "--help"],
        )
        times = [processor_seconds([*map(str, call)], folder) for call in calls]
        failed = [
            " ".join(call[1:]) for call, time in zip(calls, times, strict=True) if time is None
        ]
        problem = f"fails: {', '.join(map(str, failed))}" if failed else ""
        count = len([*packages.glob("*.dist-info")])
        return Weight(version, problem, size / 1e6, count, *times)


def processor_seconds(command: list[str], home: str) -> float | None:
    """Return the least processor time of a few runs, behind one that compiles; None if it fails."""
    environment = {"PATH": os.environ["PATH"], "HOME": home, "COLUMNS": "80"}
    times = []
    for _ in range(1 + RUNS):
        process = subprocess.Popen(
            command, env=environment, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            return None
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times[1:])


def page(weights: dict[str, Weight]) -> str:
    columns = ("", "version", "MB installed", "packages", "import, CPU s", "`--help`, CPU s", "")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, weight in weights.items():
        shown = (f"{weight.megabytes:,.0f}", str(weight.packages)) if weight.version else ("–", "–")
        times = (
            "–" if time is None else f"{time:.2f}" for time in (weight.imported, weight.helped)
        )
        cells = (name, weight.version or "–", *shown, *times, weight.problem)
        lines.append(f"| {' | '.join(cells)} |")
    starts = [weight.start for weight in weights.values() if weight.start is not None]
    head = PAGE.format(
        python=platform.python_version(),
        machine=f"{platform.system()}, {platform.machine()}",
        runs=RUNS,
        bare=f"{min(starts):.2f}" if starts else "–",
    )
    return "\n".join([head, *lines, ""])


PAGE = """# What it weighs, beside other tools

Written by `python bench/installed.py --write docs/installed.md`, Python {python}, {machine}; no
figure is typed. Each tool stands in an environment of its own, as its newest version; of grice
that holds the models that ship. Processor time is the least of {runs} runs behind one to compile;
a bare interpreter takes {bare} s of it. The tools do different things: this says what each costs
before it does any.
"""

if __name__ == "__main__":
    main()
