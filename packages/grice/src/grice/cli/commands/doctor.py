"""``grice doctor``: check the installation, and show or clear the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grice.cli.derive import names
from grice.cli.output import Output
from grice.cli.streams import DONE, UNMET, warn
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.scoring.doctor import Arrangement, Diagnosis
    from grice.tables import View

MEBI = 2**20


def run(
    *,
    metrics: str | None = None,
    plugin: Sequence[Path] = (),
    mode: Literal["fast", "exact"] = "fast",
    cache: Path | None = None,
    clear_cache: bool = False,
) -> Output:
    """Check the installation and the reproducibility of scores on this machine.

    Args:
        metrics: those of grice score by default
        clear_cache: remove cached answers of models, and check nothing
    """
    from grice.files import cache_folder
    from grice.metrics.registry import find_metrics
    from grice.models.loader import plugin_problems
    from grice.readers import find_formats
    from grice.scoring.doctor import diagnose

    cache = cache or cache_folder()
    if clear_cache:
        return _clear(cache)
    registry = find_metrics(plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    diagnosis = diagnose(registry, names(metrics), mode=mode, cache=cache)
    return Output([diagnosis], _view(diagnosis), DONE if diagnosis.holds else UNMET)


def _clear(folder: Path) -> Output:
    from grice.models.cache import cache_files
    from grice.scoring.doctor import cache_size

    size = cache_size(folder)
    for file in cache_files(folder):
        file.unlink(missing_ok=True)
    row = {"folder": str(folder), "bytes": size, "state": "cleared"}
    return Output([row], [f"{folder}: {size / MEBI:.1f} MiB cleared\n"])


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
        return "The guarantee holds: the same bits in any batch, order and number of workers."
    broken = dict.fromkeys(tried.metric for tried in diagnosis.arrangements if tried.differing)
    if not broken:
        return "The problems above keep grice from scoring as it should."
    return (
        f"The guarantee does not hold here for {', '.join(broken)}. Report it with the output of "
        "grice doctor --json."
    )
