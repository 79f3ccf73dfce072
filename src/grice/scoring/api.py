"""The Python face of scoring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from grice.errors import InputError, RecordError
from grice.metrics.registry import Registry, find_metrics
from grice.records import Conversation, Score, Turn
from grice.runtime.models import Models, default_workers
from grice.runtime.protocols import Encoder
from grice.scoring.loaded import load_metric
from grice.scoring.presets import SMALL, named_preset
from grice.scoring.run import WINDOW_RECORDS, Scorer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from grice.runtime.bundle import Bundle
    from grice.runtime.embedded import Mode
    from grice.runtime.protocols import Vector

    Talk: TypeAlias = Conversation | Sequence[str]

__all__ = ["Grader", "load", "load_from", "score"]


class Grader:
    """Metrics that are loaded and ready; load once, score often.

    Attributes:
        scorer: The metrics, for :func:`grice.scoring.run.run`.
    """

    def __init__(self, scorer: Scorer, models: Models) -> None:
        self.scorer = scorer
        self._models = models

    @property
    def signatures(self) -> dict[str, str]:
        """What exactly each metric computes, by name."""
        return {loaded.metric.name: loaded.signature for loaded in self.scorer.metrics}

    @property
    def bundles(self) -> dict[str, tuple[Bundle, ...]]:
        """The models of each metric and the encoders they stand on, by name."""
        return {loaded.metric.name: loaded.bundles for loaded in self.scorer.metrics}

    def score(self, talk: Talk | Iterable[Conversation]) -> list[Score]:
        """Return the scores of a conversation, or of several.

        Args:
            talk: A conversation, several, or one as a list of strings said by two speakers in
                turn, of which the last is judged.

        Raises:
            RecordError: For a record that could not be read, where ``grice.read`` gave one.
            InputError: For anything else that is no conversation.
        """
        conversations = _conversations(talk)
        scores: list[Score] = []
        for start in range(0, len(conversations), WINDOW_RECORDS):
            for group in self.scorer.score(conversations[start : start + WINDOW_RECORDS]):
                scores += group
        return scores

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return the shipped encoder's vectors of texts; what was read before costs nothing."""
        return self._models.open("bundle:encoder", Encoder).encode(texts)

    def close(self) -> None:
        """Release what the models hold."""
        self._models.close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load(
    *names: str,
    options: Mapping[str, Mapping[str, object]] | None = None,
    speakers: Collection[str] = (),
    mode: Mode = "fast",
    workers: int | None = None,
    cache: str | Path | None = None,
    plugins: Sequence[str | Path] = (),
    models: str = SMALL,
) -> Grader:
    """Load metrics.

    Args:
        names: Names of metrics; without any, those that ``grice score`` runs.
        options: Options and model references by metric name.
        speakers: Judge only turns of these speakers or roles, ``all`` is everybody. Without any,
            the assistant is judged where roles say who that is, else everybody.
        mode: ``fast`` (int8) or ``exact`` (float32, slower); see ``docs/modes.md``.
        workers: Batches computed at the same time; by default one per core.
        cache: Folder that keeps what models answered; by default nothing is kept.
        plugins: Python files that declare further metrics.
        models: Preset of models and weights: ``small`` is what ships, whatever the user has chosen
            for the command line; see ``docs/models.md``.

    Raises:
        InputError: For an unknown preset.
        MetricError: For an unknown metric or option.
        ModelError: For another mode, or fewer workers than one.
        BundleError: For a model that is missing or changed.
    """
    return load_from(
        find_metrics([Path(plugin) for plugin in plugins]),
        names,
        options=options,
        speakers=speakers,
        mode=mode,
        workers=workers,
        cache=cache,
        preset=models,
    )


def load_from(
    registry: Registry,
    names: Sequence[str] = (),
    *,
    options: Mapping[str, Mapping[str, object]] | None = None,
    speakers: Collection[str] = (),
    mode: Mode = "fast",
    workers: int | None = None,
    cache: str | Path | None = None,
    preset: str = SMALL,
) -> Grader:
    """Load metrics out of those that were found already; see :func:`load`."""
    chosen = named_preset(preset)
    chosen.check_models()
    settings = chosen.with_options(options or {})
    wanted = tuple(dict.fromkeys(names or (*registry.defaults(), *chosen.metrics)))
    for name in (*wanted, *settings):
        registry.named(name)
    models = Models(
        mode=mode,
        workers=default_workers() if workers is None else workers,
        cache=None if cache is None else Path(cache),
    )
    try:
        loaded = [
            load_metric(registry.named(name), models, settings.get(name, {})) for name in wanted
        ]
    except BaseException:
        models.close()
        raise
    return Grader(Scorer(loaded, frozenset(speakers), chosen.name), models)


def score(talk: Talk | Iterable[Conversation], *names: str) -> list[Score]:
    """Return the scores of a conversation, or of several; see :func:`load` for options.

    >>> import grice
    >>> [score] = grice.score(["Where are you from?", "I grew up in Lisbon."], "log_length")
    >>> round(score.value, 2)
    1.61
    """
    with load(*names) as grader:
        return grader.score(talk)


def _conversations(talk: Talk | Iterable[Conversation]) -> list[Conversation]:
    if isinstance(talk, Conversation):
        return [talk]
    if isinstance(talk, str):
        raise InputError(
            "a single string is no conversation: give its turns as a list of strings, the reply "
            "last, or a grice.Conversation"
        )
    items = list(_items(talk))
    if items and all(isinstance(item, str) for item in items):
        turns = tuple(Turn("AB"[i % 2], str(item)) for i, item in enumerate(items))
        return [Conversation("talk", turns, targets=(len(turns) - 1,))]
    conversations = [item for item in items if isinstance(item, Conversation)]
    if len(conversations) != len(items):
        odd = next(item for item in items if not isinstance(item, Conversation))
        if isinstance(odd, RecordError):  # as reading a file gives them among conversations
            raise odd
        raise InputError(
            f"conversations are grice.Conversation records or one list of strings; found "
            f"{type(odd).__name__}"
        )
    return conversations


def _items(talk: Iterable[object]) -> Iterator[object]:
    try:
        yield from talk
    except TypeError:
        raise InputError(f"conversations are needed, found {type(talk).__name__}") from None
