"""Declaration of metrics: one decorated function, from which everything else is derived.

    @metric(
        "shouting",
        version="1",
        summary="Is the reply free of capitals?",
        judges="response",
        source="Our own.",
        example=Example(["Hello.", "GO AWAY"], low=0.0, high=0.3),
    )
    def shouting(responses: Sequence[Response], *, weight: float = 1.0) -> Iterable[Judgement]:
        ...

The function gets a whole batch and returns one judgement per item, in order. Its keyword-only
parameters are the metric's options, explained in the ``Args`` of its docstring, except those
named in ``models``, which receive opened models. It opens no files, prints nothing and keeps
no state.

:func:`find_metrics` returns all that were declared: in modules of :mod:`grice.metrics`, in packages
that name a module or a :class:`Metric` in the entry point group ``grice.metrics``, and in single
files. A plug-in that cannot be loaded is reported and does not affect the others.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from grice import distributions
from grice.data import Conversation, Json, Judgement, Turn
from grice.errors import MetricError, did_you_mean
from grice.metrics.common import score_or_abstain
from grice.models.protocols import Reader

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""Annotation of an option that counts things."""

Fraction: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""Annotation of an option that is a fraction."""

GROUP = "grice.metrics"  # of entry points

Judges: TypeAlias = Literal["response", "conversation"]
OptionValue: TypeAlias = int | float | str


class Option(msgspec.Struct, frozen=True):
    """One setting of a metric, read from a keyword-only parameter of its function.

    Attributes:
        help: From the function's docstring.
        choices: The allowed values, if the parameter is annotated as a ``Literal`` of strings.
        low, high: Smallest and largest allowed value, such as those of ``Count`` and ``Fraction``.
    """

    name: str
    type: Literal["int", "float", "str"]
    default: OptionValue
    help: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def range(self) -> str:
        """The allowed values of a number in words; empty if all are."""
        if self.low is None:
            return ""
        return f"{self.low:g} or more" if self.high is None else f"{self.low:g} to {self.high:g}"

    def check(self, value: object, metric: str) -> OptionValue:
        """Return the value as the option's type.

        Raises:
            MetricError: If it has another type, is not among the choices or out of range.
        """
        wanted = f"one of {', '.join(self.choices)}" if self.choices else self.range or self.type
        kind: Any = Literal[self.choices] if self.choices else _TYPES[self.type]
        if self.low is not None:
            kind = Annotated[kind, msgspec.Meta(ge=self.low, le=self.high)]
        try:
            converted: OptionValue = msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError:
            raise MetricError(
                f"{metric}: option {self.name!r} is {wanted}, not {value!r}"
            ) from None
        return converted


_TYPES = {"int": int, "float": float, "str": str}
_NAMES = {"Count": Count, "Fraction": Fraction, "Literal": Literal, **_TYPES}
"""Names in the annotations of options, which need not be imported at run time."""


class Example(msgspec.Struct, frozen=True):
    """A worked example, run by the conformance test and shown in the documentation.

    The value of the last of ``texts``, turns of two speakers in alternation, lies in ``low`` to
    ``high``. ``references`` and ``knowledge`` are those of the last turn.
    """

    texts: list[str]
    low: float
    high: float
    references: list[str] = []
    knowledge: list[str] = []

    def conversation(self) -> Conversation:
        """Return the example as a conversation whose last turn is the target."""
        turns = [Turn("AB"[i % 2], text) for i, text in enumerate(self.texts)]
        meta: dict[str, Json] = {"knowledge": [*self.knowledge]} if self.knowledge else {}
        turns[-1] = replace(turns[-1], references=tuple(self.references), meta=meta)
        return Conversation("example", tuple(turns), targets=(len(turns) - 1,))


class Metric(msgspec.Struct, frozen=True):
    """A declared metric.

    Attributes:
        name: Unique name, lower case with underscores.
        version: Changes whenever the same input gives another score.
        summary: The question it answers, one line.
        judges: Whether an item is a ``Response`` or a ``Conversation``.
        function: The batch function; ``description`` is its docstring, ``options`` its settings.
        models: Parameter name and default model reference of each model it needs; an empty one is
            None unless a model is named.
        source: Where the method was published.
        low, high: Smallest and largest value; higher is better.
        neutral: Value of an abstained item.
        default: Whether ``grice score`` runs it by default.
        accepts: By parameter name, the tasks that a model may have, where that is more than the
            task of the default model.
        protocols: By parameter name, the runtime-checkable protocol, such as
            :class:`grice.models.protocols.PairClassifier`, or the class that a model must have.
        setup: How to get default models that neither ship nor stand in the index.
    """

    name: str
    version: str
    summary: str
    judges: Judges
    function: Callable[..., Iterable[Judgement]]
    options: tuple[Option, ...]
    models: dict[str, str]
    source: str
    low: float
    high: float
    neutral: float
    default: bool
    example: Example
    description: str
    accepts: dict[str, tuple[str, ...]] = {}
    protocols: dict[str, type | UnionType] = {}
    setup: str = ""

    def flag(self, parameter: str) -> str:
        """Return the command-line option of a parameter, such as ``--relevance-history``."""
        return f"--{self.name}-{parameter}".replace("_", "-")


def metric(
    name: str,
    *,
    version: str,
    summary: str,
    judges: Judges,
    source: str,
    example: Example,
    models: Mapping[str, str] | None = None,
    accepts: Mapping[str, tuple[str, ...]] | None = None,
    protocols: Mapping[str, type | UnionType] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    neutral: float = 0.5,
    default: bool = False,
    abstain: Callable[[Any], str | None] | None = None,
    reader: str = "",
    setup: str = "",
) -> Callable[[Callable[..., Iterable[Judgement]]], Metric]:
    """Return a decorator that turns a batch function into a :class:`Metric`.

    With ``abstain``, which returns the reason why an item cannot be judged or None, the function
    gets only the other items. Replies that the model of the parameter ``reader`` truncates are
    flagged.

    Raises:
        MetricError: If the declaration contradicts itself or a parameter cannot be an option.
    """
    if not name.replace("_", "").isalnum() or name != name.lower():
        raise MetricError(f"metric name {name!r}: lower-case letters, digits and _ only")
    if not low <= neutral <= high:
        raise MetricError(f"{name}: neutral value {neutral} lies outside {low} to {high}")

    def declare(function: Callable[..., Iterable[Judgement]]) -> Metric:
        keywords = {
            parameter.name: parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
        needed, tasks, classes = dict(models or {}), dict(accepts or {}), dict(protocols or {})
        for argument, names, known, where in (
            ("models", needed, keywords, "the function"),
            ("accepts", tasks, needed, "models"),
            ("protocols", classes, needed, "models"),
        ):
            for other in names.keys() - known.keys():
                raise MetricError(f"{name}: {argument} names {other!r}, {where} has no such")
        judge = function
        if abstain is not None:

            @wraps(function)
            def judge(items: Sequence[object], **options: object) -> Iterable[Judgement]:
                model = typing.cast("Reader | None", options.get(reader))
                return score_or_abstain(
                    items, abstain, partial(function, **options), neutral, model
                )

        helps = _argument_help(function)
        options = tuple(
            _option(name, parameter, helps.get(parameter.name, ""))
            for parameter in keywords.values()
            if parameter.name not in needed
        )
        return Metric(
            name, version, summary, judges, judge, options, needed, source, low, high, neutral,
            default, example, inspect.getdoc(function) or "", tasks, classes, setup,
        )  # fmt: skip

    return declare


def _option(metric: str, parameter: inspect.Parameter, text: str) -> Option:
    annotation: Any = parameter.annotation
    if isinstance(annotation, str):
        with suppress(NameError, SyntaxError, TypeError):
            annotation = eval(annotation.removeprefix("typing."), dict(_NAMES))
    choices: tuple[str, ...] = ()
    limits = msgspec.Meta()
    if typing.get_origin(annotation) is Literal:
        choices, annotation = typing.get_args(annotation), str
    elif typing.get_origin(annotation) is Annotated:
        annotation, limits = typing.get_args(annotation)
    if parameter.default is parameter.empty:
        raise MetricError(f"{metric}: option {parameter.name!r} needs a default")
    if annotation not in (int, float, str):
        raise MetricError(
            f"{metric}: option {parameter.name!r} is annotated {parameter.annotation}; an option "
            "is int, float, str, Count, Fraction or a Literal of strings, and a model is named in "
            "models="
        )
    return Option(
        parameter.name, annotation.__name__, parameter.default, text, choices, limits.ge, limits.le
    )


def _argument_help(function: Callable[..., Any]) -> dict[str, str]:
    """Return the lines of the docstring's ``Args:`` section by parameter name."""
    section = (inspect.getdoc(function) or "").partition("\nArgs:\n")[2]
    indented = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(r"^ {4}(\w+): *(.*(?:\n {5,}.*)*)", indented, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


class Registry(NamedTuple):
    """The metrics that were found."""

    metrics: dict[str, Metric]  # metric by name
    origins: dict[str, str]  # where each was found: ``grice``, a distribution, or a file
    problems: tuple[str, ...]  # one line per plugin that could not be loaded

    def named(self, name: str) -> Metric:
        """Return a metric by name.

        Raises:
            MetricError: If the name is unknown.
        """
        if name not in self.metrics:
            raise MetricError(f"no metric {name!r}{did_you_mean(name, self.metrics)}")
        return self.metrics[name]

    def defaults(self) -> tuple[str, ...]:
        """Return the names of the metrics that run by default."""
        return tuple(name for name, metric in self.metrics.items() if metric.default)


def find_metrics(plugins: Sequence[Path] = ()) -> Registry:
    """Return all metrics: built-in, installed, and those in the given Python files."""
    metrics: dict[str, Metric] = {}
    origins: dict[str, str] = {}
    problems: list[str] = []

    def add(exported: object, origin: str) -> None:
        values = [exported] if isinstance(exported, Metric) else vars(exported).values()
        for metric in values:
            if isinstance(metric, Metric) and metric.name in metrics:
                problems.append(
                    f"metric {metric.name!r} of {origin} is left out: "
                    f"{origins[metric.name]} has one of that name"
                )
            elif isinstance(metric, Metric):
                metrics[metric.name], origins[metric.name] = metric, origin

    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        add(importlib.import_module(f"{__package__}.{module.name}"), "grice")
    for entry in distributions.entry_points(GROUP):
        origin = distributions.owner(entry)
        try:
            add(distributions.load(entry), origin)
        except Exception as error:  # noqa: BLE001 - plug-ins may raise anything
            problems.append(f"plugin {entry.name!r} of {origin}: {_problem(error)}")
    for path in plugins:
        add(_load_file(path), str(path))
    return Registry(metrics, origins, tuple(problems))


NEEDED = {
    "version": 'version="1"',
    "summary": 'summary="Is the reply kind?"',
    "judges": 'judges="response"',
    "source": 'source="Our own."',
    "example": 'example=Example(["Hello.", "Hi."], low=0.0, high=1.0)',
}
"""The arguments that every metric states, each as an example."""


def _problem(error: Exception) -> str:
    """Return what is wrong with a plug-in; of a metric that lacks arguments, which and how."""
    lacking = re.findall(r"'(\w+)'", str(error)) if "metric() missing" in str(error) else []
    if lacking:
        return f"@metric lacks {', '.join(NEEDED.get(name, name) for name in lacking)}"
    return f"{type(error).__name__}: {error}"


def _load_file(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(f"grice_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MetricError(f"--plugin {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MetricError(f"--plugin {path}: {_problem(error)}") from error
    return module
