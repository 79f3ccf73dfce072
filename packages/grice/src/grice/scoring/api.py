"""Score conversations in Python, by the models and weights of a preset.

A preset is a TOML file:

    summary = "Its purpose."
    models = ["medium"]               # to be fetched: grice models get NAME
    metrics = ["likelihood"]          # added to the default ones

    [options.relevance]               # a metric, and its options by their names
    model = "model:medium"

``small`` is the shipped preset and sets nothing. Others are in the package and in the folder
``presets`` of the user's settings. An explicit option overrides that of a preset.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec

from grice.data import Conversation, Score, Turn
from grice.errors import (
    InputError,
    MissingModelError,
    RecordError,
    did_you_mean,
    excerpt,
    os_reason,
    plural,
)
from grice.files import config_folder, make_folder, write_text
from grice.metrics.declaration import Registry, find_metrics
from grice.models.loader import Mode, ModelLoader, default_workers
from grice.scoring.loaded import LoadedMetric, ScoreColumn, load_metric, missing_model, responses
from grice.scoring.run import WINDOW_RECORDS
from grice.scoring.summary import SMALL as SMALL
from grice.tables import Records

if TYPE_CHECKING:
    from grice.metrics.rubrics import Rubric
    from grice.models.endpoint import ClientOptions, Usage
    from grice.scoring.blended import Blend

Options: TypeAlias = dict[str, dict[str, str | int | float]]
Talk: TypeAlias = Conversation | Sequence[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any]
Frame: TypeAlias = Any  # of pandas, polars or pyarrow
Source: TypeAlias = Talk | Iterable[Talk] | str | Path | Frame

LARGE = "large"  # name of the preset that finds most
CONFIG, ENDPOINT, MODEL = "config.toml", "openai:", "model:"
JUDGE_SCHEMES = (ENDPOINT, MODEL, "file:")  # of references that stand in the place of a preset
T = TypeVar("T")
LONGEST = 60  # characters that a message quotes


class Settings(TypedDict, total=False):
    """Settings of metrics and models: keyword arguments of :func:`load`.

    Attributes:
        options: Options and model references by metric name.
        speakers: Judge only turns of these speakers or roles; ``all`` is every speaker. By default,
            the assistant if roles or names identify it, else every speaker. Without a turn of
            these speakers, nothing is judged.
        mode: ``fast`` (int8, the default) or ``exact`` (float32, slower).
        workers: Batches computed at the same time; by default one per core.
        cache: Folder of the cache of model outputs; by default they are cached for this run only.
        plugins: Python files that declare further metrics.
        rubrics: Criteria of your own, each a text, a TOML file or a
            :class:`grice.metrics.rubrics.Rubric`: a metric for each.
        judge: Model reference of the judge of rubrics; by default that of `models`.
        models: Preset of models and weights; the default is ``small``, independent of the choice
            for the command line; see ``docs/concepts/models.md``.
        terms: Client options of endpoints: concurrency, limits, retries.
        skip_missing: Leave out metrics whose model is not on this machine, unless that leaves none;
            :attr:`Grader.missing` names them. By default such a metric is an error.
    """

    options: Mapping[str, Mapping[str, object]] | None
    speakers: Collection[str]
    mode: Mode
    workers: int | None
    cache: str | Path | None
    plugins: Sequence[str | Path]
    rubrics: Sequence[str | Path | Rubric]
    judge: str | None
    models: str
    terms: ClientOptions | None
    skip_missing: bool


class Scores(Records, list[Score]):
    """A list of scores, in the order of the conversations and their turns."""

    SHOWN = ("conversation", "turn", "metric", "value", "status", "reason")
    FURTHER = ("signature", "flags")

    def summary(self) -> str:
        """Return how many scores there are."""
        return plural(len(self), "score")


class Scorer(NamedTuple):
    """Loaded metrics, and the speakers whose turns they judge."""

    metrics: Sequence[LoadedMetric]  # in the order of their scores
    speakers: Collection[str] = ()  # speakers or roles whose turns are judged; empty means all
    preset: str = SMALL  # it chose models and weights
    blends: Sequence[Blend] = ()  # of these metrics, whose scores follow theirs
    part: int = 0  # characters of replies judged at once, 0: all; scores do not depend on it

    @property
    def columns(self) -> tuple[ScoreColumn, ...]:
        """Metadata of the metrics and blends, in the order of their scores."""
        return (*(metric.column for metric in self.metrics), *(b.column for b in self.blends))

    def score(self, conversations: Sequence[Conversation]) -> list[list[Score]]:
        """Return the scores of each conversation: turn by turn, then those of the whole."""
        # Metrics with several models and those of whole conversations read token states, which
        # leave sentence vectors behind; running them first saves the others the encoding.
        costly_first = sorted(
            self.metrics,
            key=lambda loaded: (-len(loaded.metric.models), loaded.metric.judges != "conversation"),
        )
        by_metric = {
            loaded.metric.name: loaded.score(conversations, self.speakers, self.part)
            for loaded in costly_first
        }
        by_metric |= {blend.column.name: blend.score(by_metric) for blend in self.blends}
        in_order = [by_metric[column.name] for column in self.columns]
        return [
            sorted(
                (score for scores in in_order for score in scores[i]),
                key=lambda score: (score.turn is None, score.turn or 0),
            )
            for i in range(len(conversations))
        ]

    def count(self, conversation: Conversation) -> int:
        """Return how many scores :meth:`score` gives for a conversation."""
        judges = [column.judges for column in self.columns]
        replies = len(responses(conversation, self.speakers))
        return judges.count("response") * replies + judges.count("conversation")


class Grader:
    """Loaded metrics; load once, score often."""

    def __init__(
        self, scorer: Scorer, models: ModelLoader, missing: Mapping[str, str] | None = None
    ) -> None:
        self.scorer = scorer
        self.missing = dict(missing or {})  # metrics left out, and how to get the model of each
        self._models = models
        self._closed = False

    @property
    def signatures(self) -> dict[str, str]:
        """Signature of each metric: its version, options and models."""
        return {column.name: column.signature for column in self.scorer.columns}

    @property
    def usage(self) -> tuple[Usage, ...]:
        """Requests and tokens sent to endpoints so far, a record for each of their models."""
        return self._models.usage

    def score(self, talk: Source, columns: Mapping[str, str] | None = None) -> Scores:
        """Return the scores of a conversation, or of several; see :func:`score`.

        Raises:
            RecordError: For a message that cannot be used, or a record that could not be read,
                where ``grice.read`` gave one.
            InputError: For anything else that is no conversation, or if the grader is closed.
        """
        if self._closed:
            raise InputError("this grader is closed; score inside of `with grice.load(…)`")
        conversations = conversations_of(talk, columns)
        scores = Scores()
        for start in range(0, len(conversations), WINDOW_RECORDS):
            for group in self.scorer.score(conversations[start : start + WINDOW_RECORDS]):
                scores += group
        return scores

    def close(self) -> None:
        """Close the models; nothing can be scored afterwards."""
        self._closed = True
        self._models.close()

    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<grice.Grader of {', '.join(self.signatures)}{state}>"

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(*names: str, **settings: Unpack[Settings]) -> Grader:
    """Load metrics.

    Args:
        names: Names of metrics; without any, those that ``grice score`` runs.
        settings: See :class:`grice.scoring.Settings`.

    Raises:
        InputError: For an unknown preset.
        MetricError: For an unknown metric or option.
        ModelError: For another mode, or fewer workers than one.
        ModelFolderError: For a model that is missing or changed.
    """
    registry = find_metrics([Path(plugin) for plugin in settings.get("plugins", ())])
    return load_from(registry, names, **settings)


def load_from(
    registry: Registry, names: Sequence[str] = (), **settings: Unpack[Settings]
) -> Grader:
    """Load metrics of a registry; see :func:`load`."""
    preset = named_preset(settings.get("models", SMALL))
    preset.check_models()
    given = settings.get("options") or {}
    options: dict[str, dict[str, object]] = {
        name: {**preset.options.get(name, {}), **given.get(name, {})}
        for name in {*preset.options, *given}
    }
    asked: tuple[str, ...] = ()
    if rubrics := settings.get("rubrics"):
        from grice.metrics.rubrics import with_rubrics  # here: others need none

        judge = preset.name if preset.name.startswith(JUDGE_SCHEMES) else ""
        registry, asked = with_rubrics(registry, rubrics, settings.get("judge") or judge)
    wanted = dict.fromkeys((*(names or (*registry.defaults(), *preset.metrics)), *asked))
    for name in (*wanted, *options):
        registry.named(name)
    workers, cache = settings.get("workers"), settings.get("cache")
    models = ModelLoader(
        mode=settings.get("mode", "fast"),
        workers=default_workers() if workers is None else workers,
        cache=None if cache is None else Path(cache),
        terms=settings.get("terms"),
    )
    try:
        missing = {}
        if settings.get("skip_missing"):
            said = {
                name: missing_model(registry.named(name), models, options.get(name))
                for name in wanted
            }
            missing = {name: reason for name, reason in said.items() if reason}
            if len(missing) == len(wanted):
                raise MissingModelError("; ".join(f"{name}: {missing[name]}" for name in missing))
        loaded = [
            load_metric(registry.named(name), models, options.get(name, {}))
            for name in wanted
            if name not in missing
        ]
    except BaseException:
        models.close()
        raise
    scorer = Scorer(loaded, frozenset(settings.get("speakers", ())), preset.name)
    return Grader(scorer, models, missing)


def score(
    talk: Source,
    *names: str,
    columns: Mapping[str, str] | None = None,
    **settings: Unpack[Settings],
) -> Scores:
    """Return the scores of a conversation, or of several.

    Args:
        talk: A list of messages with ``role`` and ``content``; an object with ``messages``, or of
            another layout that files may have; a list of strings said by two speakers in turn, of
            which the last is judged; a :class:`grice.Conversation`; or several of them. Also a data
            frame of pandas or polars, or an Arrow table, with columns as in a CSV file; or the path
            of a file, whose scores are all held: :func:`grice.score_files` streams.
        names: Names of metrics; without any, those that ``grice score`` runs.
        columns: Names of the columns of a table, as of :func:`grice.read`.
        settings: See :func:`load`.

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
    >>> scores = grice.score([{"messages": [question, answer]}], "log_length", "turn_count")
    >>> [(score.metric, score.turn) for score in scores]
    [('log_length', 1), ('turn_count', None)]
    """
    with load(*names, **settings) as grader:
        return grader.score(talk, columns)


def conversations_of(talk: Source, columns: Mapping[str, str] | None = None) -> list[Conversation]:
    """Return the conversations of anything that :func:`score` and :func:`grice.check` take.

    Raises:
        RecordError: For a record, message or row that cannot be used.
        InputError: For anything else that holds no conversations.
    """
    if isinstance(talk, (str, Path)):
        from grice.readers import read

        if not os.path.exists(talk):  # noqa: PTH110 - not an error for a name that is too long
            raise InputError(
                f"{excerpt(str(talk), LONGEST)}: no such file; a single string is the path of a "
                "file: give the turns of a conversation as a list of strings, the reply last, or "
                "as a list of messages"
            )
        with read(talk, columns=columns) as reading:
            return [_conversation(record) for record in reading]
    return _conversations(talk, "talk", columns)


def _conversations(
    talk: object, name: str, columns: Mapping[str, str] | None
) -> list[Conversation]:
    if isinstance(talk, (Conversation, RecordError)):
        return [_conversation(talk)]
    if isinstance(talk, Path):
        return conversations_of(talk, columns)
    if isinstance(talk, Mapping):
        return _of_records([talk], name)
    if isinstance(talk, (list, tuple)) and talk:
        if all(isinstance(said, str) for said in talk):
            if all(os.path.isfile(said) for said in talk):  # noqa: PTH113
                raise InputError(
                    f"{talk[0]}: a list of strings is a conversation, and these are names of "
                    "files: give a list of pathlib.Path, or to grice.check each as an argument"
                )
            turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(talk))
            return [Conversation(name, turns, targets=(len(turns) - 1,))]
        # Libraries of LLM APIs return messages as objects.
        said = [item.model_dump() if hasattr(item, "model_dump") else item for item in talk]
        objects = [item for item in said if isinstance(item, Mapping)]
        if any("role" in item or "speaker" in item for item in objects):
            from grice.readers import from_objects

            return [from_objects(said, name)]
        if len(objects) == len(talk):
            return _of_records(objects, name)
    if hasattr(type(talk), "columns"):
        from grice.readers import from_frame

        return [_conversation(record) for record in from_frame(talk, columns)]
    if isinstance(talk, (str, bytes)) or not isinstance(talk, Iterable) or hasattr(talk, "dtype"):
        raise _no_conversation(type(talk).__name__)
    items = list(talk)
    if not items and name != "talk":
        raise _no_conversation(f"an empty {type(talk).__name__}")
    return [
        each
        for place, item in enumerate(items, 1)
        for each in _conversations(item, f"{name} {place}", columns)
    ]


def _of_records(records: Sequence[Mapping[str, Any]], name: str) -> list[Conversation]:
    """Return the conversations of objects in any layout of JSON lines."""
    from grice.readers import from_logs

    return [_conversation(record) for record in from_logs(records, None, name)]


def _conversation(record: Conversation | RecordError) -> Conversation:
    if isinstance(record, RecordError):
        raise record
    return record


def _no_conversation(found: str) -> InputError:
    return InputError(
        f"expected a list of messages with role and content, an object with messages, a list of "
        f"strings, a grice.Conversation, a data frame, a path, or several of them; found {found}"
    )


# Presets.


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of metrics, by a name."""

    summary: str
    finds: str = ""  # more than ``small`` does, by recorded figures
    models: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    options: dict[str, dict[str, str | int | float]] = {}
    name: str = ""

    def check_models(self) -> None:
        """Check that the models it needs are here."""
        if self.models:
            from grice.models.store import check_stored

            check_stored(self.models, self.name if self.name in find_presets() else "")


