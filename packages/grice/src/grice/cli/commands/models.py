"""Commands on models and knowledge, each with several actions: models and kb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from grice.cli.derive import Count
from grice.cli.options import opened_models
from grice.cli.output import Output, listing, note
from grice.errors import InputError, excerpt
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from grice.knowledge.store import StoredKnowledge
    from grice.models.store import ModelInfo

COLUMNS = ("model", "here", "licence", "to fetch", "on disk", "in memory")
MORE = (
    "grice models list NAME shows details; – : not known or not measured",
    "get medium and get large fetch the models of a preset; get model:NAME fetches one model",
)


def list_(names: Sequence[str] = ()) -> Output:
    """List the models of the index and the installed ones.

    Args:
        names (NAME): models; default: all
    """
    from grice.models.store import list_models

    models = list_models(names)
    if names:
        return Output(models, [piece for model in models for piece in _details(model)])
    rows = []
    for model in models:
        sizes = map(_megabytes, (model.download, model.disk, model.memory))
        rows.append((model.name, "yes" if model.folder else "no", model.licence, *sizes))
    return Output(models, [Table(COLUMNS, rows, words=3), Lines(MORE)])


def _megabytes(size: int | None, form: str = ",.0f", unknown: str = "–") -> str:
    return unknown if size is None else f"{size / 1e6:{form}} MB"


def _details(model: ModelInfo) -> Iterator[Lines]:
    yield Lines([model.name], style="bold")
    disk, memory = (_megabytes(size, ",.1f", "not measured") for size in (model.disk, model.memory))
    fetched = f", {_megabytes(model.download, ',.1f')} to fetch" if model.download else ""
    measured = [
        f"measured: {one.on}, {one.measure}: {one.value:g} [{one.low:g}, {one.high:g}], "
        f"n {one.n:,}{f' ({one.command})' if one.command else ''}"
        for one in model.measured
    ]
    unmeasured = "agreement with people: not measured for this model alone; for presets see "
    lines = [
        f"what: {model.summary} ({model.kind})",
        f"here: {model.folder}" if model.folder else f"fetch it: {model.command}",
        f"source: {model.source or 'not stated'}",
        f"licence: {model.licence}",
        *([f"weights: {model.parameters / 1e9:.2g} billion"] if model.parameters else ()),
        *([f"prompt: {model.template}"] if model.template else ()),
        *([f"published, not measured here: {model.published}"] if model.published else ()),
        f"training data: {model.training}",
        f"on disk: {disk}{fetched}",
        f"in memory: {memory}",
        *(measured or [f"{unmeasured}docs/concepts/models.md"]),
    ]
    yield Lines(lines, indent=2)


def get(names: Sequence[str], *, mirror: str | None = None) -> Output:
    """Fetch a preset's models, or single ones.

    Args:
        mirror (URL): server in place of Hugging Face (default: HF_ENDPOINT), or a folder with the
            files; their sha256 is compared
        names (NAME): a preset, with all its models, or a model (grice models list); model:NAME is
            the model where a preset has the same name
    """
    from grice.models.download import get_models
    from grice.models.store import known_models
    from grice.scoring.api import find_presets, models_of

    models = get_models(models_of(names), note, mirror)
    presets, known = find_presets(), known_models()
    here = [name for name in names if name in presets]
    lines = [f"use the preset: grice score FILE --models {name}" for name in here]
    apart = [known[name] for name in here if name in known and name not in models]
    lines += [
        f"not fetched, since the preset does not need it: model:{model.name}, {model.title} as a "
        f"whole; fetch it: {model.command}"
        for model in apart
    ]
    return _places(models, lines)


def add(
    source: str,
    *,
    licence: str = "",
    name: str = "",
    file: Sequence[str] = (),
    kind: str = "causal-lm",
) -> Output:
    """Install a model that is not in the index.

    Args:
        source (SOURCE): a model, a folder with config.json, *.safetensors and tokenizer.json, a
            GGUF file, or hf:OWNER/NAME@COMMIT
        licence (SPDX): licence of the weights; default: that of the source model
        name (NAME): name of the new model; default: that of its source
        file (PATH): of hf: only this file, such as a GGUF file; may be repeated
        kind (KIND): type of the new model, such as transformers-nli or onnx-nli
    """
    from grice.models.download import add_model

    name, folder = add_model(source, note, licence=licence, name=name, files=file, kind=kind)
    return _places({name: folder})


def _places(models: Mapping[str, Path], more: Iterable[str] = ()) -> Output:
    lines = [f"{name}: {folder}\nuse it as model:{name}\n" for name, folder in models.items()]
    rows = [{"name": name, "folder": str(folder)} for name, folder in models.items()]
    return Output(rows, [*lines, Lines(more)])


def path(name: str) -> Output:
    """Print the folder of a model.

    Args:
        name (NAME): the model (grice models list)
    """
    from grice.models.store import stored

    folder = str(stored(name))
    return Output([{"name": name, "folder": folder}], [f"{folder}\n"])


def rm(names: Sequence[str]) -> Output:
    """Remove models.

    Args:
        names (NAME): models
    """
    from grice.models.store import remove
    from grice.scoring.api import check_not_chosen

    rows = []
    for name in names:
        check_not_chosen(name)
        rows.append({"name": name, "removed": str(remove(name))})
    return Output(rows, [Lines(f"{row['removed']}: removed" for row in rows)])


def use(preset: str | None = None) -> Output:
    """Set the default preset.

    Args:
        preset (PRESET): small, medium, large or your own; without one, show the presets
    """
    from grice.scoring.api import default_preset, find_presets, named_preset, set_default

    if preset is not None:
        file = set_default(preset)
        line = f"default preset: {preset} ({file})"
        return Output([{"name": preset, "file": str(file)}], [Lines([line])])
    chosen = default_preset()
    presets = [named_preset(name) for name in sorted(find_presets())]
    return listing(
        {"name": each.name, "about": each.summary, "chosen": each.name == chosen}
        for each in presets
    )


models = SimpleNamespace(
    HELP="list, fetch and choose models", ACTIONS=(list_, get, add, path, rm, use)
)

SHIPPED = "builtin:atomic"


def info(kb: str = SHIPPED) -> Output:
    """Count triples by relation and by source.

    Args:
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
    """
    with _opened(kb) as (knowledge, licence):
        schema = knowledge.schema
        row = {
            "identity": knowledge.triples_identity,
            "schema": f"{schema.name} (version {schema.version})",
            "triples": len(knowledge),
            "licence": licence,
        }
        counts = {"relations": knowledge.counts("relation"), "sources": knowledge.counts("source")}
    facts = row | {"triples": f"{len(knowledge):,}"}
    view = [Table((), [(name, str(fact)) for name, fact in facts.items()])]
    for title, by_name in counts.items():
        largest_first = sorted(by_name.items(), key=lambda entry: -entry[1])
        cells = [(name, f"{count:,}") for name, count in largest_first]
        view.append(Table((title.removesuffix("s"), "triples"), cells))
    return Output([{**row, **counts}], view)


def find(
    text: Sequence[str],
    *,
    near: bool = False,
    exact: bool = False,
    kb: str = SHIPPED,
    k: Count = 10,
) -> Output:
    """Search for triples that contain all words or prefixes.

    Args:
        text (WORD): words of head and tail
        near: show the heads nearest to the words in meaning instead
        exact: head or tail equals the words
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
        k (N): maximum number
    """
    terms = [word for part in text for word in part.split()]
    if not terms:
        raise InputError("no search words: give some, as in grice kb find bake cake")
    with _opened(kb) as (knowledge, _):
        if near:
            (heads,) = knowledge.nearest([" ".join(text)], k)
            return listing(head._asdict() for head in heads)
        triples = knowledge.exact(" ".join(terms), k) if exact else knowledge.find(terms, k)
    if not triples:
        phrase = (" " if exact else " and ").join(terms)
        return Output([], [Lines([f"no triple contains {phrase}; try --near"], style="yellow")])
    return listing(
        {name: getattr(triple, name) for name in ("head", "relation", "tail", "source")}
        for triple in triples
    )


def tails(
    head: str, relation: str, *, like: str | None = None, kb: str = SHIPPED, k: Count = 10
) -> Output:
    """List the tails of a head and of similar heads.

    Args:
        head (HEAD): an event, such as 'PersonX bakes a cake'
        relation (RELATION): such as xWant
        like (TAIL): only the tails most similar to this one
        kb (KB): MY.tsv with triples of your own, merged with the shipped ones
        k (N): maximum number
    """
    from grice.data import Triple

    with _opened(kb) as (knowledge, _):
        if like is None:
            (known,) = knowledge.tails([head], [relation], k)
        else:
            known = knowledge.nearest_tails(Triple(head, relation, like), k)
    if not known:
        return Output([], [Lines([f"no tails for relation {relation}"], style="yellow")])
    if head.casefold() not in (tail.head.casefold() for tail in known):
        note(f"no tail of {excerpt(head, 60)!r} is known; these are tails of the nearest heads")
    if like is None:  # their similarity is to that one
        shown = ("head", "tail", "head_similarity", "source")
        return listing({name: getattr(tail, name) for name in shown} for tail in known)
    return listing(known)


@contextmanager
def _opened(kb: str) -> Iterator[tuple[StoredKnowledge, str]]:
    from grice.knowledge.store import StoredKnowledge
    from grice.models.loader import SCHEME_GROUP, find_entries

    reference = kb if kb.partition(":")[0] in find_entries(SCHEME_GROUP) else f"file:{kb}"
    with opened_models() as models:
        knowledge = models.load(reference)
        if not isinstance(knowledge, StoredKnowledge):
            raise InputError(f"{reference}: is not a knowledge base")
        yield knowledge, models.folder(reference).card.licence


kb = SimpleNamespace(HELP="search the commonsense knowledge base", ACTIONS=(info, find, tails))
