import gzip
import json
import re
from pathlib import Path

import pytest

from grice.cli import main
from grice.errors import InputError
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples

PAGE = Path(__file__).parents[4] / "docs" / "research" / "explagraphs.md"
GRAPH = "(a; is a; b)"
GOOD = "(zoos; has property; small cages)(small cages; causes; pain)(pain; desires; abolished)"
TEXTS = {"belief": "Zoos should be abolished.", "argument": "Animals live in small cages."}


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    gold = [{"id": name, **TEXTS, "stance": "support", "graph": GOOD} for name in "abc"]
    graphs = {"a": GOOD.replace("zoos", "small"), "b": GOOD.replace("causes", "cause")}
    answers = [{"id": name, "stance": "support", "graph": graphs[name]} for name in "ab"]
    return write(tmp_path / "gold.jsonl", gold), write(tmp_path / "out.jsonl", answers)


def run(*words, status=0):
    assert main(["explagraphs", *words]) == status


def rows(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_lines_and_the_released_tables_say_the_same(tmp_path):
    lines, table = tmp_path / "gold.jsonl.gz", tmp_path / "gold.tsv"
    row = {"id": "0", "belief": "B.", "argument": "A.", "stance": "support",
           "graph": [GRAPH, "(c; is a; d)"]}  # fmt: skip
    lines.write_bytes(gzip.compress(json.dumps(row).encode()))
    table.write_text(f"\ufeffB.\tA.\tsupport\t{GRAPH}\t(c; is a; d)\n", "utf-8")
    expected = [Sample("0", "B.", "A.", "support", (GRAPH, "(c; is a; d)"))]
    assert read_samples(lines) == read_samples(table) == expected
    table, lines = tmp_path / "out.tsv", tmp_path / "out.jsonl"
    table.write_text(f"counter\t{GRAPH} \r\n", "utf-8")
    lines.write_text('{"id":"0","given_stance":"counter","graph":"(a; is a; b) "}', "utf-8")
    expected = [Prediction("0", "counter", f"{GRAPH} ")]
    assert read_predictions(table) == read_predictions(lines) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("x.tsv", "maybe\tg", "x.tsv:1: stance 'maybe', expected support or counter"),
     ("x.tsv", "support", "x.tsv:1: 1 column,"),
     ("x.tsv", "support\tg\tg", "x.tsv:1: 3 columns,"),
     ("x.jsonl", "{}", "x.jsonl:1: Object missing required field `id`"),
     ("x.jsonl", '{"id":"1","graph":"g"}', "x.jsonl:1: stance: missing"),
     ("x.jsonl", '{"id":"1","stance":"support","graph":"g"}\n' * 2, "'1' comes twice"),
     ("x.jsonl", "[", "x.jsonl:1: "),
     ("x.jsonl", "\u00e9", "x.jsonl:1: not UTF-8: byte 0xe9 at byte 0; convert")],
)  # fmt: skip
def test_a_broken_line_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "latin-1")
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / name)
    assert message in str(caught.value)


def test_check_names_rule_reason_and_place_and_what_does_not_fit(files, tmp_path, capsys):
    run("check", files[0], "--rules", "paper", status=1)
    text = capsys.readouterr().out
    assert "argument_concepts: only 'small cages' comes from the argument" in text
    assert "0 of 3 graphs are correct under the paper rules" in text
    run("check", *files, "--json", status=1)
    first, second = rows(capsys)
    assert (first["id"], first["ok"]) == ("a", False)
    assert second["broken"] == ["relation", "argument_concepts"]
    assert "did you mean 'causes'" in second["failures"][0]["reason"]
    other = write(tmp_path / "other.jsonl", [{"id": "z", "stance": "support", "graph": "()"}])
    run("check", files[0], other, status=2)
    assert "no sample 'z'" in capsys.readouterr().err
    bare = write(tmp_path / "bare.jsonl", [{"id": "x", "belief": "b", "argument": "a"}])
    run("check", bare, status=2)
    assert "no sample has a graph" in capsys.readouterr().err


def test_score_prints_system_and_baselines(files, capsys):
    run("score", *files, "--gate", "none", "--embedding", "builtin:encoder", "--json")
    out = capsys.readouterr()
    found = {(row["row"], row["measure"]): row for row in map(json.loads, out.out.splitlines())}
    assert "no prediction for 1 of 3 samples: left out" in out.err
    expected = {("out.jsonl", "sa"): 1, ("out.jsonl", "stca"): 0, ("nonsense", "stca"): 1}
    assert {key: found[key]["value"] for key in expected} == expected
    assert found["out.jsonl", "ged"]["n"] == 2
    assert 0 < found["out.jsonl", "g_bleu"]["value"] < 1
    # Ungated, the graphs differ from those of people by one word each.
    assert 0.9 < found["out.jsonl", "g_embedding"]["value"] < 1
    run("score", *files)
    assert "nonsense, polarity" in capsys.readouterr().out
    run("score", *files, "--by", "shape", "--json")
    shown = capsys.readouterr()
    parts = {json.loads(line)["part"] for line in shown.out.splitlines()}
    assert parts == {"depth 1 to 3", "linear"}
    assert "no prediction for 1 of 3 samples: left out" in shown.err
    run("score", *files, "--by", "shape")
    assert "depth 1 to 3" in capsys.readouterr().out


def test_draw_writes_the_chosen_sample(files, tmp_path, capsys):
    picture, page = tmp_path / "b.svg", tmp_path / "page.html"
    run("draw", *files, "--id", "b", "-o", str(picture), "--report", str(page))
    assert ">cause<" in picture.read_text("utf-8")
    assert page.read_text("utf-8").count("<section>") == 1
    run("draw", files[0])
    assert capsys.readouterr().out.startswith("<svg")
    run("draw", files[0], "--id", "d", status=2)
    assert "no graph of a sample 'd'" in capsys.readouterr().err


def test_stats_are_tables_of_sizes_and_relations(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run("stats", files[0])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("3 graphs, 0 with a cycle")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert ["concepts", "4", "4", "4.000"] in lines
    assert ["facts", "3", "3", "3.000"] in lines
    # All three stand in every graph: nothing but their names tells which comes first.
    places = [out.index(f" {name} ") for name in ("causes", "desires", "has property")]
    assert places == sorted(places)


def test_generated_graphs_are_samples_for_the_other_actions(tmp_path, capsys):
    made, gold = tmp_path / "made.jsonl", tmp_path / "gold.jsonl"
    words = ["--belief", TEXTS["belief"], "--argument", "Animals in zoos suffer in small cages."]
    run("generate", *words, "-o", str(made))
    row = json.loads(made.read_text())
    run("check", str(made), "--rules", "paper")
    run("draw", str(made), "-o", str(tmp_path / "made.svg"))
    write(gold, [row | {"graph": GOOD}])
    capsys.readouterr()
    run("score", str(gold), str(made), "--judges", "builtin:graphs", "--json")
    values = {(row["row"], row["measure"]): row["value"] for row in rows(capsys)}
    assert values["made.jsonl", "stca"] == 1
    assert 0 <= values["nonsense", "informativeness"] <= 1
    run("generate", "--belief", "", "--argument", "")
    shown = capsys.readouterr()
    assert json.loads(shown.out)["graph"] == ""
    assert "too few words" in " ".join(shown.err.split())
    for words, problem in ((), "give either SAMPLES"), (("--belief", "Zoos."), "together"):
        run("generate", *words, status=2)
        assert problem in " ".join(capsys.readouterr().err.split())


def test_the_snippet_of_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})
    assert "did you mean 'causes'" in capsys.readouterr().out
