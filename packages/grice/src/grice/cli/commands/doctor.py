"""``grice doctor``: does this machine keep what is promised of scores, and what is it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import names
from grice.cli.output import emit
from grice.tables import Lines, Table, number

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.scoring.doctor import Arrangement, Diagnosis, Distance
    from grice.tables import View

HELP = "check that scores keep their bits on this machine, and describe it"
MEBI = 2**20
ADVICE = (
    "Unset the variables that change kernels and try again; where none is set, report it with the "
    "output of grice doctor --json."
)


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001 - the same for all
    """Declare the arguments."""
    flags.add_metrics(parser, "all whose scores were recorded")
    flags.add_plugins(parser)
    flags.add_mode(parser)
    flags.add_json(parser)
    flags.tells_by_status(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; the exit status is 1 if the promise does not hold, else 0."""
    from grice.cli.terminal import warn
    from grice.folders import cache_folder
    from grice.metrics.registry import find_metrics
    from grice.models.registry import plugin_problems
    from grice.readers import find_formats
    from grice.scoring.doctor import diagnose

    registry = find_metrics(arguments.plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    metrics = names(arguments.metrics)
    diagnosis = diagnose(registry, metrics, mode=arguments.mode, cache=cache_folder())
    emit(diagnosis, _view(diagnosis), as_json=arguments.json)
    return 0 if diagnosis.holds else 1


def _view(diagnosis: Diagnosis) -> View:
    yield Table((), _facts(diagnosis))
    yield Lines([""])
    if diagnosis.arrangements:
        talks = f"{diagnosis.conversations} conversations"
        run = f"{diagnosis.mode}, {talks}, {diagnosis.seconds:.1f} s"
        yield Lines([f"Same bits as all scored together? ({run})"], style="bold")
        tried = dict.fromkeys(tried.arrangement for tried in diagnosis.arrangements)
        yield Table(("metric", "scores", *tried), _arrangement_rows(diagnosis.arrangements))
        yield Lines([f"Differences to the scores of {diagnosis.reference}"], style="bold")
        columns = ("metric", "scores", "differ", "largest", "mean")
        yield Table(columns, map(_distance_row, diagnosis.distances))
    if diagnosis.not_reproducible:
        yield Lines(["Not to be had again here, and why"], style="bold")
        yield Lines([f"- {line}" for line in diagnosis.not_reproducible], indent=1)
    yield Lines(diagnosis.problems, style="bold red")
    yield Lines(_verdict(diagnosis), style="bold green" if diagnosis.holds else "bold red")


def _facts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield what is known of the machine and of what is installed."""
    machine = diagnosis.machine
    yield "versions", ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    yield "processor", f"{machine.processor}, {machine.system}"
    yield "instructions", ", ".join(machine.instructions) or "none of those that choose kernels"
    yield "not here", ", ".join(machine.missing) or "–"
    for library, kernels in machine.kernels.items():
        yield f"{library} uses", kernels
    variables = (f"{name}={value}" for name, value in machine.variables.items())
    yield "variables", " ".join(variables) or "none that changes kernels is set"
    yield "workers", f"{machine.cores} by default: the cores that may be used"
    held = _mebibytes(diagnosis.peak_memory)
    yield "memory", f"{_mebibytes(machine.memory)}; {held} were held at most"
    gpus = f"{machine.gpus}, on which language models run"
    yield "gpu", gpus if machine.gpus else "none, and none is needed"
    yield "cache", f"{diagnosis.cache}, {_mebibytes(diagnosis.cache_size)}"
    yield "GRICE_DATA", diagnosis.data or "not set"
    yield "models", " ".join(f"{model.name}@{model.digest}" for model in diagnosis.models)
    if diagnosis.fetched:
        yield "fetched", " ".join(diagnosis.fetched)


def _mebibytes(size: int | None) -> str:
    return "unknown" if size is None else f"{size / MEBI:,.0f} MiB"


def _arrangement_rows(arrangements: Sequence[Arrangement]) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    for tried in arrangements:
        row = rows.setdefault(tried.metric, [tried.metric, f"{tried.scores:,}"])
        row.append(_arrangement_cell(tried))
    return list(rows.values())


def _arrangement_cell(tried: Arrangement) -> str:
    if not tried.differing:
        return "same"
    # Scores may differ in their evidence alone.
    gap = f"by {tried.largest:.1g}" if tried.largest else "in evidence"
    return f"{tried.differing:,} {gap}"


def _distance_row(distance: Distance) -> tuple[str, ...]:
    if distance.note:
        return (distance.metric, distance.note, "–", "–", "–")
    figures = (number(value, ".2g") for value in (distance.largest, distance.mean))
    return (distance.metric, f"{distance.scores:,}", f"{distance.differing:,}", *figures)


def _verdict(diagnosis: Diagnosis) -> list[str]:
    """Return what it comes to, and what to do about it."""
    if diagnosis.holds:
        return ["The promise holds: the same bits in any batch, order and number of workers."]
    broken = dict.fromkeys(tried.metric for tried in diagnosis.arrangements if tried.differing)
    if broken:
        return [f"The promise does not hold here for {', '.join(broken)}.", ADVICE]
    return ["What stands above keeps grice from scoring as it should.", ADVICE]
