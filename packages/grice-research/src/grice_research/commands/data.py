"""``grice data``: where the data sets of benches are from, and whether ours are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import emit
from grice.cli.streams import DONE, UNMET
from grice.errors import InputError
from grice.tables import Lines
from grice_tasks import flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from grice.tables import View
    from grice_research.sources import DataSet

HELP = "list, fetch and verify the data sets that benches read"
MEANINGS = {"ok": "ok", "missing": "is missing", "differs": "differs from the file grice knows"}


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "action", choices=("list", "get", "verify"), nargs="?", default="list", help="default list"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; none means all")
    flags.add_data(parser)
    parser.add_argument(
        "--from",
        dest="mirror",
        metavar="URL",
        help="get: a mirror of such a folder, https, http, file, or a path",
    )
    flags.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List sets, or fetch or verify their files."""
    from grice.evaluation.datasets import data_folder
    from grice_research.sources import named_data

    chosen = named_data(arguments.names)
    if arguments.action == "list":
        for data_set in chosen:
            emit(data_set, _view(data_set), as_json=arguments.json)
        return DONE
    if arguments.action == "get":
        return _get(arguments, chosen)
    folder = data_folder(arguments.data)
    if folder is None:
        raise InputError("no data folder is named; give --data DIR or set GRICE_DATA")
    return _verify(chosen, folder, as_json=arguments.json)


def _view(data_set: DataSet) -> View:
    yield Lines([data_set.name], style="bold")
    yield Lines(
        [
            f"origin: {data_set.origin}",
            f"commit: {data_set.commit or 'not known as one'}",
            f"licence: {data_set.licence}",
            f"layout: prepare by hand: {data_set.layout}",
            *(f"file: {file}" for file in data_set.files),
        ],
        indent=2,
    )


def _get(arguments: argparse.Namespace, chosen: Sequence[DataSet]) -> int:
    from grice.evaluation.datasets import VARIABLE, data_folder
    from grice_research.sources import fetch

    if not arguments.names:
        raise InputError("name the data sets to get; grice data list shows them")
    if not arguments.mirror:
        first = chosen[0]
        raise InputError(
            f"{first.name} is prepared by hand from {first.origin} ({first.licence}): "
            f"{first.layout}\n  --from URL fetches it from a folder where somebody has done so"
        )
    folder = arguments.data or data_folder()
    if folder is None:
        raise InputError(f"no data folder is named; give --data DIR or set {VARIABLE}")
    for data_set in chosen:
        fetched = fetch(data_set, arguments.mirror, folder)
        lines = [f"{file}: fetched" for file in fetched]
        lines.append(f"{data_set.name}: all files are there ({data_set.licence})")
        emit({"name": data_set.name, "fetched": fetched}, [Lines(lines)], as_json=arguments.json)
    return DONE


def _verify(chosen: Sequence[DataSet], folder: Path, *, as_json: bool) -> int:
    from grice_research.sources import states

    right = True
    for data_set in chosen:
        by_file = states(data_set, folder)
        right = right and all(state == "ok" for state in by_file.values())
        lines = [f"{file}: {MEANINGS[state]}" for file, state in by_file.items()]
        emit({"name": data_set.name, "files": by_file}, [Lines(lines)], as_json=as_json)
    return DONE if right else UNMET
