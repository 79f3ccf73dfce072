"""Settings of a run, as keyword arguments of :func:`grice.load` and in one record."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from grice.models.embedded import Mode
    from grice.models.endpoint.usage import ClientOptions


class Settings(TypedDict, total=False):
    """How metrics are loaded and run.

    Attributes:
        options: Options and model references by metric name.
        speakers: Judge only turns of these speakers or roles, ``all`` is everybody. Without any,
            the assistant is judged where roles or speakers' names say who that is, else everybody.
            If no turn is by them, nothing is judged.
        mode: ``fast`` (int8, the default) or ``exact`` (float32, slower); see ``docs/modes.md``.
        workers: Batches computed at the same time; by default one per core.
        cache: Folder of the cache of model answers; by default they are kept for this run only.
        plugins: Python files that declare further metrics.
        models: Preset of models and weights; the default, ``small``, is what ships, whatever the
            user has chosen for the command line; see ``docs/models.md``.
        terms: How endpoints are used: concurrency, limits, repetitions; see ``docs/judges.md``.
    """

    options: Mapping[str, Mapping[str, object]] | None
    speakers: Collection[str]
    mode: Mode
    workers: int | None
    cache: str | Path | None
    plugins: Sequence[str | Path]
    models: str
    terms: ClientOptions | None
