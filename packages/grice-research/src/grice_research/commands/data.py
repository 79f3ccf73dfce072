"""``grice data``: where the data sets of benches are from, and whether ours are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.output import DONE, UNMET, Output
from grice.errors import InputError
from grice.tables import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.tables import View
    from grice_research.sources import DataSet

MEANINGS = {"ok": "ok", "missing": "is missing", "differs": "differs from the file grice knows"}


def run(
    action: Literal["list", "verify"] = "list",
    names: Sequence[str] = (),
    *,
    data: Path | None = None,
) -> Output:
    """List and verify the data sets that benches read.

    Args:
        action: what is done
        names (NAME): data sets; none means all
    """
    from grice.evaluation.datasets import VARIABLE, data_folder
    from grice_research.sources import named_data, states

    chosen = named_data(names)
    if action == "list":
        return Output(chosen, (piece for data_set in chosen for piece in _view(data_set)))
    folder = data_folder(data)
    if folder is None:
        raise InputError(f"no data folder is named; give --data DIR or set {VARIABLE}")
    found = {each.name: states(each, folder) for each in chosen}
    rows = [{"name": name, "files": files} for name, files in found.items()]
    by_file = [item for files in found.values() for item in files.items()]
    lines = [f"{file}: {MEANINGS[state]}" for file, state in by_file]
    right = all(state == "ok" for _, state in by_file)
    return Output(rows, [Lines(lines)], DONE if right else UNMET)


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
