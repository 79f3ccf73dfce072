"""Commands on the installation: list, doctor and serve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from grice.cli.derive import Count, Names, Scoring
from grice.cli.options import check_options, load_grader
from grice.cli.output import DONE, UNMET, Output, listing, note, warn
from grice.errors import LONGEST, InputError, ModelError
from grice.tables import Lines, Table, View

if TYPE_CHECKING:
    from grice.metrics.declaration import Metric, Registry
    from grice.scoring.doctor import Diagnosis


def list(  # noqa: A001 - the name of the command
    metric: str | None = None, *, plugin: Sequence[Path] = ()
) -> Output:
    """List metrics and formats, or describe one metric.

    Args:
        metric (METRIC): describe this metric
    """
    from grice.metrics.declaration import find_metrics
    from grice.models.loader import ModelLoader, plugin_problems
    from grice.readers import find_formats
    from grice.scoring.loaded import missing_model

    registry = find_metrics(plugin)
    for problem in (*registry.problems, *plugin_problems(), *find_formats().problems):
        warn(problem)
    metrics = [registry.named(metric)] if metric else [*registry.metrics.values()]
    missing = {}
    with ModelLoader() as models:
        for each in metrics:
            with suppress(ModelError):  # the place of an endpoint, to be filled in
                missing[each.name] = missing_model(each, models)
    rows = (
        {
            # Protocols are classes, of use to code alone.
            **{name: getattr(each, name) for name in each.__struct_fields__ if name != "protocols"},
            "function": f"{each.function.__module__}.{each.function.__name__}",
            "origin": registry.origins[each.name],
            "missing": missing.get(each.name, ""),
        }
        for each in metrics
    )
    if metric:
        return Output(rows, _metric_view(metrics[0], missing.get(metric, "")))
    return Output(rows, _list_view(registry, [name for name in missing if missing[name]]))


def _list_view(registry: Registry, missing: Sequence[str]) -> View:
    from grice.metrics.baselines import SOURCE as TRIVIAL_SOURCE
    from grice.readers import find_formats

    metrics = sorted(
        registry.metrics.values(),
        key=lambda known: (not known.default, known.source == TRIVIAL_SOURCE),
    )
    rows = [
        (f"{each.name}{'*' * each.default}", each.judges, each.summary, registry.origins[each.name])
        for each in metrics
    ]
    yield Table(("metric", "judges", "measures", "from"), rows, words=4)
    yield Lines(["* runs by default; grice list METRIC shows details"])
    if missing:
        yield Lines([f"cannot run yet, a model is not on this machine: {', '.join(missing)}"])
    formats = [(name, known.summary) for name, known in find_formats().formats.items()]
    yield Table(("format", "description"), formats, words=2)


def _metric_view(metric: Metric, missing: str) -> View:
    item = "each reply" if metric.judges == "response" else "each whole conversation"
    runs = "runs by default" if metric.default else f"runs with -m {metric.name}"
    yield Lines([f"{metric.name} (version {metric.version}): {metric.summary}"], style="bold")
    facts = (
        f"Judges {item} from {metric.low:g} to {metric.high:g}, higher is better; "
        f"{metric.neutral:g} with status abstained where there is nothing to judge; {runs}."
    )
    meaning = metric.description.partition("\nArgs:")[0].replace("``", "").strip()
    if missing:
        yield Lines([f"Cannot run yet: {missing}"], style="bold red", longest=LONGEST)
    yield Lines([facts, *meaning.split("\n\n"), f"Method: {metric.source}"], longest=LONGEST)
    lines = []
    for option in metric.options:
        text = f"{option.help} {option.range}".strip(" .").replace("``", "")
        lines.append(f"{metric.flag(option.name)} (default {option.default}): {text}.")
    for name, reference in metric.models.items():
        lines.append(f"{metric.flag(name)} (default {reference or 'none'}): a model")
    yield Lines(lines, indent=2, longest=LONGEST)


MEBI = 2**20


def doctor(
    *,
    metrics: Names = (),
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
    from grice.metrics.declaration import find_metrics
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
    diagnosis = diagnose(registry, metrics, mode=mode, cache=cache)
    return Output([diagnosis], _diagnosis_view(diagnosis), DONE if diagnosis.holds else UNMET)


def _diagnosis_view(diagnosis: Diagnosis) -> View:
    versions = (f"{name} {version}" for name, version in diagnosis.versions.items())
    facts = {
        "versions": ", ".join(versions),
        "cache": f"{diagnosis.cache}, {diagnosis.cache_size / MEBI:,.0f} MiB",
        "models": " ".join(f"{name}@{digest}" for name, digest in diagnosis.models.items()),
        "fetched": " ".join(diagnosis.fetched),
    }
    yield Table((), [(name, fact) for name, fact in facts.items() if fact])
    if diagnosis.arrangements:
        talks = f"{diagnosis.conversations} conversations"
        run = f"{diagnosis.mode}, {talks}, {diagnosis.seconds:.1f} s"
        yield Lines([f"Bit-identical to one batch? ({run})"], style="bold")
        rows = []
        for each in diagnosis.arrangements:
            # Only the evidence may differ, with equal scores.
            gap = f"{each.differing:,} by {each.largest:.1g}" if each.differing else "none"
            rows.append((each.metric, each.arrangement, f"{each.scores:,}", gap))
        yield Table(("metric", "arrangement", "scores", "that differ"), rows, words=2)
    yield Lines(diagnosis.problems, style="bold red")
    broken = dict.fromkeys(tried.metric for tried in diagnosis.arrangements if tried.differing)
    if diagnosis.holds:
        verdict = "Scores are bit-identical in any batch, in any order, with any number of workers."
    elif broken:
        verdict = (
            f"Scores are not bit-identical here for {', '.join(broken)}. Report it with the output "
            "of grice doctor --json."
        )
    else:
        verdict = "Scoring is not possible until the problems above are solved."
    yield Lines([verdict], style="bold green" if diagnosis.holds else "bold red")


KEY = "GRICE_SERVE_KEY"  # environment variable with the API key that every request must send


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8008,
    concurrency: Count = 512,
    check: bool = False,
    speaker: Sequence[str] = (),
    scoring: Scoring,
) -> Output | int:
    """Score, explain, rank and rerank over HTTP, with a live page.

    Args:
        check: answer one request of each kind without a network, and end
    """
    from grice.serve import Limits, check_installed

    check_installed()
    from grice.serve import server
    from grice.serve.app import application

    check_options(scoring)
    limits = Limits(concurrency=concurrency)
    key = os.environ.get(KEY)
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise InputError(
            f"{KEY} is no valid key: set it to printable ASCII without spaces around it, such as "
            "the output of openssl rand -hex 32, or unset it to accept requests without a key"
        )
    with load_grader(scoring, speaker) as grader:
        if check:
            return check_output(server.check(application(grader, limits=limits)))
        server.serve(
            application(grader, limits=limits, key=key),
            host=host,
            port=port,
            limits=limits,
            begun=lambda address: note(f"{address} (the live page), {address}/docs; Ctrl-C ends"),
        )
    return DONE


def check_output(rows: Sequence[Mapping[str, Any]]) -> Output:
    """Return the answers of a check; the status is 1 if a request failed."""
    answered = all(row["status"] == 200 for row in rows)
    verdict = "All requests were answered." if answered else "Some requests failed."
    return listing(rows, verdict, status=DONE if answered else UNMET)
