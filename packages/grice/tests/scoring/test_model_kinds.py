"""Types of models by option; unsuitable ones are refused before a run."""

import hashlib
import re
import shutil
import sqlite3
from contextlib import closing

import pytest

from grice.data import Judgement
from grice.errors import GriceError, MetricError, ModelError, ModelFolderError
from grice.metrics import Example, metric
from grice.metrics.declaration import find_metrics
from grice.models.folder import open_folder, shipped_models
from grice.scoring.loaded import load_metric

FOUND = find_metrics()
METRICS = {name: FOUND.metrics[name] for name, origin in FOUND.origins.items() if origin == "grice"}
OPTIONS = [(name, option) for name, registered in METRICS.items() for option in registered.models]

RELEVANCE = {"pair-head", "fluent-pair-head"}
KNOWLEDGE = {"knowledge", "own-triples", "generative-knowledge"}
ACCEPTED = {
    **{f"{name} model": set() for name in METRICS if name.startswith("judge_")},
    "likelihood model": {"causal-lm"}, "groundedness model": set(),
    "quality model": {"joined-metrics"}, "sensibleness model": {"flaw-heads"},
    "contradiction model": {"decomposable-attention"}, "fluency model": {"fluency"},
    "extractor": {"extractor"}, "plausibility": {"triple-head"} | KNOWLEDGE,
    "knowledge": KNOWLEDGE, "encoder": {"encoder"}, "judge": {"flaw-heads"},
    "relevance": RELEVANCE, "relevance model": RELEVANCE, "engagement model": {"reply-head"},
    "coherence model": {"thread-head"}, "opening_judge": {"flaw-heads"},
}  # fmt: skip
"""The kinds of models that each option may name, by option, or metric and option."""


def accepted(name, option):
    own = f"{name} {option}"
    return ACCEPTED[own if own in ACCEPTED or option == "model" else option]


def remade(folder, new, change=lambda card: card, **files):
    """Copy a model with other files, whose sums its card states, and another card."""
    shutil.copytree(folder, new)
    card = (new / "card.toml").read_text("utf-8")
    for name, content in files.items():
        file = name.replace("__", ".")
        old = hashlib.sha256((new / file).read_bytes()).hexdigest()
        (new / file).write_bytes(content)
        card = card.replace(old, hashlib.sha256(content).hexdigest())
    (new / "card.toml").write_text(change(card), "utf-8")
    return f"file:{new}"


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """A model of every kind, by reference."""
    folder = tmp_path_factory.mktemp("kinds")
    kinds = {
        f"builtin:{name}": open_folder(name).card.kind
        for name, place in shipped_models().items()
        if "grice_models" in place.parts
    }
    own = folder / "own.tsv"
    own.write_text("head\trelation\ttail\nPersonX bakes a cake\txWant\tto eat the cake\n")
    # Those of larger models depend on one that does not ship.
    kinds = {name: kind for name, kind in kinds.items() if not re.search("-(medium|large)$", name)}
    kinds[f"file:{own}"] = "own-triples"
    plain = remade(
        shipped_models()["relevance"], folder / "plain",
        lambda card: re.sub("parts = .*|fluent-", "", card),
    )  # fmt: skip
    kinds[plain] = "pair-head"
    return kinds


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_options_take_models_of_their_kind(name, option, references, exact_models):
    registered = METRICS[name]
    for reference, kind in references.items():
        if kind not in accepted(name, option):
            with pytest.raises(ModelError, match=re.escape(reference)):
                load_metric(registered, exact_models, {option: reference})
            continue
        loaded = load_metric(registered, exact_models, {option: reference})
        [scores] = loaded.score([registered.example.conversation()])
        assert [score.reason for score in scores if score.status == "failed"] == []


def test_a_metric_that_names_what_it_accepts_takes_that(exact_models):
    @metric("either", version="1", summary="?", judges="response", source="-",
            example=Example(["a", "b"], 0.0, 1.0), models={"model": "builtin:relevance"},
            accepts={"model": ("engagement",)})  # fmt: skip
    def either(responses, *, model):
        return [Judgement(0.5) for _ in responses]

    load_metric(either, exact_models, {"model": "builtin:engagement"})
    load_metric(either, exact_models, {})
    with pytest.raises(ModelError, match=r"--either-model .*one of engagement is needed"):
        load_metric(either, exact_models, {"model": "builtin:coherence"})
    with pytest.raises(MetricError, match="accepts names 'other', models has no such"):
        metric("odd", version="1", summary="?", judges="response", source="-",
               example=either.example, accepts={"other": ("relevance",)})(len)  # fmt: skip