class Config(msgspec.Struct, frozen=True):
    """The user's choices for all runs: the name of a preset."""

    models: str = SMALL


def find_presets() -> dict[str, Path]:
    """Return the files of all presets by name; of two of one name the one of the package."""
    shipped = Path(str(resources.files("grice"))) / "data" / "presets"
    return {
        path.stem: path for folder in (_own(), shipped) for path in sorted(folder.glob("*.toml"))
    }


def named_preset(name: str) -> Preset:
    """Return a preset by name, by the path of a file ``NAME.toml``, or by a model that judges.

    ``openai:MODEL@URL`` runs all judges by that model beside the default metrics, ``model:NAME`` or
    ``file:PATH`` what a reward model or a model of answer tokens judges.
    """
    if not isinstance(name, str):
        raise InputError(f"models: expected the name of a preset, found {type(name).__name__}")
    if name.startswith(JUDGE_SCHEMES):
        metrics = _judged_by(name)
        options: Options = {metric: {"model": name} for metric in metrics}
        return Preset("Judges by one model.", metrics=metrics, options=options, name=name)
    files = find_presets()
    path = Path(name) if name.endswith(".toml") else files.get(name)
    if path is not None:
        return msgspec.structs.replace(_read(path, Preset), name=path.stem)
    raise InputError(
        f"no preset {name!r}{did_you_mean(name, files)}\n"
        f"  one of your own is a file NAME.toml, in {_own()} or anywhere by its path"
    )


