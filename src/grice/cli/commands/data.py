"""``grice data``: where the data sets of benches are from, and whether ours are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._status import DONE, UNMET
from grice.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.evaluation.sources import DataSet

HELP = "list, fetch and verify the data sets that benches read"
MEANINGS = {"ok": "ok", "missing": "is missing", "differs": "differs from the file grice knows"}


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments."""
    parser.add_argument(
        "action", choices=("list", "get", "verify"), nargs="?", default="list", help="default list"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; none means all")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the data sets; default GRICE_DATA"
    )
    parser.add_argument(
        "--from",
        dest="mirror",
        metavar="URL",
        help="get: a mirror of such a folder, https, http, file, or a path",
    )
    parser.add_argument("--json", action="store_true", help="list: print a JSON object a set")


def run(arguments: argparse.Namespace) -> int:
    """List sets, or fetch or verify their files."""
    from grice.evaluation.datasets import data_folder
    from grice.evaluation.sources import named_data

    chosen = named_data(arguments.names)
    if arguments.action == "list":
        return _list(chosen, as_json=arguments.json)
    if arguments.action == "get":
        return _get(arguments, chosen)
    folder = data_folder(arguments.data)
    if folder is None:
        raise InputError("no data folder is named; give --data DIR or set GRICE_DATA")
    return _verify(chosen, folder)


def _list(chosen: Sequence[DataSet], *, as_json: bool) -> int:
    from grice.cli.output import print_json
    from grice.cli.tables import print_lines

    for one in chosen:
        if as_json:
            print_json(one)
            continue
        print_lines([one.name], style="bold")
        commit = one.commit or "not known as one"
        print_lines(
            [
                f"origin: {one.origin}",
                f"commit: {commit}",
                f"licence: {one.licence}",
                f"layout: prepare by hand: {one.layout}",
                *(f"file: {file}" for file in one.files),
            ],
            indent=2,
        )
    return DONE


def _get(arguments: argparse.Namespace, chosen: Sequence[DataSet]) -> int:
    from grice.cli.tables import print_lines
    from grice.evaluation.datasets import VARIABLE, data_folder
    from grice.evaluation.sources import fetch

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
    for one in chosen:
        for file in fetch(one, arguments.mirror, folder):
            print_lines([f"{file}: fetched"])
        print_lines([f"{one.name}: all files are there ({one.licence})"])
    return DONE


def _verify(chosen: Sequence[DataSet], folder: Path) -> int:
    from grice.cli.tables import print_lines
    from grice.evaluation.sources import states

    right = True
    for one in chosen:
        for file, state in states(one, folder).items():
            right = right and state == "ok"
            print_lines([f"{file}: {MEANINGS[state]}"])
    return DONE if right else UNMET
