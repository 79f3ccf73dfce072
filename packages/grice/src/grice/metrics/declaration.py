"""How a metric is declared: one decorated function, from which everything else is derived.

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
named in ``models``, which receive opened models. It opens nothing, prints nothing and keeps
nothing.
"""

from __future__ import annotations

import inspect
import math
import typing
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from grice.data import Conversation, Turn
from grice.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from grice.data import Judgement

Count: TypeAlias = Annotated[int, "1 or more"]
"""Annotation of an option that counts things."""

Fraction: TypeAlias = Annotated[float, "0 to 1"]
"""Annotation of an option that is a part of a whole."""

Judges: TypeAlias = Literal["response", "conversation"]
OptionValue: TypeAlias = int | float | str


class Option(msgspec.Struct, frozen=True):
    """One setting of a metric, read from a keyword-only parameter of its function.

    Attributes:
        name: Name of the parameter.
        type: ``int``, ``float`` or ``str``.
        default: Value if not given.
        help: What it does, from the function's docstring.
        choices: The allowed values, if the parameter is annotated as a ``Literal`` of strings.
        low: The smallest allowed value: 1 of a ``Count``, 0 of a ``Fraction``.
        high: The largest allowed value: 1 of a ``Fraction``.
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
        wanted: str = self.type
        converted: OptionValue | None = None
        if not isinstance(value, bool) and not (wanted == "int" and isinstance(value, float)):
            with suppress(TypeError, ValueError):
                converted = _TYPES[self.type](value)
        valid = converted is not None
        if converted is not None and self.choices:
            wanted, valid = f"one of {', '.join(self.choices)}", converted in self.choices
        if converted is not None and self.low is not None:
            high = math.inf if self.high is None else self.high
            wanted, valid = self.range, self.low <= float(converted) <= high  # false for NaN
        if converted is None or not valid:
            raise MetricError(f"{metric}: option {self.name!r} is {wanted}, not {value!r}")
        return converted


_TYPES: dict[str, Callable[[Any], OptionValue]] = {"int": int, "float": float, "str": str}
_RANGES: dict[str, tuple[str, float, float | None]] = {
    "Count": ("int", 1, None),
    str(Count): ("int", 1, None),
    "Fraction": ("float", 0, 1),
    str(Fraction): ("float", 0, 1),
}
"""Type and range by annotation, written or evaluated."""


class Example(msgspec.Struct, frozen=True):
    """A worked example, run by the conformance test and shown in the documentation.

    Attributes:
        texts: Turns of two speakers in alternation; the last one is judged.
        low: The value is at least this.
        high: The value is at most this.
        references: Other replies that people would accept in place of the last turn.
        knowledge: What the last turn was said from.
    """

    texts: list[str]
    low: float
    high: float
    references: list[str] = []
    knowledge: list[str] = []

    def conversation(self) -> Conversation:
        """Return the example as a conversation whose last turn is the target."""
        last = len(self.texts) - 1
        turns = tuple(
            Turn("AB"[i % 2], text, references=tuple(self.references) if i == last else ())
            for i, text in enumerate(self.texts)
        )
        if self.knowledge:
            turns = (*turns[:-1], replace(turns[-1], meta={"knowledge": [*self.knowledge]}))
        return Conversation("example", turns, targets=(last,))


class Metric(msgspec.Struct, frozen=True):
    """A declared metric.

    Attributes:
        name: Unique name, lower case with underscores.
        version: Moves whenever the same input gives another number.
        summary: The question it answers, one line.
        judges: Whether an item is a ``Response`` or a ``Conversation``.
        function: The batch function.
        options: Its settings.
        models: Parameter name and default model reference of each model it needs.
        source: Where the method was published.
        low: Smallest value it can give.
        high: Largest value it can give; higher is better.
        neutral: Value of an abstained item.
        default: Whether ``grice score`` runs it unless told otherwise.
        example: A worked example.
        description: What it does not say by itself: the function's docstring.
        accepts: By parameter name, what its model may answer (see :mod:`grice.models.loader`),
            where that is more than what the default model does.
        protocols: By parameter name, what its model will be asked for: a runtime-checkable
            protocol, such as :class:`grice.models.protocols.PairClassifier`, or a class.
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
    protocols: dict[str, type] = {}

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
    protocols: Mapping[str, type] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    neutral: float = 0.5,
    default: bool = False,
) -> Callable[[Callable[..., Iterable[Judgement]]], Metric]:
    """Return a decorator that turns a batch function into a :class:`Metric`.

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
        needed = dict(models or {})
        for argument, names, known, where in (
            ("models", needed, keywords, "the function"),
            ("accepts", accepts or {}, needed, "models"),
            ("protocols", protocols or {}, needed, "models"),
        ):
            for parameter in names:
                if parameter not in known:
                    raise MetricError(
                        f"{name}: {argument} names {parameter!r}, {where} has no such"
                    )
        helps = _argument_help(function)
        options = tuple(
            _option(name, parameter, helps.get(parameter.name, ""))
            for parameter in keywords.values()
            if parameter.name not in needed
        )
        description = inspect.getdoc(function) or ""
        return Metric(
            name, version, summary, judges, function, options, needed, source, low, high, neutral,
            default, example, description, dict(accepts or {}), dict(protocols or {}),
        )  # fmt: skip

    return declare


def _option(metric: str, parameter: inspect.Parameter, text: str) -> Option:
    annotation = str(parameter.annotation)
    if isinstance(parameter.annotation, type):
        annotation = parameter.annotation.__name__
    choices: tuple[str, ...] = ()
    if annotation.removeprefix("typing.").startswith("Literal["):
        listed = annotation[annotation.index("[") + 1 : -1]
        choices = tuple(part.strip().strip("'\"") for part in listed.split(","))
        annotation = "str"
    annotation, low, high = _RANGES.get(annotation, (annotation, None, None))
    if parameter.default is parameter.empty:
        raise MetricError(f"{metric}: option {parameter.name!r} needs a default")
    if annotation not in _TYPES:
        raise MetricError(
            f"{metric}: option {parameter.name!r} is annotated {annotation}; an option is int, "
            f"float, str, Count, Fraction or a Literal of strings, and a model is named in models="
        )
    kind = typing.cast("Literal['int', 'float', 'str']", annotation)
    return Option(parameter.name, kind, parameter.default, text, choices, low, high)


def _argument_help(function: Callable[..., Any]) -> dict[str, str]:
    """Return the lines of the docstring's ``Args:`` section by parameter name."""
    helps: dict[str, str] = {}
    current = None
    inside = False
    for line in (inspect.getdoc(function) or "").splitlines():
        if not line.startswith(" "):
            inside = line.strip() == "Args:"
        elif inside and line.startswith("    ") and not line.startswith("     "):
            current, _, text = line.strip().partition(":")
            helps[current] = text.strip()
        elif inside and current:
            helps[current] += " " + line.strip()
    return helps