def _judged_by(reference: str) -> tuple[str, ...]:
    """Return the metrics that a model judges."""
    from grice.metrics.judges import JUDGES
    from grice.models.folder import read_card
    from grice.models.loader import find_model_type
    from grice.models.store import stored

    scheme, _, place = reference.partition(":")
    if scheme == "openai":
        return JUDGES
    card = read_card(stored(place) if scheme == "model" else Path(place))
    task = find_model_type(card.kind, reference).task
    judged = {"flaws": ("sensibleness",), "rubric": ("sensibleness", *JUDGES)}
    if task not in judged:
        raise InputError(
            f"{reference}: a model of {task} (type {card.kind}) is no judge; judges are of type "
            "reward, yes-no or digits, or openai:MODEL@URL"
        )
    return judged[task]


def models_of(names: Iterable[str]) -> list[str]:
    """Return the models that names of presets or models stand for, each once."""
    presets = find_presets()
    models = (
        named_preset(name).models if name in presets else (name.removeprefix(MODEL),)
        for name in names
    )
    return list(dict.fromkeys(chain.from_iterable(models)))


def _own() -> Path:
    return config_folder() / "presets"


def default_preset() -> str:
    """Return the name of the user's default preset, else ``small``."""
    path = config_folder() / CONFIG
    return _read(path, Config).models if path.exists() else SMALL


def set_default(name: str) -> Path:
    """Set the default preset, and return the settings file."""
    if name.endswith(".toml"):
        raise InputError(f"{name}: a preset is chosen by name; copy it to {_own()}")
    named_preset(name).check_models()
    path = config_folder() / CONFIG
    make_folder(path.parent)
    write_text(path, f"models = {msgspec.json.encode(name).decode()}\n")
    return path


def check_not_chosen(model: str) -> None:
    """Refuse to remove a model of the chosen preset."""
    preset = default_preset()
    if model in named_preset(preset).models:
        raise InputError(
            f"{model}: the preset of all runs, {preset}, needs it; choose another one before: "
            f"grice models use {SMALL}"
        )


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), kind)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{path}: {error}") from error
