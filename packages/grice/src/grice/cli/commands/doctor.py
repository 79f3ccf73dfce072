"""``grice doctor``: check the installation, and show or clear the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grice.cli.derive import names
from grice.cli.output import DONE, UNMET, Output, warn
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.scoring.doctor import Diagnosis
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
    from grice.models.cache import cache_files
    from grice.models.loader import plugin_problems
    from grice.readers import find_formats
    from grice.scoring.doctor import cache_size, diagnose

    cache = cache or cache_folder()
    if clear_cache:
        size = cache_size(cache)
        for file in cache_files(cache):
            file.unlink(missing_ok=True)
        row = {"folder": str(cache), "bytes": size, "state": "cleared"}
        return Output([row], [f"{cache}: {size / MEBI:.1f} MiB cleared\n"])
    registry = find_metrics(plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    diagnosis = diagnose(registry, names(metrics), mode=mode, cache=cache)
    return Output([diagnosis], _view(diagnosis), DONE if diagnosis.holds else UNMET)


def _view(diagnosis: Diagnosis) -> View:
    versions = (f"{name} {version}" for name, version in diagnosis.versions.items())
    facts = {
        "versions": ", ".join(versions),
        "cache": f"{diagnosis.cache}, {diagnosis.cache_size / MEBI:,.0f} MiB",
        "models": " ".join(f"{name}@{digest}" for name, digest in diagnosis.models.items()),
        "fetched": " ".join(diagnosis.fetched),
    }
    yield Table((), [(name, fact) for name, fact in facts.items() if fact])
    yield Lines([""])
    if diagnosis.arrangements:
        talks = f"{diagnosis.conversations} conversations"
        run = f"{diagnosis.mode}, {talks}, {diagnosis.seconds:.1f} s"
        yield Lines([f"Same bits as all scored together? ({run})"], style="bold")
        tried = dict.fromkeys(tried.arrangement for tried in diagnosis.arrangements)
        rows: dict[str, list[str]] = {}
        for each in diagnosis.arrangements:
            row = rows.setdefault(each.metric, [each.metric, f"{each.scores:,}"])
            # Scores may differ in their evidence alone.
            gap = f"by {each.largest:.1g}" if each.largest else "in evidence"
            row.append(f"{each.differing:,} {gap}" if each.differing else "same")
        yield Table(("metric", "scores", *tried), rows.values())
    yield Lines(diagnosis.problems, style="bold red")
    broken = dict.fromkeys(tried.metric for tried in diagnosis.arrangements if tried.differing)
    if diagnosis.holds:
        verdict = "The guarantee holds: the same bits in any batch, order and number of workers."
    elif broken:
        verdict = (
            f"The guarantee does not hold here for {', '.join(broken)}. Report it with the output "
            "of grice doctor --json."
        )
    else:
        verdict = "The problems above keep grice from scoring as it should."
    yield Lines([verdict], style="bold green" if diagnosis.holds else "bold red")
