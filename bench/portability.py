"""Is the promise kept with every instruction set, and how far do scores move between them?

    make portability      writes docs/portability.md

A process of its own for each environment that this processor can run: ``grice doctor`` in both
modes, the tests of the promise in some of them, and the scores of ``examples/`` beside those of the
default environment. The exit status is 1 if the promise is broken in any; that scores differ
between environments breaks none. It takes some minutes on an idle machine.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from machine import VARIABLES, Machine, describe_machine

from grice.stats.correlations import correlation_value

Row: TypeAlias = Mapping[str, object]

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "portability.md"
EXAMPLES = ("examples/charity.txt", "examples/chatbots.jsonl")
MODES = ("fast", "exact")
METRICS = ("coherence", "commonsense", "engagement", "relevance", "repetition", "sensibleness")
TESTS = tuple(
    f"packages/grice/tests/{name}.py"
    for name in (
        "models/test_embedded", "models/test_mlp", "models/test_spans",
        "knowledge/test_generative", "metrics/test_conformance",
    )
)  # fmt: skip
SECONDS = 3600


class Environment(NamedTuple):
    """Variables of a process, instruction sets or ``x86-64`` that it needs, a title.

    Where it is ``tested``, the tests of the promise run in it, not the doctor alone.
    """

    variables: str = ""
    needs: tuple[str, ...] = ()
    workers: int = 1
    tested: bool = False
    label: str = ""

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        if self.variables:
            return f"`{self.variables}`"
        return "default" if self.workers == 1 else f"{self.workers} workers"


FORCED = (
    ("CT2_FORCE_CPU_ISA=AVX", "AVX"), ("CT2_FORCE_CPU_ISA=AVX2", "AVX2"),
    ("CT2_FORCE_CPU_ISA=AVX512", "AVX-512"), ("CT2_USE_MKL=1", ""),
    ("CT2_USE_MKL=1 MKL_NUM_THREADS=4", ""), ("CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS=SSE4_2", ""),
    ("CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS=AVX", "AVX"),
    ("CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS=AVX2", "AVX2"),
    ("CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS=AVX512", "AVX-512"),
    ("CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=SSE41", ""), ("CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=AVX", "AVX"),
    ("CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=AVX2", "AVX2"),
    ("CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=AVX512_CORE", "AVX-512"),
    ("OPENBLAS_CORETYPE=Prescott", ""), ("OPENBLAS_CORETYPE=Nehalem", ""),
    ("OPENBLAS_CORETYPE=Sandybridge", "AVX"), ("OPENBLAS_CORETYPE=Haswell", "AVX2"),
    ("OPENBLAS_CORETYPE=Zen", "AVX2"), ("OPENBLAS_CORETYPE=SkylakeX", "AVX-512"),
)  # fmt: skip
"""Variables that choose kernels of x86-64, and the instruction set that they need beside it."""
TESTED = ("CT2_USE_MKL=1 MKL_NUM_THREADS=4", "CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS=AVX2")


def environments() -> list[Environment]:
    """Return the environments, the default one first."""
    features = np.show_config("dicts")["SIMD Extensions"].get("found", ())
    # numpy does without whatever it dispatches on and is told to disable.
    old = f"NPY_DISABLE_CPU_FEATURES={','.join(features)}"
    oldest = "CT2_FORCE_CPU_ISA=GENERIC CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=SSE41 "
    oldest += f"OPENBLAS_CORETYPE=Prescott {old}"
    return [
        Environment(tested=True),
        Environment(workers=2),
        Environment("OMP_NUM_THREADS=4"),
        Environment("CT2_FORCE_CPU_ISA=GENERIC", tested=True),
        *(Environment(each, (need or "x86-64",), tested=each in TESTED) for each, need in FORCED),
        Environment(old, ("x86-64",)),
        Environment(oldest, ("x86-64",), tested=True, label="an old processor"),
    ]


def possible(environment: Environment, instructions: Collection[str]) -> bool:
    """Return whether a process can run so here: forcing what is not there would abort it."""
    x86 = ("x86-64",) if platform.machine().lower() in ("x86_64", "amd64") else ()
    return {*environment.needs} <= {*instructions, *x86}


class Outcome(NamedTuple):
    """Kernels, what the doctor and the tests say (empty where none ran), scores by mode."""

    kernels: str
    doctor: dict[str, str]
    tests: str
    scores: dict[str, list[dict[str, object]]]


class Movement(NamedTuple):
    """Number of replies judged in both runs, their absolute differences, rank correlation.

    ``status`` is how many have another status.
    """

    n: int
    largest: float
    mean: float
    rank: float
    status: int


def broken(outcomes: Mapping[Environment, Outcome]) -> list[Environment]:
    """Return where the promise is broken, or nothing can be scored that would show it kept."""
    default = next(iter(outcomes.values()))
    return [
        environment
        for environment, outcome in outcomes.items()
        if {*outcome.doctor.values()} != {"kept"}
        or outcome.tests not in ("", "passed")
        or not all(outcome.scores.values())
        or (not environment.variables and outcome.scores != default.scores)  # other workers
    ]


def tried(environment: Environment) -> Outcome:
    """Return what comes out in an environment."""
    doctor = {}
    for mode in MODES:
        words = ("doctor", "--json", "--mode", mode, "-m", ",".join(METRICS))
        doctor[mode] = judged(call(environment, "-m", "grice", *words))
    done = call(environment, "bench/machine.py")
    chosen = json.loads(done.stdout)["kernels"] if done.returncode == 0 else {}
    kernels = "; ".join(f"{name}: {value}" for name, value in chosen.items())
    scores = {mode: scored(environment, mode) for mode in MODES}
    return Outcome(kernels, doctor, tests(environment) if environment.tested else "", scores)


def judged(done: subprocess.CompletedProcess[str]) -> str:
    """Return what the doctor says of the promise."""
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return f"ended with {done.returncode}: {last_line(done.stderr)}"
    metrics = {row["metric"] for row in report["arrangements"] if row["differing"]}
    wrong = [f"broken: {', '.join(sorted(metrics))}"] if metrics else []
    return "; ".join([*wrong, *report["problems"]]) or "kept"


def scored(environment: Environment, mode: str) -> list[dict[str, object]]:
    """Return the scores of the examples; none if they could not be scored."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.jsonl"
        words = ("-m", ",".join(METRICS), "--mode", mode, "--workers", str(environment.workers))
        call(environment, "-m", "grice", "score", *EXAMPLES, *words, "--no-cache", "-o", str(out))
        lines = out.read_text("utf-8").splitlines() if out.exists() else []
    return [json.loads(line) for line in lines]


