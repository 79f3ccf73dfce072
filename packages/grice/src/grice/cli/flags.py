"""Options that mean the same in every command, each declared once."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grice.stores import is_url

if TYPE_CHECKING:
    from collections.abc import Callable


EXTRAS = {
    "arrow": "Parquet and Arrow files",
    "dask": "--engine dask",
    "onnx": "models of kinds onnx-*",
    "ray": "--engine ray",
    "serve": "grice serve",
    "spark": "--engine spark",
    "stores": "s3:// and other URLs",
    "stats": "correlations, intervals by Student's t, and fits",
    "transformers": "models of kinds transformers-*",
}
"""What is installed on demand, and for what; ``grice[all]`` is all of it but the engines."""


def add_switch(parser: argparse._ActionsContainer, name: str, about: str) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=about)


def add_number(
    parser: argparse._ActionsContainer,
    name: str,
    metavar: str,
    about: str,
    default: float | None = None,
    *,
    type: Callable[[str], float] | None = None,  # noqa: A002 - what argparse calls it
) -> None:
    """Add an option that takes a number: 1 or more, unless ``type`` reads it otherwise."""
    stated = "" if default is None else f" (default {default:g})"
    parser.add_argument(
        name, type=type or positive, default=default, metavar=metavar, help=f"{about}{stated}"
    )


def add_list(
    parser: argparse._ActionsContainer,
    name: str,
    metavar: str,
    about: str,
    *,
    type: Callable[[str], object] = str,  # noqa: A002 - what argparse calls it
) -> None:
    """Add an option that may be repeated."""
    parser.add_argument(name, action="append", default=[], type=type, metavar=metavar, help=about)


def add_path(parser: argparse._ActionsContainer, name: str, metavar: str, about: str) -> None:
    """Add an option that names a file or a folder."""
    parser.add_argument(name, type=Path, metavar=metavar, help=about)


add_across_signatures = partial(
    add_switch,
    name="--across-signatures",
    about="take also scores of different versions, models or options of a metric",
)
add_cache = partial(
    add_path,
    name="--cache",
    metavar="DIR",
    about="folder of answers kept between runs (default: the user's cache folder)",
)
add_data = partial(
    add_path, name="--data", metavar="DIR", about="folder of the data sets; default GRICE_DATA"
)
add_json = partial(add_switch, name="--json", about="print the result as JSON, one object a line")
add_plugins = partial(
    add_list,
    name="--plugin",
    metavar="FILE.py",
    about="a Python file that declares further metrics; may be repeated",
    type=Path,
)
add_report = partial(
    add_path, name="--report", metavar="OUT.html", about="write a page to look at the result, too"
)
add_speaker = partial(
    add_list,
    name="--speaker",
    metavar="NAME",
    about="judge only turns of this speaker or role; may be repeated; all judges everybody "
    "(default: the assistant where roles or speakers' names tell who that is, else everybody)",
)


def add_preset(parser: argparse._ActionsContainer) -> None:
    """Add the choice of all models and weights at once."""
    parser.add_argument(
        "--models",
        metavar="PRESET",
        help="models and weights all at once: small (what ships), medium, large, a preset or "
        "FILE.toml of your own, or openai:MODEL@URL, which adds LLM judges; default: what grice "
        "models use has chosen, else small",
    )


def add_mode(parser: argparse._ActionsContainer) -> None:
    """Add the arithmetic of models."""
    parser.add_argument(
        "--mode",
        choices=("fast", "exact"),
        default="fast",
        help="arithmetic: fast (int8, default) or exact (float32, one text at a time)",
    )


def add_files(parser: argparse._ActionsContainer, about: str) -> None:
    """Add the files that a command reads, one at least."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)


def add_extras(parser: argparse.ArgumentParser, *extras: str) -> None:
    """Add which extras a command may ask for, below its help."""
    named = "; ".join(f'"grice[{extra}]" for {EXTRAS[extra]}' for extra in sorted(extras))
    parser.epilog = " ".join(
        filter(None, [parser.epilog, f'Installed on demand, by pip install: {named}; "grice[all]" '
                                     "is all of it but engines."])
    )  # fmt: skip


