import json
import tomllib

import pytest

import tiny_published as tiny
from grice.cli import main
from grice_research.metrics.accent import PROMPTS

tiny.torch_and_transformers()

DEEDS = ["eats bread", "reads maps", "plays chess", "sings songs"]
TAILS = {"xReact": "PersonX is glad", "xNeed": "PersonX buys it"}


@pytest.fixture(scope="module")
def deco(tmp_path_factory):
    """Samples of DECO's shape: what the relation asks for decides the triple."""
    folder = tmp_path_factory.mktemp("deco")
    rows = [
        {"history": f"hi {i}</UTT>", "response": f"i {deed}",
         "tuples_single": [[f"PersonX {deed}", relation, tail]], "tuples_pair": []}
        for i in range(12) for deed in DEEDS for relation, tail in TAILS.items()
    ]  # fmt: skip
    path = tiny.json_lines(folder / "train.jsonl", rows)
    targets = [f"event1: PersonX {d}; event2: {tail}" for d in DEEDS for tail in TAILS.values()]
    return path, tiny.write_t5(folder / "t5", [*PROMPTS.values(), *targets * 9, *DEEDS], 500)


def test_accents_extractor_learns_and_scores(deco, tmp_path, capsys):
    path, base = deco
    mine = tiny.train("accent", path, base, capsys, epochs=8, learning_rate=0.01)
    card = tomllib.loads((mine / "card.toml").read_text("utf-8"))
    assert card["kind"] == "seq2seq"
    selection = " ".join(card["training"]["selection"])
    assert "batch 4: paper" in selection
    assert "epochs=8: not the paper's" in selection

    comet = _trained_comet(tmp_path, capsys)
    encoder = tiny.write_encoder(tmp_path / "bert", [*TAILS.values(), *DEEDS])
    tiny.add(encoder, "tiny-encoder", "--kind", "published-encoder", "--licence", "MIT")
    capsys.readouterr()
    chat = tmp_path / "chat.txt"
    chat.write_text("A: hi 1\nB: i eats bread\nA: " + "and so on " * 500 + "\n", "utf-8")
    parts = ["--accent-extractor", f"file:{mine}", "--accent-comet", f"file:{comet}"]
    parts += ["--accent-embedder", "model:tiny-encoder", "-o", str(tmp_path / "scores.jsonl")]
    assert main(["score", str(chat), "-m", "accent", *parts]) == 0
    lines = (tmp_path / "scores.jsonl").read_text("utf-8").splitlines()
    triples = [item["triple"] for line in lines for item in json.loads(line)["evidence"]]
    assert any("PersonX" in triple["head"] for triple in triples)
    assert json.loads(lines[-1])["reason"].endswith("more than 4,000")


def _trained_comet(tmp_path, capsys):
    rows = [f"PersonX {deed} {i}\t{relation}\t{tail}"
            for i in range(12) for deed in DEEDS for relation, tail in TAILS.items()]  # fmt: skip
    path = tmp_path / "comet.tsv"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    base = tiny.write_bart(tmp_path / "bart", [*rows, *TAILS.values()])
    return tiny.train("comet", path, base, capsys, epochs=16, batch=4, learning_rate=0.005)


def test_deams_classifier_learns_and_scores_conversations(tmp_path, capsys):
    pairs = [
        (f"i {deed} {i}</UTT>you {deed} too</UTT>1", f"i {deed} {i}</UTT>never blue lamps</UTT>0")
        for i in range(15)
        for deed in DEEDS
    ]
    path = tmp_path / "deam.txt"
    path.write_text("".join(f"{a}\n{b}\n" for a, b in pairs), "utf-8")
    base = tiny.write_encoder(tmp_path / "roberta", [path.read_text("utf-8")], "Roberta")
    out = tiny.train("deam", path, base, capsys,
                     batch=8, learning_rate=0.005, warmup_steps=5, epochs=6)  # fmt: skip
    chat = tmp_path / "chat.txt"
    chat.write_text("A: i eats bread 3\nB: you eats bread too\n", "utf-8")
    scored = tmp_path / "out.jsonl"
    words = ["score", str(chat), "-m", "coherence", "--coherence-model", f"file:{out}"]
    assert main([*words, "-o", str(scored)]) == 0
    assert json.loads(scored.read_text("utf-8").splitlines()[0])["value"] > 0.5


