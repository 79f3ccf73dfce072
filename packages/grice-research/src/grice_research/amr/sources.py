"""AMR graphs of texts: from a file, a trained parser, or amrlib's if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grice.errors import InputError, os_reason
from grice.files import cache_folder
from grice.models.loader import ModelLoader, default_workers
from grice.perturb import Material
from grice_research.amr.graphs import read_graph
from grice_research.amr.models import generated_texts, parsed_texts
from grice_research.published_models.seq2seq import Seq2Seq
from grice_tasks.lines import read_bytes

MARK = "# ::snt "


def open_sources(material: Material) -> Material:
    """Open the graphs of the turns, and the model that writes texts of changed graphs.

    The resources ``graphs`` (a file) or ``parser`` (a model) give the graphs, ``generator`` (a
    model) the texts; without one, changed turns stay graphs in PENMAN notation. amrlib reads
    the graphs if neither gives them.
    """
    given = dict(material.resources)
    if unknown := given.keys() - {"graphs", "parser", "generator"}:
        raise InputError(f"resource {min(unknown)}: AMR kinds read graphs, parser and generator")
    if given.keys() >= {"graphs", "parser"}:
        raise InputError("resources graphs and parser: the graphs come from one; leave one out")
    models = ModelLoader(mode="fast", workers=default_workers(), cache=cache_folder())
    parser, generator = (
        models.load(str(given[name]), Seq2Seq) if name in given else None
        for name in ("parser", "generator")
    )

    def sentence(graph: str) -> str:
        return graph if generator is None else generated_texts(generator, [graph])[0]

    graph_of: Callable[[str], str | None]
    to_text: Callable[[str], str] = sentence
    if "graphs" in given:
        graph_of = graphs_of_file(Path(str(given["graphs"]))).get
    elif parser is not None:
        texts = [turn.text for conversation in material.others for turn in conversation.turns]
        graph_of = parsed_texts(parser, texts).get
    else:
        graph_of, write = amrlib_models()
        to_text = write if generator is None else sentence
    return material._replace(resources={"graphs": graph_of, "sentences": to_text})


def reusing_graphs(material: Material) -> Material:
    """Reuse the graph that a text was made of: no parser reads such a text again."""
    graph_of, to_text = (material.resources.get(name) for name in ("graphs", "sentences"))
    if not callable(graph_of) or not callable(to_text):
        return material
    made: dict[str, str] = {}

    def sentence(graph: str) -> str:
        text: str = to_text(graph)
        made[text] = graph
        return text

    reused = {"graphs": lambda text: made.get(text) or graph_of(text), "sentences": sentence}
    return material._replace(resources=reused)


def graphs_of_file(path: Path) -> dict[str, str]:
    """Return the AMR graphs of a file by their ``# ::snt`` sentence."""
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {os_reason(error)}") from error
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
    """Return amrlib's parser and generator: text to graph, and graph to text."""
    try:
        import amrlib

        parser, generator = amrlib.load_stog_model(), amrlib.load_gtos_model()
    except Exception as error:  # noqa: BLE001 - whatever amrlib raises, there is no model
        raise InputError(
            f"amrlib with a parser and a generator is not at hand ({error}); see "
            "amrlib.readthedocs.io, or give --resource graphs=FILE, or --resource parser=MODEL"
        ) from None

    def parsed(text: str) -> str | None:
        graph = parser.parse_sents([text])[0]
        rows = (graph or "").splitlines()
        return "\n".join(row for row in rows if not row.startswith("#")) or None

    def sentence(graph: str) -> str:
        return str(generator.generate([graph])[0][0])

    return parsed, sentence
