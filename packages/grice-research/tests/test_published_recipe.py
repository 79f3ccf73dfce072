"""Published systems trained by recipe: CIDER's files, the figures that are left, going on."""

from __future__ import annotations

import gzip
import json

import pytest

import made_tasks
from grice.models.protocols import Generated
from grice_research.recipes.published.cider import NO_DIALOGUE, TASKS, write_fold
from grice_research.recipes.relevance.corpora import SOURCES
from grice_research.training.published.examples import read_examples
from grice_research.triplets.cider import load_cider


@pytest.fixture
def data(tmp_path):
    made_tasks.cider(tmp_path / "data")
    return tmp_path / "data"


def test_a_fold_is_what_the_trainers_read(data, tmp_path):
    write_fold(load_cider(data / "cider"), 1, tmp_path / "fold")
    counts = {}
    for task in TASKS:
        system = f"cider-{task.removesuffix('-alone')}"
        sides = [
            read_examples(system, [tmp_path / "fold" / f"{task}-{side}.jsonl"])
            for side in ("train", "test")
        ]
        counts[task] = tuple(map(len, sides))
        groups = [{example.group for example in side} for side in sides]
        assert not groups[0] & groups[1]
    # Eight dialogues against two; four triplets each, of the five negatives four may train.
    assert counts == {
        "entailment": (64, 18),
        "spans": (32, 8),
        "choices": (32, 8),
        "choices-alone": (32, 8),
        "relations": (32, 8),
        "relations-alone": (32, 8),
    }


def test_without_the_dialogue_no_word_of_it_is_read(data, tmp_path):
    write_fold(load_cider(data / "cider"), 2, tmp_path)
    for task in TASKS[3::2]:
        lines = (tmp_path / f"{task}-train.jsonl").read_text().splitlines()
        assert {json.loads(line)["context"] for line in lines} == {NO_DIALOGUE}


