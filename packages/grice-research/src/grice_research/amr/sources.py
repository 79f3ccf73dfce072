"""AMR graphs of texts: from a file, or from amrlib's parser and generator if it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.lines import read_text
from grice_research.amr.graphs import read_graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARK = "# ::snt "


def graphs_of_file(path: Path) -> dict[str, str]:
    """Return the AMR graphs of a file by their ``# ::snt`` sentence.

    Args:
        path: Graphs in PENMAN notation, blank lines between them, gzipped or not.

    Raises:
        InputError: If the file cannot be read, holds no graph, or one is broken; the line of the
            file and a caret under the place are named.
    """
    text = read_text(path)
    graphs: dict[str, str] = {}
    line = 1
    for block in text.split("\n\n"):
        rows = block.splitlines()
        sentence = next((row[len(MARK) :].strip() for row in rows if row.startswith(MARK)), None)
        body = [i for i, row in enumerate(rows) if row.strip() and not row.startswith("#")]
        if sentence is not None and body:
            graph = "\n".join(rows[body[0] :])
            try:
                read_graph(graph)
            except InputError as error:
                raise InputError(f"{path}:{line + body[0]}: {error}") from None
            graphs[sentence] = graph
        line += block.count("\n") + 2
    if not graphs:
        raise InputError(f"{path}: no graph with a '{MARK.strip()}' line")
    return graphs


def amrlib_models() -> tuple[Callable[[str], str | None], Callable[[str], str]]:
    """Return amrlib's parser and generator: text to graph, and graph to text.

    Raises:
        InputError: If amrlib or one of its models is not installed.
    """
    try:
        import amrlib

        parser, generator = amrlib.load_stog_model(), amrlib.load_gtos_model()
    except Exception as error:  # noqa: BLE001 - whatever amrlib raises, there is no model
        raise InputError(
            f"amrlib with a parser and a generator is not at hand ({error}); see "
            "amrlib.readthedocs.io, or give --graphs FILE, or --amr-parser MODEL"
        ) from None

    def parsed(text: str) -> str | None:
        graph = parser.parse_sents([text])[0]
        rows = (graph or "").splitlines()
        return "\n".join(row for row in rows if not row.startswith("#")) or None

    def sentence(graph: str) -> str:
        return str(generator.generate([graph])[0][0])

    return parsed, sentence