def tells_by_status(parser: argparse.ArgumentParser) -> None:
    """Let a command end with the status of what it found, also where nobody reads what it says."""
    parser.set_defaults(checking=True)


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add how files of conversations are read: their format, and the columns of a table."""
    parser.add_argument(
        "--format", metavar="NAME", help="format of the files; default: as they look (grice list)"
    )
    parser.add_argument(
        "--column",
        dest="columns",
        action=_Columns,
        default={},
        metavar="PART=NAME",
        help="name of a column of a table, as in conversation=ticket_no; PART is conversation, "
        "speaker, role, text, time, context, response, question or answer; may be repeated",
    )


class _Columns(argparse.Action):
    """Collects names of columns by what they are."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        from grice.errors import InputError
        from grice.readers.table import check_parts

        part, equals, name = str(values).partition("=")
        if not equals:
            raise argparse.ArgumentError(self, f"{part!r}: PART=NAME is needed, as in text=body")
        columns = dict(getattr(namespace, self.dest))
        if columns.get(part, name) != name:
            raise argparse.ArgumentError(
                self, f"{part} is given twice: {columns[part]!r} and {name!r}"
            )
        try:
            check_parts({part: name})
        except InputError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        setattr(namespace, self.dest, {**columns, part: name})


def add_seed(parser: argparse.ArgumentParser, about: str, default: int = 0) -> None:
    """Add the seed of what is drawn."""
    add_number(
        parser, "--seed", "N", f"seed of what is drawn at random: {about}", default, type=int
    )


def add_metrics(parser: argparse._ActionsContainer, default: str = "all") -> None:
    """Add the list of metrics."""
    about = f"metrics, comma-separated (grice list); default {default}"
    parser.add_argument("-m", "--metrics", metavar="NAMES", help=about)


def _path_or_url(text: str) -> Path | str:
    return text if is_url(text) else Path(text)  # a path would shorten a URL


def add_output(
    parser: argparse.ArgumentParser, metavar: str, what: str, *, required: bool = False
) -> None:
    """Add the file or folder that is written."""
    parser.add_argument(
        "-o",
        "--output",
        type=_path_or_url,
        metavar=metavar,
        help=f"write the result here: {what}",
        required=required,
    )


def add_top(parser: argparse.ArgumentParser, default: int) -> None:
    """Add how many of what comes first are shown."""
    add_number(parser, "--top", "N", "how many are shown", default)


def add_scale(parser: argparse.ArgumentParser, default: tuple[float, float] | None = None) -> None:
    """Add the ends of the scale of ratings."""
    ends = "those that are given" if default is None else " ".join(f"{e:g}" for e in default)
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        default=default,
        metavar=("LOW", "HIGH"),
        help=f"lowest and highest rating; default {ends}",
    )


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Add where a service listens."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen at (default: this machine alone)"
    )
    parser.add_argument(
        "--port", type=int, default=port, help=f"port to listen at (default {port})"
    )


def add_level(parser: argparse.ArgumentParser, default: float) -> None:
    """Add the level of intervals."""
    parser.add_argument(
        "--level",
        type=float,
        default=default,
        metavar="P",
        help=f"level of the intervals, between 0 and 1 (default {default:g})",
    )


def add_endpoints(parser: argparse.ArgumentParser) -> None:
    """Add how models of endpoints are used."""
    group = parser.add_argument_group(
        "endpoints", "a model openai:MODEL@URL is asked over the network, at that address alone"
    )
    add_switch(group, "--dry-run", "say how much would be sent, about, and send and write nothing")
    group.add_argument(
        "--limit-requests",
        type=positive,
        metavar="N",
        help="send no more requests, repeated ones too; what was answered is kept, and the same "
        "command goes on",
    )
    add_number(group, "--concurrency", "N", "requests under way at the same time", 8)
    add_number(group, "--timeout", "SECONDS", "how long a server may be silent", 60)


def positive(text: str) -> int:
    """Return an integer of 1 or more that stands behind an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: an integer of 1 or more is needed")
    return int(text)