INNER = [
    ("engagement", 'encoder = "encoder"', 'encoder = "engagement"', "depends on itself|engagement"),
    ("engagement", 'encoder = "encoder"', 'encoder = "atomic"', "sentence vectors is needed"),
    ("extraction", 'encoder = "events"', 'encoder = "encoder"', "events is needed"),
    ("relevance", "builtin:dialogue", "builtin:atomic", "likelihood is needed"),
    ("fluency", 'base = "builtin:dialogue"', "base = 7", "model reference '7'"),
    ("engagement", "[settings]", '[settings]\nbase = "builtin:atomic"', "run grice train again"),
    ("engagement", "[settings]", '[settings]\nbase = "builtin:atomic"\nbase_digest = "DIGEST"',
     "where one of relevance or engagement is needed"),
    ("engagement", "[settings]", '[settings]\nreads = 7\nbase = ""', "cannot be read"),
    ("engagement", 'kind = "reply-head"', 'kind = "reply-tail"', "a model of type 'reply-tail'"),
    ("coherence", "decay = 0.6", 'decay = "fast"', "settings.decay"),
    ("relevance", "decay = 0.6", "decay = 3", "settings.decay: expected `float` <= 1.0"),
    ("encoder", 'name = "encoder"', 'name = "a|b"', "is no valid name"),
    ("encoder", 'name = "encoder"', 'name = "\\u001b[31m"', "is no valid name"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), INNER)
def test_a_card_that_contradicts_itself_is_refused(tmp_path, exact_models, name, old, new, message):
    new = new.replace("DIGEST", exact_models.folder("builtin:atomic").digest)
    changed = remade(shipped_models()[name], tmp_path / "m", lambda card: card.replace(old, new, 1))
    with pytest.raises(GriceError, match=message):
        exact_models.load(changed)


def write_card(folder, settings, kind="fluent-pair-head"):
    folder.mkdir(exist_ok=True)
    (folder / "card.toml").write_text(
        f'name = "{folder.name}"\nkind = "{kind}"\nversion = "1"\nsummary = "-"\nlicence = "-"\n'
        f"[settings]\n{settings}\n[files]\n"
    )
    return f"file:{folder}"


def test_cards_in_a_circle_are_refused(tmp_path, exact_models):
    first, second = tmp_path / "one", tmp_path / "two"
    write_card(first, f'parts = ["file:{second}"]')
    reference = write_card(second, f'parts = ["file:{first}", "builtin:atomic"]')
    with pytest.raises(ModelFolderError, match=r"depends on itself: .*one"):
        exact_models.load(reference)
    with pytest.raises(ModelFolderError, match="depends on itself"):
        exact_models.fingerprint(reference)


def test_long_chains_and_wide_trees_of_cards_are_refused(tmp_path, exact_models):
    below = "builtin:atomic"
    for i in range(64):
        below = write_card(tmp_path / f"chain{i}", f'parts = ["{below}"]')
    with pytest.raises(ModelFolderError, match="depends on more than 64 models"):
        exact_models.load(below)
    below = "builtin:atomic"
    for i in range(7):
        below = write_card(tmp_path / f"tree{i}", f'parts = ["{below}", "{below}"]')
    with pytest.raises(ModelFolderError, match="depends on more than 64 models"):
        exact_models.fingerprint(below)


# Opened by what uses them, or beside a model that does not ship.
LATE = re.compile("usual|.*bert|relations.npz|together|templates|classes|.* of (se|qu).*-[lm]")
DAMAGED = [
    (name, file)
    for name in shipped_models()
    for file in open_folder(name).card.files
    if file.endswith((".npz", ".npy", ".gz", ".json", ".sqlite")) or file == "model.bin"
    if not LATE.match(f"{file} of {name}")
]


@pytest.mark.parametrize("content", [b"", b"\x93 garbage \x00" * 500], ids=["empty", "garbage"])
@pytest.mark.parametrize(("name", "file"), DAMAGED)
def test_damage_with_a_sum_that_fits_is_refused(tmp_path, exact_models, name, file, content):
    changed = remade(shipped_models()[name], tmp_path / "m", **{file.replace(".", "__"): content})
    with pytest.raises(ModelFolderError):
        exact_models.load(changed)


ENDLESS = (
    "CREATE VIEW {name} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT i AS id, 'x' AS text, 'x' AS name, 1 AS head, 1 AS relation, 1 AS tail, 1 AS source"
    " FROM n"
)


@pytest.mark.parametrize("table", ["relations", "sources", "heads", "triples"])
def test_a_store_with_an_endless_view_is_refused(tmp_path, exact_models, table):
    copy = tmp_path / "copy.sqlite"
    shutil.copyfile(shipped_models()["atomic"] / "triples.sqlite", copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(f"DROP TABLE {table}")
        connection.execute(ENDLESS.format(name=table))
    changed = remade(shipped_models()["atomic"], tmp_path / "m", triples__sqlite=copy.read_bytes())
    with pytest.raises(ModelFolderError, match="it defines more than tables"):
        exact_models.load(changed)
