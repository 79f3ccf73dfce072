"""Command-line parsers derived from functions: signature, annotations and docstring.

    def run(scores: str, *, level: float = 0.9, report: OutputPath | None = None) -> Output:
        '''Compare two score files.

Args:
            scores (OUT.jsonl): scores of grice score
            level: of each map
        '''

A positional parameter becomes an argument, a keyword-only one an option; a trailing underscore is
left out of its name. ``Args`` gives the placeholder in brackets, and the help. A parameter that
several commands share has both in :data:`SHARED_ARGS`; its entry in ``Args`` adds to them. A
parameter of a group (:data:`GROUPS`) stands for all options of the group. ``--json`` is added to
every command. Annotations are read as text, so that nothing is imported for them.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, cast

from grice.cli.output import warn
from grice.errors import InputError, did_you_mean
from grice.files import is_url

if TYPE_CHECKING:
    from grice.metrics.declaration import Metric, Registry

Count: TypeAlias = int  # an integer of 1 or more
Names: TypeAlias = "Sequence[str]"  # names behind one option, comma-separated
Many: TypeAlias = "Sequence[str]"  # several values behind one option
OutputPath: TypeAlias = Path  # a file or folder that is written; a URL stays a string
Scale: TypeAlias = tuple[float, float]

SHARED_ARGS = """
across_signatures: also accept scores of different versions, models or options of a metric
cache (DIR): folder of cached model outputs (default: the user's cache folder)
column (PART=NAME): name of a column of a table, as in conversation=ticket_no; PART is conversation,
    speaker, role, text, time, context, response, question or answer; may be repeated
concurrency (N): number of concurrent requests
data (DIR): folder of the data sets; default GRICE_DATA
dry_run: with an endpoint model: estimate the requests without sending or writing anything
format (NAME): format of the files; default: detected (grice list)
host (HOST): address to listen on (default: this machine only)
json: print the result as JSON, one object per line
judge (MODEL): the judge of rubrics: openai:MODEL@URL, or a model that answers rubrics (default: the
    judge of --models)
level (P): confidence level of the intervals, between 0 and 1
limit_requests (N): send at most N requests to an endpoint, retries included; answers are cached,
    and the same command resumes
metrics (NAMES): metrics, comma-separated (grice list)
mode: arithmetic: fast (int8) or exact (float32, one text at a time)
model (MODEL): model reference
models (PRESET): models and weights of all metrics: small (the default, unless grice models use set
    another), medium, large, a preset or FILE.toml of your own, or openai:MODEL@URL, which adds LLM
    judges
no_cache: do not cache model outputs between runs
output (FILE): write the result here
plugin (FILE.py): a Python file that declares further metrics; may be repeated
port (PORT): port to listen on
report (OUT.html): also write an HTML page of the result
rubric (RUBRIC): also score by a criterion of your own: a sentence, or a .toml file with several;
    may be repeated
rules: as in the paper, or as in the official script
scale (LOW HIGH): lowest and highest possible rating; default: those in the data
seed (N): seed of random draws
speaker (NAME): judge only turns of this speaker or role; may be repeated; all: every speaker
    (default: the assistant if roles or names identify it, else every speaker)
timeout (SECONDS): timeout for an endpoint without response
top (N): number of items to show
workers (N): number of parallel batches; default: cores
"""
"""The parameters that mean the same in every command, as in ``Args``."""

SHORT = {"metrics": "-m", "output": "-o"}


class Input(argparse.Namespace):
    """Options on how files of conversations are read."""

    format: str | None = None
    column: Sequence[str] = ()


class Endpoints(argparse.Namespace):
    """Options on how models of endpoints are used."""

    dry_run: bool = False
    limit_requests: Count | None = None
    concurrency: Count = 8
    timeout: Count = 60


class Scoring(argparse.Namespace):
    """Options that select, configure and run metrics; each metric adds its own."""

    registry: Registry
    metrics: str | None = None
    plugin: Sequence[Path] = ()
    rubric: Sequence[str] = ()
    judge: str | None = None
    models: str | None = None
    mode: Literal["fast", "exact"] = "fast"
    workers: Count | None = None
    cache: Path | None = None
    no_cache: bool = False


GROUPS: dict[str, type[argparse.Namespace]] = {
    group.__name__: group for group in (Input, Endpoints, Scoring)
}
CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """Parser whose errors name the closest word, with the usage of the command in question.

    Options cannot be abbreviated: an abbreviation would break when a similar option is added.
    """

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - of argparse
        super().__init__(**settings, allow_abbrev=False)

    def parse_known_args(  # type: ignore[override] # without its overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse unknown options by the usage of this command."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [option for option in self._option_string_actions if option[1:2] == "-"]
            word = unknown[0].partition("=")[0]
            near = get_close_matches(word, options, 1)
            if not near:  # without the metric's name in front
                ends = [f"--{option.rpartition('-')[2]}" for option in options]
                close = get_close_matches(word, ends, 1)
                near = [option for option, end in zip(options, ends, strict=True) if [end] == close]
            nearest = " or ".join(map(repr, sorted(near, key=len)[:3]))
            suggestion = f"; did you mean {nearest}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """End with the usage and a message, which names the closest choice."""
        if wrong := CHOICE.search(message):
            near = did_you_mean(wrong[1], [choice.strip(" '") for choice in wrong[2].split(",")])
            message = f"{message[: wrong.start()]}no {wrong[1]!r} here{near}"
        super().error(message)

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of commands or actions by name."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return cast("dict[str, Parser]", action.choices)
        return {}


def leaves(parser: Parser, *names: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield the parsers without further commands, each with the words that lead to it."""
    commands = parser.commands()
    if not commands:
        yield names, parser
    for name, command in commands.items():
        yield from leaves(command, *names, name)


def add_everywhere(parser: argparse.ArgumentParser, *, default: object = argparse.SUPPRESS) -> None:
    """Add the options of every command and action, before or after its name."""
    for flags, text in (
        (["--debug"], "show the trace of an error"),
        (["-q", "--quiet"], "print only results and errors"),
        (["--full"], "do not shorten texts"),
    ):
        parser.add_argument(*flags, action="store_true", default=default, help=text)


def add_command(parser: Parser, command: Any, words: Sequence[str]) -> None:  # noqa: ANN401
    """Declare the arguments of a function, or of the ``run`` or ``ACTIONS`` of a module."""
    actions = getattr(command, "ACTIONS", ())
    if not actions:
        function = getattr(command, "run", command)
        parser.set_defaults(run=partial(call, function), leaf=parser)
        _add_arguments(parser, function, words)
        return
    subparsers = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for action in actions() if callable(actions) else actions:
        name, text = action.__name__.strip("_").replace("_", "-"), about(action)
        subparser = subparsers.add_parser(name, help=text, description=text)
        add_everywhere(subparser)
        add_command(subparser, action, words)


def about(function: Callable[..., object]) -> str:
    """Return the first line of a docstring as the help of a command."""
    first = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


def option_names(function: Callable[..., object]) -> set[str]:
    """Return the options of a command without dashes, those of metrics excepted."""
    found: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        group = GROUPS.get(parameter.annotation)
        found |= {name} if group is None else group.__annotations__.keys()
    return {name.strip("_").replace("_", "-") for name in found}


def _add_arguments(
    parser: argparse.ArgumentParser, function: Callable[..., object], words: Sequence[str]
) -> None:
    """Declare the arguments of a command; its help describes the metrics that the words select."""
    helps = _helps((inspect.getdoc(function) or "").partition("Args:\n")[2])
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        option = parameter.kind is parameter.KEYWORD_ONLY
        if parameter.annotation == "Scoring":
            _add_scoring(parser, words, takes_metrics="score" not in parameters)
        elif group := GROUPS.get(parameter.annotation):
            title = about(group).removeprefix("options on ")
            _add_group(parser.add_argument_group(title), group)
        elif name != "json":
            _add(parser, name, parameter.annotation, parameter.default, helps, option=option)
    _add(parser, "json", "bool", False, {}, option=True)


def _add_group(parser: argparse._ActionsContainer, group: type[argparse.Namespace]) -> None:
    for name, annotation in group.__annotations__.items():
        if name in SHARED and name != "metrics":  # its default depends on the plug-ins
            _add(parser, name, annotation, getattr(group, name), {}, option=True)


def _add_scoring(
    parser: argparse.ArgumentParser, words: Sequence[str], *, takes_metrics: bool
) -> None:
    """Declare the options of :class:`Scoring` and of metrics, those of plug-in files included."""
    from grice.metrics.declaration import find_metrics

    early = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    early.add_argument("--plugin", type=Path, action="append", default=[])
    early.add_argument("-m", "--metrics", "--score")
    known = argparse.Namespace(plugin=[], metrics=None)
    with suppress(argparse.ArgumentError):  # the full parser reports it
        known = early.parse_known_args(list(words))[0]
    registry = find_metrics(known.plugin)
    for problem in registry.problems:
        warn(problem)
    group = parser.add_argument_group(
        "metrics",
        "Each metric has options of the form --METRIC-OPTION: grice list METRIC describes them, "
        "and this help does with -m METRIC.",
    )
    _add_group(group, Scoring)
    if takes_metrics:
        default = f"default {','.join(registry.defaults())}"
        _add(group, "metrics", "str", None, {"metrics": ("", default)}, option=True)
    parser.set_defaults(registry=registry, metrics=None)  # plug-ins are run once
    for metric in registry.metrics.values():
        group = parser.add_argument_group(f"options of {metric.name}")
        for name, text, settings in metric_options(metric):
            group.add_argument(
                metric.flag(name),
                dest=f"{metric.name}.{name}",
                help=text if metric.name in names(known.metrics) else argparse.SUPPRESS,
                **settings,
            )


def metric_options(metric: Metric) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the options and models of a metric: name, help and settings of argparse."""
    for option in metric.options:
        limits = f"{option.range}." if option.range else ""
        text = " ".join(filter(None, [option.help, limits, f"Default: {option.default}."]))
        value = {"choices": option.choices} if option.choices else {"metavar": option.type.upper()}
        kind = {"int": int, "float": float, "str": str}[option.type]
        yield option.name, text.replace("%", "%%"), {"type": kind, **value}
    for name, reference in metric.models.items():
        yield name, f"model reference; default {reference or 'none'}", {"metavar": "MODEL"}


def call(function: Callable[..., object], arguments: argparse.Namespace) -> object:
    """Call a command with the arguments that its parser read."""
    parameters = inspect.signature(function).parameters.values()
    given = {
        each.name: arguments if each.annotation in GROUPS else getattr(arguments, each.name)
        for each in parameters
    }
    return function(**given)


def _add(
    parser: argparse._ActionsContainer,
    name: str,
    annotation: str,
    default: object,
    helps: dict[str, tuple[str, str]],
    *,
    option: bool,
) -> None:
    metavar, text = SHARED.get(name, ("", ""))
    own_metavar, own_text = helps.get(name, ("", ""))
    text = ": ".join(filter(None, [text, own_text]))
    required = default is inspect.Parameter.empty
    kind = annotation.removesuffix(" | None")
    repeated = kind.startswith("Sequence[")
    kind = kind.removeprefix("Sequence[").removesuffix("]") if repeated else kind
    settings: dict[str, Any] = {}
    if kind == "bool":
        settings["action"] = argparse.BooleanOptionalAction if default else "store_true"
    elif kind.startswith("Literal["):
        settings["choices"] = ast.literal_eval(kind.removeprefix("Literal"))
    else:
        settings = {"metavar": own_metavar or metavar or None, **TYPES[kind]}
        if kind == "Scale":
            settings["metavar"] = tuple(metavar.split())
    if not required:
        settings["default"] = list(default) if repeated else default  # type: ignore[call-overload]
        if type(default) in (int, float, str) and default != "" and "default" not in text:
            text += f" (default {default})"
    text = text.replace("%", "%%")
    if option:
        if repeated:
            settings["action"] = "append"
        bare = name.strip("_").replace("_", "-")
        flags = [*filter(None, [SHORT.get(name)]), f"--{bare}" if len(bare) > 1 else f"-{bare}"]
        parser.add_argument(*flags, dest=name, required=required, help=text, **settings)
        return
    if repeated:
        settings["nargs"] = "+" if required else "*"
    elif not required:
        settings["nargs"] = "?"
    parser.add_argument(name, help=text, **settings)


def _helps(section: str) -> dict[str, tuple[str, str]]:
    """Return placeholder and help by parameter, from the lines of ``Args``."""
    found = {}
    for entry in re.split(r"^(?=\w)", inspect.cleandoc(section), flags=re.MULTILINE)[1:]:
        name, text = entry.split(": ", 1)
        name, _, metavar = name.partition(" (")
        found[name] = (metavar.removesuffix(")"), " ".join(text.split()))
    return found


SHARED = _helps(SHARED_ARGS)


def count(text: str) -> int:
    """Parse an integer of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: an integer of 1 or more is needed")
    return int(text)


def output_path(text: str) -> Path | str:
    """Parse the path of a file that is written; a path would shorten a URL."""
    return text if is_url(text) else Path(text)


def names(listed: str | None) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in (listed or "").split(",") if name.strip()]


TYPES: dict[str, dict[str, Any]] = {
    "Count": {"type": count},
    "Many": {"nargs": "+", "action": "extend"},
    "Names": {"type": names},
    "OutputPath": {"type": output_path},
    "Path": {"type": Path},
    "Scale": {"type": float, "nargs": 2},
    "float": {"type": float},
    "int": {"type": int},
    "str": {},
}
"""Settings of argparse by annotation."""


def named_number(
    option: str, text: str, form: str = "METRIC=VALUE, such as relevance=0.6", between: str = "="
) -> tuple[str, float]:
    """Split ``NAME=NUMBER``; the name may be missing where the form has it in brackets."""
    name, _, number = text.rpartition(between)
    try:
        if name or form.startswith("["):
            return name, float(number)
    except ValueError:
        raise InputError(f"{option} {text}: {number!r} is not a number") from None
    raise InputError(f"{option} {text}: write {form}")
