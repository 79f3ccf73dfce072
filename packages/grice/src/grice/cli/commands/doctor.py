"""``grice doctor``: check the installation, and show or clear the cache."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli.options import names
from grice.cli.output import emit, print_json_lines
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.scoring.doctor import Arrangement, Diagnosis
    from grice.tables import View

HELP = "check the installation and the reproducibility of scores on this machine"
MEBI = 2**20


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001 - the same for all
    """Declare the arguments."""
    flags.add_metrics(parser, "the default metrics")
    flags.add_plugins(parser)
    flags.add_mode(parser)
    flags.add_cache(parser)
    parser.add_argument(
        "--clear-cache",
        action="store_true",
        help="remove cached answers of models, and check nothing",
    )
    flags.add_json(parser)
    flags.tells_by_status(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; the exit status is 1 if something is wrong, else 0."""
    from grice.cli.terminal import warn
    from grice.files import cache_folder
    from grice.metrics.registry import find_metrics
    from grice.models.loader import plugin_problems
    from grice.readers import find_formats
    from grice.scoring.doctor import diagnose

    cache = arguments.cache or cache_folder()
    if arguments.clear_cache:
        return _clear(cache, as_json=arguments.json)
    registry = find_metrics(arguments.plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    diagnosis = diagnose(registry, names(arguments.metrics), mode=arguments.mode, cache=cache)
    emit(diagnosis, _view(diagnosis), as_json=arguments.json)
    return 0 if diagnosis.holds else 1


def _clear(folder: Path, *, as_json: bool) -> int:
    from grice.models.cache import cache_files
    from grice.scoring.doctor import cache_size

    size = cache_size(folder)
    for file in cache_files(folder):
        file.unlink(missing_ok=True)
    if as_json:
        print_json_lines([{"folder": str(folder), "bytes": size, "state": "cleared"}])
    else:  # in one line, however long the path is
        sys.stdout.write(f"{folder}: {size / MEBI:.1f} MiB cleared\n")
    return 0


def _view(diagnosis: Diagnosis) -> View:
    yield Table((), _facts(diagnosis))
    yield Lines([""])
    if diagnosis.arrangements:
        talks = f"{diagnosis.conversations} conversations"
        run = f"{diagnosis.mode}, {talks}, {diagnosis.seconds:.1f} s"
        yield Lines([f"Same bits as all scored together? ({run})"], style="bold")
        tried = dict.fromkeys(tried.arrangement for tried in diagnosis.arrangements)
        yield Table(("metric", "scores", *tried), _arrangement_rows(diagnosis.arrangements))
    yield Lines(diagnosis.problems, style="bold red")
    yield Lines([_verdict(diagnosis)], style="bold green" if diagnosis.holds else "bold red")


def _facts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    versions = diagnosis.versions.items()
    yield "versions", ", ".join(f"{name} {version}" for name, version in versions)
    yield "cache", f"{diagnosis.cache}, {diagnosis.cache_size / MEBI:,.0f} MiB"
    yield "models", " ".join(f"{name}@{digest}" for name, digest in diagnosis.models.items())
    if diagnosis.fetched:
        yield "fetched", " ".join(diagnosis.fetched)


def _arrangement_rows(arrangements: Sequence[Arrangement]) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    for tried in arrangements:
        row = rows.setdefault(tried.metric, [tried.metric, f"{tried.scores:,}"])
        # Scores may differ in their evidence alone.
        gap = f"by {tried.largest:.1g}" if tried.largest else "in evidence"
        row.append(f"{tried.differing:,} {gap}" if tried.differing else "same")
    return list(rows.values())


def _verdict(diagnosis: Diagnosis) -> str:
    if diagnosis.holds:
        return "The promise holds: the same bits in any batch, order and number of workers."
    broken = dict.fromkeys(tried.metric for tried in diagnosis.arrangements if tried.differing)
    if not broken:
        return "The problems above keep grice from scoring as it should."
    return (
        f"The promise does not hold here for {', '.join(broken)}. Report it with the output of "
        "grice doctor --json."
    )
