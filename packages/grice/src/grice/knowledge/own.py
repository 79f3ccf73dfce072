"""Triples of your own, read from a table and merged with the shipped ones: ``file:MY.tsv``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from grice.data import Triple
from grice.errors import ModelFolderError, RecordError, did_you_mean, os_reason
from grice.knowledge.store import KnowledgeBase, StoredKnowledge
from grice.models.folder import Card, ModelFolder, file_sha256, open_folder
from grice.models.loader import NoSettings, model_type, reference_scheme

if TYPE_CHECKING:
    from grice.knowledge.schema import Schema
    from grice.models.loader import ModelLoader

BASE = "builtin:atomic"
"""The knowledge that triples of your own are merged with."""
TABLES = (".tsv", ".jsonl")
"""Suffixes of the files that hold triples."""
COLUMNS = ("head", "relation", "tail", "source")
MAX_LENGTH = 1000
"""Characters of a head or tail; a longer one is a text in the wrong column."""


@reference_scheme("file")
def own_model(place: str) -> ModelFolder:
    """Return the model of ``file:FOLDER``, or the triples of ``file:MY.tsv``."""
    path = Path(place)
    if path.suffix == ".kb":
        raise ModelFolderError(
            f"{path}: files of grice kb build are not read any more: write their triples as "
            f"{path.with_suffix('.tsv')}, one a line: head, relation, tail and source"
        )
    if path.suffix not in TABLES or path.is_dir():
        return open_folder(path)
    if not path.is_file():
        near = [known.name for suffix in TABLES for known in path.parent.glob(f"*{suffix}")]
        raise ModelFolderError(f"{path}: no such file of triples{did_you_mean(path.name, near)}")
    digest = file_sha256(path)
    card = Card(
        path.stem,
        "own-triples",
        "1",
        "Triples of your own.",
        "your own",
        {path.name: digest},
        encoder="encoder",
        settings={"base": BASE},
    )
    return ModelFolder(path.parent, card, digest[:8])


@model_type("own-triples", task="knowledge", protocol=KnowledgeBase, settings=NoSettings)
def own_triples(folder: ModelFolder, _: NoSettings, loader: ModelLoader) -> StoredKnowledge:
    """Open triples of your own, merged with the shipped ones."""
    base = loader.dependency(folder, BASE, StoredKnowledge, "knowledge")
    (name,) = folder.card.files
    triples = read_triples(folder.path / name, base.store.schema)
    return base.with_triples(triples, folder.identity)


def read_triples(path: Path, schema: Schema) -> list[Triple]:
    """Return the triples of a table with tabs, or of JSON lines, each once.

    A table has the columns head, relation, tail and perhaps source, in the order of its first
    line if that names them. A triple without a source has the name of the file.
    """
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ModelFolderError(f"{path}: not UTF-8 at byte {error.start}") from error
    triples: dict[tuple[str, str, str], Triple] = {}
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if path.suffix == ".tsv" and not names:
            header = [cell.strip().lower() for cell in cells]
            if set(COLUMNS[:3]) <= set(header):
                names = header
                continue
            names = list(COLUMNS)
        try:
            row = json.loads(line) if path.suffix == ".jsonl" else dict(zip(names, cells))  # noqa: B905
            triple, problems = _checked(row, schema, path.name)
        except ValueError as error:
            triple, problems = None, [f"no JSON: {error}"]
        if triple is None or problems:
            raise RecordError("; ".join(problems), file=str(path), line=number)
        triples.setdefault((triple.head, triple.relation, triple.tail), triple)
    return list(triples.values())


def _checked(row: object, schema: Schema, source: str) -> tuple[Triple | None, list[str]]:
    """Return the triple of a row and its problems."""
    if not isinstance(row, dict):
        return None, ["a JSON object is needed"]
    missing = [name for name in COLUMNS[:3] if not isinstance(row.get(name), str)]
    if missing:
        return None, [f"no {' and no '.join(missing)}: texts head, relation and tail are needed"]
    head, relation, tail = (" ".join(row[name].split()) for name in COLUMNS[:3])
    stated = str(row.get("source") or "").strip() or source
    triple = schema.renamed(Triple(head, relation, tail, source=stated))
    return triple, [
        *schema.problems(triple),
        *(
            f"{name} of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed"
            for name, text in (("head", triple.head), ("tail", triple.tail))
            if len(text) > MAX_LENGTH
        ),
    ]
