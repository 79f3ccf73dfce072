"""The Python face of scoring."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from grice.errors import InputError, RecordError, excerpt, plural
from grice.metrics.registry import Registry, find_metrics
from grice.models.loader import ModelLoader, default_workers
from grice.records import Conversation, Score, Turn
from grice.scoring.loaded import load_metric
from grice.scoring.presets import SMALL, named_preset
from grice.scoring.run import WINDOW_RECORDS, Scorer
from grice.tables import number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from grice.models.embedded import Mode
    from grice.models.endpoint.usage import ClientOptions, Usage
    from grice.records import Json

    Talk: TypeAlias = Conversation | Sequence[str] | Sequence[Mapping[str, Any]]


SHOWN = 20
COLUMNS = ("conversation", "turn", "metric", "value", "status", "reason")
FRAMES = {"pandas": "DataFrame", "polars": "DataFrame"}
LONGEST = 60


class Scores(list[Score]):
    """Scores in the order of the conversations and their turns: a list, with ways to look at it."""

    def to_rows(self) -> list[dict[str, Json]]:
        """Return a flat record of each score: what a table holds, with the flags as one text."""
        return [
            {
                **{name: getattr(score, name) for name in COLUMNS},
                "flags": " ".join(score.flags),
                "signature": score.signature,
            }
            for score in self
        ]

    def to_frame(self) -> Any:  # noqa: ANN401 - of a library that may not be installed
        """Return a data frame of :meth:`to_rows`: of pandas, else of polars.

        Raises:
            InputError: If neither is installed.
        """
        for library, frame in FRAMES.items():
            try:
                module = import_module(library)
            except ImportError:
                continue
            return getattr(module, frame)(self.to_rows())
        raise InputError("a data frame needs pandas or polars: pip install pandas")

    def to_json(self) -> list[dict[str, Json]]:
        """Return the scores with all their evidence, as ``grice score`` writes them."""
        rows: list[dict[str, Json]] = msgspec.to_builtins(list(self))
        return rows

    def __repr__(self) -> str:
        """Return the first scores as lines of a table."""
        rows = [COLUMNS, *_cells(self[:SHOWN])]
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS) - 1)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
        return "\n".join([plural(len(self), "score"), *lines, *self._more()])

    def _repr_html_(self) -> str:
        """Return a table for a notebook; texts are escaped."""
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
            for row in _cells(self[:SHOWN])
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _more(self) -> Iterator[str]:
        if len(self) > SHOWN:
            yield f"… and {len(self) - SHOWN:,} more"


def _cells(scores: Sequence[Score]) -> Iterator[tuple[str, ...]]:
    for score in scores:
        reason = excerpt(score.reason or "", LONGEST)
        yield (
            score.conversation,
            "" if score.turn is None else str(score.turn),
            score.metric,
            number(score.value),
            score.status,
            reason,
        )


class Grader:
    """Metrics that are loaded and ready; load once, score often.

    Attributes:
        scorer: The metrics, for :func:`grice.scoring.run.run`.
    """

    def __init__(self, scorer: Scorer, models: ModelLoader) -> None:
        self.scorer = scorer
        self._models = models
        self._closed = False

    @property
    def signatures(self) -> dict[str, str]:
        """What exactly each metric computes, by name."""
        return {loaded.metric.name: loaded.signature for loaded in self.scorer.metrics}

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
    terms: ClientOptions | None = None,
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
    terms: ClientOptions | None = None,
) -> Grader:
    """Load metrics out of those that were found already; see :func:`load`."""
    chosen = named_preset(preset)
    chosen.check_models()
    settings = chosen.with_options(options or {})
    wanted = tuple(dict.fromkeys(names or (*registry.defaults(), *chosen.metrics)))
    for name in (*wanted, *settings):
        registry.named(name)
    models = ModelLoader(
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
