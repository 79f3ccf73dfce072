"""The Python face of scoring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from grice.errors import InputError, RecordError
from grice.metrics.registry import Registry, find_metrics
from grice.models.models import Models, default_workers
from grice.records import Conversation, Turn
from grice.scoring.loaded import load_metric
from grice.scoring.presets import SMALL, named_preset
from grice.scoring.results import Scores
from grice.scoring.run import WINDOW_RECORDS, Scorer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from grice.models.bundle import Bundle
    from grice.models.embedded import Mode
    from grice.models.endpoint.spending import Terms, Usage
    from grice_tasks.cider.find import Link, Wanted

    Talk: TypeAlias = Conversation | Sequence[str] | Sequence[Mapping[str, Any]]


class Grader:
    """Metrics that are loaded and ready; load once, score often.

    Attributes:
        scorer: The metrics, for :func:`grice.scoring.run.run`.
    """

    def __init__(self, scorer: Scorer, models: Models) -> None:
        self.scorer = scorer
        self._models = models
        self._closed = False

    @property
    def signatures(self) -> dict[str, str]:
        """What exactly each metric computes, by name."""
        return {loaded.metric.name: loaded.signature for loaded in self.scorer.metrics}

    @property
    def bundles(self) -> dict[str, tuple[Bundle, ...]]:
        """The models of each metric and the encoders they stand on, by name."""
        return {loaded.metric.name: loaded.bundles for loaded in self.scorer.metrics}

    @property
    def usage(self) -> tuple[Usage, ...]:
        """What was sent to endpoints so far, a record for each of their models."""
        return self._models.usage

    def score(self, talk: Talk | Iterable[Talk]) -> Scores:
        """Return the scores of a conversation, or of several.

        Args:
            talk: A conversation or several: a :class:`grice.Conversation`; a list of messages with
                ``role`` and ``content``; or a list of strings said by two speakers in turn, of
                which the last is judged.

        Raises:
            RecordError: For a message that cannot be used, or a record that could not be read,
                where ``grice.read`` gave one.
            InputError: For anything else that is no conversation, or if the grader is closed.
        """
        self._check_open()
        conversations = _conversations(talk)
        scores = Scores()
        for start in range(0, len(conversations), WINDOW_RECORDS):
            for group in self.scorer.score(conversations[start : start + WINDOW_RECORDS]):
                scores += group
        return scores

    def links(
        self, conversations: Sequence[Conversation], wanted: Wanted | None = None
    ) -> list[list[Link]]:
        """Return the commonsense links of each conversation, as ``grice triplets`` finds them.

        Args:
            wanted: Which of them; by default those that the command prints.

        Raises:
            ModelError: If the preset's model for them finds none.
            BundleError: If it is missing.
        """
        from grice_tasks.cider.find import Wanted, find_all
        from grice_tasks.cider.models import TripletModels

        self._check_open()
        reference = named_preset(self.scorer.preset).commands.triplets or "bundle:triplets"
        models = self._models.open_in_place(reference, "bundle:links-medium", TripletModels)
        return list(find_all(conversations, models, wanted or Wanted()))

    def close(self) -> None:
        """Release what the models hold; nothing is scored after it."""
        self._closed = True
        self._models.close()

    def __repr__(self) -> str:
        """Return its metrics, and whether it is closed."""
        state = ", closed" if self._closed else ""
        return f"<grice.Grader of {', '.join(self.signatures)}{state}>"

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this grader is closed; score inside of `with grice.load(…)`")

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
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
    terms: Terms | None = None,
) -> Grader:
    """Load metrics.

    Args:
        names: Names of metrics; without any, those that ``grice score`` runs.
        options: Options and model references by metric name.
        speakers: Judge only turns of these speakers or roles, ``all`` is everybody. Without any,
            the assistant is judged where roles or speakers' names say who that is, else everybody.
        mode: ``fast`` (int8) or ``exact`` (float32, slower); see ``docs/modes.md``.
        workers: Batches computed at the same time; by default one per core.
        cache: Folder that keeps what models answered; by default nothing is kept.
        plugins: Python files that declare further metrics.
        models: Preset of models and weights: ``small`` is what ships, whatever the user has chosen
            for the command line; see ``docs/models.md``.
        terms: How endpoints are used: concurrency, limits, repetitions; see ``docs/judges.md``.

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
        terms=terms,
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
    terms: Terms | None = None,
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
        terms=terms,
    )
    try:
        loaded = [
            load_metric(registry.named(name), models, settings.get(name, {})) for name in wanted
        ]
    except BaseException:
        models.close()
        raise
    return Grader(Scorer(loaded, frozenset(speakers), chosen.name), models)


def score(talk: Talk | Iterable[Talk], *names: str) -> Scores:
    """Return the scores of a conversation, or of several; see :func:`load` for options.

    Args:
        talk: A :class:`grice.Conversation`, a list of messages with ``role`` and ``content``, or a
            list of strings said by two speakers in turn, of which the last is judged; or several.
        names: Names of metrics; without any, those that ``grice score`` runs.

    >>> import grice
    >>> [score] = grice.score(["Where are you from?", "I grew up in Lisbon."], "log_length")
    >>> round(score.value, 2)
    1.61
    >>> question = {"role": "user", "content": "Is it far?"}
    >>> answer = {"role": "assistant", "content": "Ten minutes."}
    >>> grice.score([question, answer], "log_length")
    1 score
    conversation  turn  metric      value  status  reason
    talk          1     log_length  0.693  ok
    """
    with load(*names) as grader:
        return grader.score(talk)


def _conversations(talk: Talk | Iterable[Talk]) -> list[Conversation]:
    if isinstance(talk, Conversation):
        return [talk]
    if isinstance(talk, str):
        raise InputError(
            "a single string is no conversation: give its turns as a list of strings, the reply "
            "last, a list of messages, or a grice.Conversation"
        )
    items = list(_items(talk))
    if items and (_are(items, str) or _are(items, Mapping)):
        return [_conversation(items, "talk")]
    return [_conversation(item, f"talk {number}") for number, item in enumerate(items, 1)]


def _conversation(item: object, name: str) -> Conversation:
    """Return the conversation that something stands for."""
    if isinstance(item, Conversation):
        return item
    if isinstance(item, RecordError):  # as reading a file gives them among conversations
        raise item
    if isinstance(item, (list, tuple)) and item:
        if _are(item, str):
            turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(item))
            return Conversation(name, turns, targets=(len(turns) - 1,))
        if _are(item, Mapping):
            from grice.readers import from_objects

            return from_objects(item, name)
    raise InputError(
        "a conversation is a grice.Conversation, a list of strings, or a list of messages with "
        f"role and content; found {type(item).__name__}"
    )


def _are(items: Sequence[object], kind: type) -> bool:
    return all(isinstance(item, kind) for item in items)


def _items(talk: Iterable[object]) -> Iterator[object]:
    try:
        yield from talk
    except TypeError:
        raise InputError(f"conversations are needed, found {type(talk).__name__}") from None
