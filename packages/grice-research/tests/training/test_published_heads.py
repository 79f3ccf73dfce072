import gzip
import itertools
import json

import pytest

import made_tasks
import tiny_published as tiny
from grice.cli import main
from grice.errors import InputError
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair, PairClassifier
from grice_annotate.begin import with_model
from grice_research.published_models.readers import PublishedReader
from grice_research.training.published.examples import read_examples
from grice_research.training.published.learners import open_learner
from grice_research.training.published.recipes import recipes
from studio import Studio, studio_of

tiny.torch_and_transformers()

FAST = {"batch": 8, "learning_rate": 0.005, "warmup_steps": 0}
THINGS = {"tea": "a kettle", "soup": "a spoon", "bread": "an oven", "maps": "a compass"}


@pytest.fixture(autouse=True)
def _own_models(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path / "models"))


@pytest.fixture
def pairs(tmp_path):
    rows = [
        {"query": f"do you have {thing} {i}", "reply": f"yes and {tool}{' you see' * (i % 2)}",
         "label": i % 2}
        for i in range(24) for thing, tool in THINGS.items()
    ]  # fmt: skip
    return tiny.json_lines(tmp_path / "pairs.jsonl", rows)


def _check_parity(system, pairs, out, values):
    """Compare the converted network with the trained one, from which a training goes on."""
    checkpoint, recipe = out.with_name(f"{out.name}.training") / "checkpoint", recipes()[system]
    stated = recipe.values([f"{n}={v}" for n, v in values.items()])
    learner = open_learner(recipe, checkpoint, stated)
    learner.network.eval()
    examples = read_examples(system, [pairs])[:8]
    if system == "ruber":
        expected = learner._scores(examples).sigmoid().tolist()
    else:
        expected = learner._logits(examples).softmax(dim=1)[:, 1].tolist()
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        model = models.load(f"file:{out}", PairClassifier)
        given = model.classify([Pair((each.source,), each.options[0]) for each in examples])
    assert given == pytest.approx(expected, abs=1e-4)
    with pytest.raises(InputError, match=f"--set hidden={values['hidden']}"):
        open_learner(recipe, checkpoint, recipe.values(["hidden=5"]))


@pytest.mark.parametrize("loss", ["cross-entropy", "ranking"])
def test_ruber_learns_and_stands_in_the_place_of_relevance(loss, pairs, tmp_path, capsys):
    base = tiny.write_encoder(tmp_path / "bert", [pairs.read_text("utf-8")])
    values = {"epochs": 12, "batch": 16, "learning_rate": 0.003, "hidden": "32,16", "loss": loss,
              "patience": 0, "negatives": "batch"}  # fmt: skip
    out = tiny.train("ruber", pairs, base, capsys, **values)
    _check_parity("ruber", pairs, out, values)
    chat = tmp_path / "chat.txt"
    chat.write_text("A: do you have soup 3\nB: yes and a spoon\n", "utf-8")
    chat.with_suffix(".bad").write_text("A: do you have soup 3\nB: yes and an oven\n", "utf-8")
    scores = []
    for path in (chat, chat.with_suffix(".bad")):
        words = ["score", str(path), "--format", "transcript", "-m", "relevance"]
        assert main([*words, "--relevance-model", f"file:{out}", "-o", "-"]) == 0
        scores.append(json.loads(capsys.readouterr().out.splitlines()[-1])["value"])
    assert scores[0] > scores[1]


def test_engagement_learns_from_labels_and_scores(pairs, tmp_path, capsys):
    base = tiny.write_encoder(tmp_path / "bert", [pairs.read_text("utf-8")])
    values = {"epochs": 40, "batch": 16, "learning_rate": 0.01, "dropout": 0, "hidden": "16,8",
              "patience": 3, "weights": "set"}  # fmt: skip
    out = tiny.train("predictive-engagement", pairs, base, capsys, **values)
    curve = list(map(json.loads, (out / "curve.jsonl").read_text("utf-8").splitlines()))
    losses = [point["validation"] for point in curve]
    assert losses.index(min(losses)) == len(losses) - 4, "three epochs brought no lower loss"
    _check_parity("predictive-engagement", pairs, out, values)
    chat = tmp_path / "chat.txt"
    chat.write_text("A: do you have soup 3\nB: yes and a spoon you see\n", "utf-8")
    words = ["score", str(chat), "-m", "engagement", "--engagement-model", f"file:{out}"]
    assert main([*words, "-o", "-"]) == 0
    scores = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [score["value"] for score in scores if score["metric"] == "engagement"][-1] > 0.5