def test_an_answer_stands_where_its_record_says(data, tmp_path):
    write_fold(load_cider(data / "cider"), 1, tmp_path)
    for line in (tmp_path / "spans-test.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert record["context"].startswith(record["tail"], record["start"])


@pytest.mark.parametrize("task", ["spans", "choices-alone", "relations", "entailment"])
def test_a_task_is_trained_measured_and_not_done_twice(task, data, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="torch is not installed (grice[train])")
    pytest.importorskip("transformers", reason="transformers is not installed (grice[train])")
    tiny = pytest.importorskip("tiny_published", reason="the tests of the product are not here")
    from grice_research.recipes.published import train
    from grice_research.recipes.published.systems import CiderTask

    monkeypatch.setattr(train, "WORK", tmp_path / "work")
    monkeypatch.setattr(train, "FIGURES", tmp_path / "work" / "figures.jsonl")
    cider = load_cider(data / "cider")
    base = tiny.write_encoder(tmp_path / "bert", [cider.text(name) for name in cider.dialogues])
    changes = ("epochs=2", "learning_rate=0.001")
    system = CiderTask(task, changes, data=data, folder=tmp_path / "work" / "files")
    for _ in range(2):
        train.run("made", system, base, 0)
    rows = list(map(json.loads, (tmp_path / "work" / "figures.jsonl").read_text().splitlines()))
    assert capsys.readouterr().out.count("\n") == len(rows)
    ours = [row for row in rows if "floor" not in row]
    assert {row["measure"] for row in ours} == {
        "spans": {"em", "f1"},
        "choices-alone": {"accuracy"},
        "relations": {"accuracy", "macro_f1"},
        "entailment": {"macro_f1"},
    }[task]
    assert {row["measure"] for row in rows if "floor" in row} == {row["measure"] for row in ours}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert all(row["changes"] == ["epochs=2", "learning_rate=0.001"] for row in ours)
    before = len(rows)
    train.run("made", system, base, 1)
    again = list(map(json.loads, (tmp_path / "work" / "figures.jsonl").read_text().splitlines()))
    assert len(again) == before + len(ours)  # floors have no seed


def test_conversations_stand_before_their_manipulated_copies(tmp_path):
    from grice_research.recipes.published.conversations import END, write_with_words

    _write_talks(tmp_path / "data")
    path = write_with_words(tmp_path / "data", tmp_path / "talks", 8)
    examples = read_examples("deam", [path])
    assert [example.target for example in examples] == ["1", "0"] * 8
    pairs = list(zip(examples[::2], examples[1::2], strict=True))
    assert all(a.source != b.source and a.group == b.group for a, b in pairs)
    assert all(line.count(END) == 6 for line in path.read_text().splitlines()[::2])


def test_lengths_and_cosines_of_conversations_stand_below_the_classifier(tmp_path):
    from grice_research.recipes.published.systems import BASELINES, Coherence

    for name in Coherence.sets:
        rows = [
            {
                "id": f"c{i}",
                "turns": [
                    {"speaker": "user", "text": "tea " * (i + 1)},
                    {"speaker": "system", "text": "Tea is good."},
                    *[{"speaker": "user", "text": "tea " * (i + 1)}] * (i % 2),
                ],
                "ratings": {"coherent": [i, i], "overall": [-i, -i]},
            }
            for i in range(9)
        ]
        made_tasks.packed(tmp_path / "rated" / f"{name}.jsonl.gz", rows)
    system = Coherence(None, 0, data=tmp_path, folder=tmp_path, differs="")
    floors = {(floor.name, floor.figure.measure): floor.figure for floor in system.floors()}
    assert len(floors) == len(BASELINES) * len(Coherence.sets) * 2
    words = floors["mean_user_words", "spearman, dstc9_dialogue:coherent"].estimate
    assert (words.value, words.n) == (pytest.approx(1), 9)
    assert floors["mean_user_words", "spearman, fed_dialogue:overall"].estimate.value < -0.99


class Parser:
    """Reads some verbs."""

    identity = "stub"

    def write(self, prompts, search):
        verbs = [next((v for v in ("read", "wrote", "told") if v in p), "") for p in prompts]
        graphs = [f"( {verb}-01 :ARG0 ( i ) :ARG1 ( {verb} ) )" if verb else "" for verb in verbs]
        return [(Generated(graph, -1.0),) * search.returned for graph in graphs]


class Generator:
    """Says the graph."""

    identity = "stub"

    def write(self, prompts, search):
        return [(Generated(f"said {prompt}", -1.0),) * search.returned for prompt in prompts]


def test_both_sides_of_manipulated_graphs_are_said_by_the_generator(tmp_path):
    from grice_research.recipes.published.conversations import END, write_with_graphs

    _write_talks(tmp_path / "data")
    path = write_with_graphs(tmp_path / "data", tmp_path / "talks", 8, Parser(), Generator())
    examples = read_examples("deam", [path])
    assert 8 <= len(examples) == 2 * [example.target for example in examples].count("1")
    for coherent, broken in zip(*[iter(path.read_text().splitlines())] * 2, strict=True):
        *turns, _ = coherent.split(END)
        verbs = [text.split(" ")[3] for text in turns[1:4]]
        assert verbs == ["read-01", "wrote-01", "told-01"]
        assert turns[4].startswith("We should meet")  # without a graph
        *others, _ = broken.split(END)
        assert turns != others
        assert all(text.startswith("said ") for text in others[1:4])


def _write_talks(folder):
    """Write conversations of both sources, and nothing of the others."""
    talk = [
        "Do you like to read old books?",
        "Yes, I read a new book every week.",
        "I think he wrote a good book about the war.",
        "She told me that it is a sad story.",
        "We should meet and talk about it.",
        "They open the library at nine in the morning.",
    ]
    rows = [
        {
            "id": f"t{i}",
            "split": "valid",
            "turns": [
                {"speaker": "AB"[j % 2], "text": text.replace("book", f"book {i}")}
                for j, text in enumerate(talk)
            ],
        }
        for i in range(6)
    ]
    for source in SOURCES:
        kept = rows if source.name in ("topical_chat", "synthetic_persona_chat") else []
        made_tasks.packed(folder / f"{source.file}.jsonl.gz", kept)


def test_a_gguf_file_becomes_a_folder_of_the_same_model(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed (grice[train])")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    decoders = pytest.importorskip("decoders", reason="the tests of the product are not here")
    from tokenizers import Tokenizer

    from grice_research.recipes.published.gguf import write_folder

    tensors = decoders.weights()
    source = decoders.write_gguf(tmp_path / "model.gguf", tensors)
    write_folder(source, tmp_path / "base")
    tokenizer = Tokenizer.from_file(str(tmp_path / "base/tokenizer.json"))
    ids = tokenizer.encode("we bread a bird").ids
    plain = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    with torch.inference_mode():
        loss = float(plain(torch.tensor([ids]), labels=torch.tensor([ids])).loss)
    assert loss == pytest.approx(-decoders.log_probabilities(tensors, ids).mean(), abs=1e-4)


def test_a_system_that_writes_learns_from_a_drawn_part_and_has_floors(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed (grice[train])")
    pytest.importorskip("transformers", reason="transformers is not installed (grice[train])")
    tiny = pytest.importorskip("tiny_published", reason="the tests of the product are not here")
    from grice_research.recipes.published import train
    from grice_research.recipes.published.writers import Tails

    heads = [f"PersonX {deed} {i}" for i in range(20) for deed in ("eats", "reads", "sings")]
    tails = ["to rest", "to rest", "to sing"] * 20
    lines = [f"{h}\txWant\t{tail}\tF\ttrain" for h, tail in zip(heads, tails, strict=True)]
    table = "\n".join(["head\trelation\ttail\tsource\tsplit", *lines]) + "\n"
    asked = {"head": "PersonX swims", "relation": "xWant", "tails": ["to rest", "none"]}
    asked |= {"comet_bart_greedy": "to rest", "comet_bart_beam": ["to sleep"]}
    folder = tmp_path / "data/atomic"
    folder.mkdir(parents=True)
    (folder / "atomic2020_sample.tsv.gz").write_bytes(gzip.compress(table.encode()))
    queries = "".join(json.dumps(asked | {"head": f"PersonX swims {i}"}) + "\n" for i in range(9))
    (folder / "atomic2020_test5000_comet_bart.jsonl.gz").write_bytes(
        gzip.compress(queries.encode())
    )
    monkeypatch.setattr(train, "WORK", tmp_path / "work")
    monkeypatch.setattr(train, "FIGURES", tmp_path / "work" / "figures.jsonl")
    monkeypatch.setattr(Tails, "learned", 50)
    system = Tails(data=tmp_path / "data", folder=tmp_path / "work" / "files")
    assert len(system.prepare().read_text("utf-8").splitlines()) == 50
    train.run("made", system, tiny.write_llama(tmp_path / "llama", [table]), 0)
    rows = list(map(json.loads, (tmp_path / "work" / "figures.jsonl").read_text().splitlines()))
    values = {(row.get("floor", ""), row["measure"]): row["value"] for row in rows}
    assert values["most frequent tail", "rouge_l"] == 1.0
    assert 0 <= values["", "rouge_l"] <= 1