def test_a_training_that_was_ended_goes_on_to_the_same_weights(deco, tmp_path, capsys, monkeypatch):
    def run(folder, epochs=2):
        values = {"epochs": epochs, "learning_rate": 0.01}
        return main([*tiny.command("accent", *deco, tmp_path / folder, **values), "--json"])

    def curve():
        return json.loads(capsys.readouterr().out)["curve"]

    assert run("whole") == 0
    whole = curve()
    from grice_research.training.published import course

    keep = course.Course._keep

    def killed(self, epoch):
        keep(self, epoch)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(course.Course, "_keep", killed)
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            raise SystemExit(run("ended"))
    capsys.readouterr()
    assert not (tmp_path / "ended").exists()
    assert (run("ended"), curve()) == (0, whole)
    written = [(tmp_path / name / "model.bin").read_bytes() for name in ("ended", "whole")]
    assert (written[0], run("ended2", epochs=3)) == (written[1], 0)
    (tmp_path / "ended2.training").rename(tmp_path / "other.training")
    assert run("other") == 2
    assert "other data or hyper-parameters" in capsys.readouterr().err


def test_another_family_is_refused_before_anything_is_written(deco, tmp_path, capsys):
    path, _ = deco
    base, out = tiny.write_bart(tmp_path / "bart", ["a b c"]), tmp_path / "m"
    assert main(tiny.command("accent", path, base, out)) == 2
    stderr = capsys.readouterr().err
    assert "accent starts from t5 (t5-base in the paper)" in stderr
    assert "not from 'bart'" in stderr
    assert not out.exists()


def test_a_pickle_is_read_only_where_it_is_trusted(deco, tmp_path, capsys, monkeypatch):
    import torch
    from safetensors.torch import load_file

    path, base = deco
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((base / name).read_bytes())
    torch.save(load_file(base / "model.safetensors"), tmp_path / "pytorch_model.bin")
    words = tiny.command("accent", path, tmp_path, tmp_path / "m", epochs=1)
    assert main(words) == 2
    assert "GRICE_TRUST_PICKLE=1" in capsys.readouterr().err
    monkeypatch.setenv("GRICE_TRUST_PICKLE", "1")
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "yours; paper" in printed
    assert f"model:file:{tmp_path / 'm'}" in "".join(printed.split())


def test_a_language_model_without_gen_is_no_comet(deco, tmp_path, capsys):
    bart = tiny.write_bart(tmp_path / "bart", ["a b c"])
    bert = tiny.write_encoder(tmp_path / "bert", ["a b c"])
    kinds = {"seq2seq": deco[1], "comet": bart, "published-encoder": bert}
    for kind, base in kinds.items():
        tiny.add(base, f"gen-{kind}", "--kind", kind, "--licence", "MIT")
    capsys.readouterr()
    chat = tmp_path / "chat.txt"
    chat.write_text("A: hi\nB: i eats bread\n", "utf-8")
    parts = ["--accent-extractor", "model:gen-seq2seq", "--accent-comet", "model:gen-comet"]
    parts += ["--accent-embedder", "model:gen-published-encoder", "-o", str(tmp_path / "o.jsonl")]
    assert main(["score", str(chat), "-m", "accent", *parts]) == 2
    assert "its vocabulary has neither [GEN] nor xWant" in capsys.readouterr().err


def test_a_head_of_three_labels_is_no_deam(tmp_path, capsys):
    base = tiny.write_encoder(tmp_path / "roberta", ["a b c"], "Roberta", labels=3)
    words = ["models", "add", str(base), "--kind", "dialogue-classifier", "--licence", "MIT"]
    assert main([*words, "--name", "three-labels"]) == 2
    assert "a head of 3 labels; 2 are needed" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "problem"), [
    ('{"history": "a</UTT>", "response": "b", "tuples_single": [["x", "xNope", "y"]]}',
     "xNope"),
    ('{"response": "b"}', "history"), ("not json", "malformed"),
])  # fmt: skip
def test_bad_examples_say_where(content, problem, deco, tmp_path, capsys):
    _, base = deco
    path = tmp_path / "bad.jsonl"
    path.write_text(content + "\n", "utf-8")
    assert main(tiny.command("accent", path, base, tmp_path / "m")) == 2
    stderr = capsys.readouterr().err
    assert problem in stderr
    assert "bad.jsonl" in stderr