def test_a_network_is_taken_from_beside_its_encoder(tmp_path, capsys, monkeypatch):
    import torch

    base, sizes = tiny.write_encoder(tmp_path / "bert", ["a b c"]), [32, 16, 8, 2]
    layers = {
        f"any.{i}.{part}": torch.zeros((b, a) if part == "weight" else b)
        for i, (a, b) in enumerate(itertools.pairwise(sizes))
        for part in ("weight", "bias")
    }
    torch.save(layers, base / "network.pt")
    words = ["models", "add", str(base), "--kind", "engagement-network", "--licence", "MIT"]
    assert main([*words, "--name", "own"]) == 2
    assert "GRICE_TRUST_PICKLE=1" in capsys.readouterr().err
    monkeypatch.setenv("GRICE_TRUST_PICKLE", "1")
    assert main([*words, "--name", "own"]) == 0
    torch.save({**layers, "any.9.weight": torch.zeros(5, 7)}, base / "network.pt")
    assert main([*words, "--name", "torn"]) == 2
    assert "the layers of the network do not fit" in capsys.readouterr().err


@pytest.fixture
def graphs(tmp_path):
    """Samples of ExplaGraphs' shape: the last word of the argument is the stance."""
    rows = [
        {"id": f"{i}{thing}{stance}", "belief": f"{thing} {i} is good",
         "argument": f"we need {tool} so {answer}", "stance": stance,
         "graph": f"({thing}; used for; {tool})({tool}; is a; good)(good; causes; {stance})"}
        for i in range(8) for thing, tool in THINGS.items()
        for stance, answer in (("support", "yes"), ("counter", "no"))
    ]  # fmt: skip
    return tiny.json_lines(tmp_path / "graphs.jsonl", rows)


def test_trained_judges_are_those_of_scores(graphs, tmp_path, capsys):
    released = tmp_path / "train.jsonl.gz"
    released.write_bytes(gzip.compress(graphs.read_bytes()))
    rounds = [{"id": row["id"], "judged": ["failed", "correct"],
               "graphs": [f"({row['stance']}; is a; spoon)", row["graph"]]}
              for row in map(json.loads, graphs.read_text("utf-8").splitlines())]  # fmt: skip
    given = {"explagraphs-seca": tiny.json_lines(tmp_path / "rounds.jsonl", rounds),
             "explagraphs-graph-stance": released}  # fmt: skip
    for system, data in given.items():
        base = tiny.write_encoder(tmp_path / system, [graphs.read_text("utf-8")], "Roberta")
        tiny.add(tiny.train(system, data, base, capsys, **FAST, epochs=12), system)
    capsys.readouterr()
    words = ["explagraphs", "score", str(graphs), str(graphs), "--gate", "none", "--json"]
    assert main([*words, "--judges", "builtin:explagraphs-judges"]) == 0
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    values = {row["measure"]: row["value"] for row in rows if row["row"] == graphs.name}
    assert values["seca"] > 0.8
    assert 0 < values["ea"] <= 1