def tests(environment: Environment) -> str:
    words = ("-q", "-n", "0", "-p", "no:cacheprovider", "-m", "")
    done = call(environment, "-m", "pytest", *words, *TESTS)
    if done.returncode == 0:
        return "passed"
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return f"failed: {', '.join(failed) or last_line(done.stdout + done.stderr)}"


def call(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an environment that nothing else of this one reaches."""
    clean = {k: v for k, v in os.environ.items() if not VARIABLES.match(k) and k != "GRICE_DATA"}
    stated = dict(pair.split("=", 1) for pair in environment.variables.split())
    return subprocess.run(
        [sys.executable, *words], env={**clean, **stated}, cwd=ROOT, capture_output=True, text=True,
        errors="replace", timeout=SECONDS, check=False,
    )  # fmt: skip


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:200]


def moved(metric: str, default: Sequence[Row], other: Sequence[Row]) -> Movement | None:
    """Return how far the scores of a metric are from the default's; None if some are missing."""
    # Both stand in the order of the input.
    pairs = [(a, b) for a, b in zip(default, other, strict=False) if a["metric"] == metric]
    both = [(a["value"], b["value"]) for a, b in pairs if a["status"] == b["status"] == "ok"]
    if len(default) != len(other) or not both:
        return None
    first, second = np.array(both, float).T
    gaps = np.abs(first - second)
    rank = correlation_value(first, second, "spearman") if len(gaps) > 2 else np.nan
    status = sum(a["status"] != b["status"] for a, b in pairs)
    return Movement(len(gaps), float(gaps.max()), float(gaps.mean()), rank, status)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    escaped = ([text.replace("|", r"\|") for text in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def cell(movement: Movement | None) -> str:
    if movement is None:
        return "not scored"
    if not movement.largest and not movement.status:
        return "same"
    status = f", {movement.status} of another status" if movement.status else ""
    return f"{movement.largest:.2g} / {movement.mean:.2g} / {movement.rank:.4f}{status}"


def page(
    machine: Machine, outcomes: Mapping[Environment, Outcome], left_out: Sequence[Environment]
) -> str:
    """Return the page; the first outcome is the default's."""
    columns = ("environment", "kernels", "doctor, fast", "doctor, exact", "tests")
    kept = (
        (environment.name, outcome.kernels, *outcome.doctor.values(), outcome.tests or "–")
        for environment, outcome in outcomes.items()
    )
    parts = [
        head(machine, outcomes),
        table(columns, kept),
        f"\nNot on this processor: {', '.join(env.name for env in left_out) or 'none'}.\n",
        *(f"*{env.label.capitalize()}*: `{env.variables}`.\n" for env in outcomes if env.label),
        MOVES.format(files=" and ".join(f"`{name}`" for name in EXAMPLES)),
    ]
    for mode in MODES:
        parts += [f"\n### `{mode}`\n\n", movements(mode, outcomes)]
    return "".join(parts)


def head(machine: Machine, outcomes: Mapping[Environment, Outcome]) -> str:
    return HEAD.format(
        processor=machine.processor,
        system=machine.system,
        instructions=", ".join(machine.instructions) or "none of those that choose kernels",
        versions=", ".join(f"{name} {version}" for name, version in machine.versions.items()),
        models=", ".join(models(next(iter(outcomes.values())))),
        kept=len(outcomes) - len(broken(outcomes)),
        all=len(outcomes),
        furthest=", ".join(furthest(mode, outcomes) for mode in MODES),
    )


def models(outcome: Outcome) -> list[str]:
    """Return the models that the scores come from, as their signatures name them."""
    signatures = {str(score["signature"]) for score in outcome.scores["fast"]}
    fields = (field.split(":")[-1] for text in signatures for field in text.split("|"))
    return sorted({part for field in fields for part in field.split("+") if "@" in part})


def furthest(mode: str, outcomes: Mapping[Environment, Outcome]) -> str:
    """Return the largest difference of any score to the default's."""
    default, *others = (outcome.scores[mode] for outcome in outcomes.values())
    gaps = [(0.0, "")]
    for scores in others:
        movements = ((moved(metric, default, scores), metric) for metric in METRICS)
        gaps += [(movement.largest, metric) for movement, metric in movements if movement]
    largest, metric = max(gaps)
    return f"{largest:.2g} in `{mode}` ({metric})" if largest else f"none in `{mode}`"


def movements(mode: str, outcomes: Mapping[Environment, Outcome]) -> str:
    """Return how far scores are from the default's; environments with the same bits share a row."""
    default = next(iter(outcomes.values())).scores[mode]
    rows = [("*n; standard deviation*", *(spread(metric, default) for metric in METRICS))]
    groups: dict[str, list[Environment]] = {}
    for environment, outcome in outcomes.items():
        groups.setdefault(json.dumps(outcome.scores[mode]), []).append(environment)
    for group in groups.values():
        scores = outcomes[group[0]].scores[mode]
        cells = (cell(moved(metric, default, scores)) for metric in METRICS)
        rows.append((", ".join(environment.name for environment in group), *cells))
    return table(("environments", *METRICS), rows)


def spread(metric: str, scores: Sequence[Row]) -> str:
    values = [row["value"] for row in scores if row["metric"] == metric and row["status"] == "ok"]
    return f"{len(values)}; {np.std(values):.3f}" if values else "–"


HEAD = """# Portability

Written by `make portability` (`python bench/portability.py`); no figure is typed.

- processor: {processor}, {system}; {instructions}
- versions: {versions}
- models: {models}

On this processor the guarantee of [modes.md](modes.md) holds in {kept} of {all} environments.
Largest difference of a score to that of the default environment: {furthest}.

## Does the guarantee hold?

Each environment is a separate process with other matrix kernels, as on other processors.
*Doctor*: `grice doctor` scores its conversations alone, together, reversed and by two workers.
*Tests*: those of encoder, networks, generator and all metrics, where they ran.

"""
MOVES = """
## How far do scores move between kernels?

Scores of {files} beside those of the default environment: largest
absolute difference / mean absolute difference / Spearman's rank correlation. *Same*: every score
has the same bits. Environments share a row where all their scores have the same bits: there the
variable changes nothing on this processor. The guarantee does not cover this; these are the
expected differences between processors.
"""


def main() -> None:
    os.nice(10)
    machine = describe_machine()
    outcomes: dict[Environment, Outcome] = {}
    for environment in environments():
        if possible(environment, machine.instructions):
            start = time.perf_counter()
            outcomes[environment] = outcome = tried(environment)
            took = f"{time.perf_counter() - start:.0f} s"
            print(environment.name, took, *outcome.doctor.values(), outcome.tests, flush=True)
    left_out = [environment for environment in environments() if environment not in outcomes]
    PAGE.write_text(page(machine, outcomes, left_out), "utf-8")
    print(f"{PAGE.name}:", *(furthest(mode, outcomes) for mode in MODES))
    sys.exit(1 if broken(outcomes) else 0)


if __name__ == "__main__":
    main()