def test_explagraphs_learns_stances_and_graphs(graphs, tmp_path, capsys):
    data, texts = graphs, [graphs.read_text("utf-8")]
    roberta = tiny.write_encoder(tmp_path / "roberta", texts, "Roberta")
    stance = tiny.train("explagraphs-stance", data, roberta, capsys, **FAST, epochs=16)
    t5 = tiny.write_t5(tmp_path / "t5", texts, 500)
    made = tiny.train("explagraphs-rationalizing", data, t5, capsys, epochs=8, learning_rate=0.01)
    for folder, name in ((stance, "explagraphs-stance"), (made, "explagraphs-generator")):
        tiny.add(folder, name)
    capsys.readouterr()
    words = ["explagraphs", "generate", "--model", "builtin:explagraphs"]
    words += ["--belief", "soup 3 is good"]
    assert main([*words, "--argument", "we need a spoon so no"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["stance"] == "counter"
    assert line["graph"]


def test_a_trained_stance_model_is_in_the_loop_of_its_next_pairs(graphs, tmp_path, capsys):
    def trained(name, data):
        base = tiny.write_encoder(tmp_path / name / "roberta", [data.read_text("utf-8")], "Roberta")
        return tiny.train("explagraphs-stance", data, base, capsys, **FAST, epochs=16)

    def choose(_, task):
        content, words = task["content"], {"support": "so yes", "counter": "so no"}
        stance = content.get("stance") or ("support" if "yes" in content["argument"] else "counter")
        belief, argument = f"tea {content['id']} is good", f"we need a kettle {words[stance]}"
        return {"stance": stance, "belief": belief, "argument": argument}

    sides = ["support", "counter"] * 20
    topics = [{"id": str(i), "topic": "tea", "stance": side} for i, side in enumerate(sides)]
    settings = {"judges": 1, "tries": 3, "model": f"file:{trained('first', graphs)}"}
    opened = studio_of(tmp_path / "s.db", "stance", topics, ("ann", "bo"), **settings)
    with opened as studio, with_model(studio.study) as study:
        Studio(study).all_answer(choose)
        records = studio.records()
    assert [(row["fooled"], len(row["tries"])) for row in records] == [(False, 3)] * 40
    trained("second", tiny.json_lines(tmp_path / "pairs.jsonl", records))


def test_situatedgen_learns_to_write_from_keywords(tmp_path, capsys):
    rows = [
        {"id": f"{i}{thing}", "keywords": [thing, tool, str(i)], "keywords_pos": [0, 0, 1],
         "statements": [f"{thing} wants {tool}.", f"It was {i}."]}
        for i in range(10) for thing, tool in THINGS.items()
    ]  # fmt: skip
    data = tiny.json_lines(tmp_path / "samples.jsonl", rows)
    base = tiny.write_bart(tmp_path / "bart", [data.read_text("utf-8")])
    out = tiny.train("situatedgen", data, base, capsys,
                 epochs=8, batch=4, learning_rate=0.005, warmup_steps=5)  # fmt: skip
    curve = list(map(json.loads, (out / "curve.jsonl").read_text("utf-8").splitlines()))
    assert min(point["validation"] for point in curve) < 0.5 < curve[0]["validation"] <= 1
    assert main(["situatedgen", "generate", str(data), "--model", f"file:{out}"]) == 0
    written = [json.loads(line)["output"] for line in capsys.readouterr().out.splitlines()]
    assert len([text for text in written if "wants" in text]) > len(rows) / 2


@pytest.fixture
def triplets(tmp_path):
    """Triplets of CIDER's shape: what the head is decides relation and tail."""
    rows = []
    for i in range(10):
        for place, (thing, tool) in enumerate(THINGS.items()):
            context = f"look {i} at {thing}. there is {tool}."
            relation = ("Causes", "UsedFor")[place % 2]
            row = {"dialogue": f"{i}{thing}", "context": context, "relation": relation}
            row |= {"head": thing, "tail": tool, "start": context.index(tool)}
            rows.append({**row, "label": 1, "options": list(THINGS.values()), "answer": place})
            rows.append({**row, "head": tool, "tail": thing, "label": 0, "start": None})
    return tiny.json_lines(tmp_path / "triplets.jsonl", rows)


def test_ciders_classifiers_learn_and_find_links(triplets, tmp_path, capsys):
    texts = [triplets.read_text("utf-8")]
    for system in ("cider-relations", "cider-entailment"):
        base = tiny.write_encoder(tmp_path / f"{system}-roberta", texts, "Roberta")
        tiny.add(tiny.train(system, triplets, base, capsys, epochs=8, **FAST), system)
        capsys.readouterr()
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        classifier = models.load("model:cider-relations", PublishedReader)
        assert classifier.labels == recipes()["cider-relations"].labels
    chat = tmp_path / "chat.txt"
    chat.write_text("A: I missed the bus because I slept late.\n", "utf-8")
    assert main(["cider", str(chat), "--model", "builtin:cider", "--least", "0"]) == 0
    assert "Causes" in capsys.readouterr().out


def test_ciders_readers_learn_spans_and_choices(triplets, tmp_path, capsys):
    texts = [triplets.read_text("utf-8")]
    base = tiny.write_encoder(tmp_path / "spanbert", texts)
    out = tiny.train("cider-spans", triplets, base, capsys, epochs=12, **FAST)
    base = tiny.write_encoder(tmp_path / "bert", texts)
    chooser = tiny.train("cider-choices", triplets, base, capsys, epochs=12, **FAST)
    row = json.loads(triplets.read_text("utf-8").splitlines()[0])
    for model, options in ((out, ()), (chooser, row["options"])):
        questions = tiny.json_lines(tmp_path / "asked.jsonl", [row | {"options": options}])
        assert main(["cider", str(questions), "--model", f"file:{model}"]) == 0
        assert json.loads(capsys.readouterr().out)["answer"] in row["context"]
    made_tasks.cider(tmp_path)
    folded = tiny.command("cider-choices", tmp_path / "cider", base, tmp_path / "m", fold=2)
    assert main([*folded, "--set", "epochs=1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["held_out"], report["examples"]) == (8, 32)


@pytest.mark.parametrize(
    ("system", "change", "problem"),
    [("cider-relations", {"relation": "Xauses"}, "none of CIDER's relations"),
     ("cider-spans", {"start": 1}, "does not stand at character 1"),
     ("cider-choices", {"answer": 9}, "the number of one: 9"),
     ("cider-entailment", {"label": "maybe"}, "label is 1 or 0, found 'maybe'")],
)  # fmt: skip
def test_bad_triplets_say_where(system, change, problem, triplets, tmp_path, capsys):
    row = json.loads(triplets.read_text("utf-8").splitlines()[0])
    data = tiny.json_lines(tmp_path / "bad.jsonl", [row | change])
    assert main(tiny.command(system, data, tmp_path, tmp_path / "m")) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "bad.jsonl:1" in error


def test_a_classifier_of_other_labels_is_no_stance(tmp_path, capsys):
    base = tiny.write_encoder(tmp_path / "roberta", ["a b c"], "Roberta", labels=3)
    t5 = tiny.write_t5(tmp_path / "t5", ["a b c"])
    tiny.add(base, "explagraphs-stance", "--kind", "text-classifier", "--licence", "MIT")
    tiny.add(t5, "explagraphs-generator", "--kind", "seq2seq", "--licence", "MIT")
    capsys.readouterr()
    words = ["explagraphs", "generate", "--model", "builtin:explagraphs", "--belief", "a"]
    assert main([*words, "--argument", "b"]) == 2
    assert "the stances support and counter are needed" in capsys.readouterr().err
