import json
import re

import msgspec
import pytest

from grice.cli import main
from grice.errors import InputError, RecordError
from grice_tasks.situatedgen.examples import describe, finished, source_table
from grice_tasks.situatedgen.records import (
    Entity,
    Marked,
    Output,
    read_given,
    read_outputs,
    read_samples,
)
from grice_tasks.situatedgen.scores import MEASURES, mean_of_samples, problems_of, score_outputs


def test_every_measure_has_an_interval_and_each_context_its_row(july):
    july = msgspec.structs.replace(july, context=("GEO",))
    samples = [msgspec.structs.replace(july, id=str(i), ids=(f"a{i % 4}", f"b{i}"))
               for i in range(12)]  # fmt: skip
    hits = [float(i % 3 == 0) for i in range(12)]
    outputs = {sample.id: sample.reference for sample in samples}
    rows = score_outputs(samples, outputs, name="x", extra={"hits": hits})
    assert [row.context for row in rows] == ["ALL", "GEO"]
    for measure in (*MEASURES, "hits"):
        estimate = rows[0].measures[measure]
        assert estimate.low <= estimate.value <= estimate.high
    assert rows[0].measures["match_exclusive"].value == 1
    assert rows[0].measures["hits"].value == pytest.approx(4 / 12)
    assert rows[0].measures["hits"] == mean_of_samples(hits, samples)


def test_the_best_order_is_never_worse_and_one_sample_has_no_interval(july):
    outputs = {"july": " ".join(reversed(july.statements))}
    measures = score_outputs([july], outputs, name="x")[0].measures
    for measure in ("bleu4", "rouge2", "rouge_l", "meteor"):
        assert measures[f"{measure}_best"].value == pytest.approx(1)
        assert measures[measure].value < 1
    assert measures["match_first"].value == pytest.approx(4 / 6)
    assert measures["match_exclusive"].value == 1
    estimate = measures["coverage"]
    assert (estimate.value, estimate.low, estimate.high) == (1, None, None)
    assert estimate.note == "one sample has no interval"


@pytest.mark.parametrize(("output", "expected"), [
    (None, {"no output"}), ("", {"no sentence", "missing keyword"}),
    ("July is summer in China and winter in Australia.", {"one sentence"}),
    ("July. China. Winter. Australia. Summer.", {"more than two sentences",
                                                 "missing keyword"}),
    ("July is summer in Chinatown. It is winter in Australia.",
     {"missing keyword", "keyword inside a longer word"}),
])  # fmt: skip
def test_each_fault_is_counted_with_its_reason(july, output, expected):
    assert set(problems_of(july, output)) == expected | {"repeated keyword in the input"}


def test_a_missing_output_counts_as_empty_and_a_foreign_one_is_refused(july):
    row = score_outputs([july], {}, name="x")[0]
    assert (row.measures["match_first"].value, row.problems["no output"]) == (0, 1)
    with pytest.raises(InputError, match="no sample: other"):
        score_outputs([july], {"other": "x"}, name="x")


@pytest.mark.data
def test_statistics_of_the_released_test_set(released, golden):
    description = describe(read_samples(released / "test.jsonl.gz"))
    stated = golden("situatedgen_stats")["table2"]["release"]["test"]
    assert description.pairs == stated["pairs"]
    assert description.unique_statements == stated["unique_statements"]
    assert description.unique_keywords == stated["unique_keywords_case_sensitive"]
    assert description.mean_keywords == pytest.approx(stated["avg_input_keywords"])
    tokens = stated["avg_output_tokens_nltk_per_statement"]
    assert description.mean_tokens == pytest.approx(tokens, 1e-3)


def test_statements_are_finished_as_published_and_counted_by_source_and_context():
    assert finished('"a day has 24 hours"') == "A day has 24 hours."
    assert finished("really?") == "Really?"
    marked = [Marked(name, "x", (Entity("Chile", "GPE"),), (), "x") for name in ("a", "b", "c::1")]
    assert source_table(marked) == {"(no source in the id)": {"GEO only": 2}, "c": {"GEO only": 1}}


GOOD = {"keywords": ["a"], "keywords_pos": [0], "statements": ["A.", "B."]}


@pytest.mark.parametrize(
    "change",
    [{"keywords_pos": [0, 1]}, {"keywords_pos": [2]}, {"keywords": [], "keywords_pos": []},
     {"statements": ["A."]}, {"statements": None}],
)  # fmt: skip
def test_a_broken_sample_is_named_with_its_line(tmp_path, change):
    file = tmp_path / "s.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n" * 2)
    assert [sample.id for sample in read_samples(file)] == ["0", "1"]
    file.write_text(json.dumps(GOOD | change) + "\n")
    with pytest.raises(RecordError, match=r"s\.jsonl:1"):
        read_samples(file)


def test_outputs_as_plain_lines_or_json(tmp_path):
    file = tmp_path / "o.txt"
    file.write_text("One. Two.\nThree. Four.\n", "utf-8-sig")  # the mark is no part of a line
    assert read_outputs(file) == [Output("0", "One. Two."), Output("1", "Three. Four.")]
    file.write_text('{"id": "a", "output": "x"}\n{"id": "a", "output": "y"}\n')
    with pytest.raises(InputError, match="comes twice"):
        read_outputs(file)


@pytest.mark.parametrize("read", [read_outputs, read_samples, read_given])
def test_a_file_in_another_encoding_is_named_with_its_line(tmp_path, read):
    file = tmp_path / "latin.jsonl"
    first = json.dumps(GOOD) if read is read_samples else "Paris is warm."
    file.write_bytes(f"{first}\ncafé\n".encode("latin-1"))
    with pytest.raises(RecordError, match=r"latin\.jsonl:2: not UTF-8: byte 0xe9.*iconv"):
        read(file)


@pytest.mark.parametrize("contexts", ["stated", "unknown"])
def test_the_command_scores_and_sets_floors_beside(tmp_path, july, capsys, monkeypatch, contexts):
    samples, outputs = tmp_path / "samples.jsonl", tmp_path / "outputs.txt"
    if contexts == "stated":
        sides = ((Entity("China", "GPE"),), (Entity("Australia", "GPE"),))
        july = msgspec.structs.replace(july, entities=sides, context=("GEO",))
    samples.write_bytes(msgspec.json.encode(july) + b"\n")
    outputs.write_text('{"id": "july", "output": "July is summer in Australia. It is winter."}\n')
    words = ["situatedgen", "score", str(samples), str(outputs), "--plausibility", "none"]
    assert main([*words, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    floors = ["halved keywords", *["swapped reference"] * (contexts == "stated"), "reference"]
    assert list(dict.fromkeys(row["row"] for row in rows)) == ["outputs.txt", *floors]
    assert {row["context"] for row in rows} == {"ALL", *["GEO"] * (contexts == "stated")}
    values = {(row["row"], row.get("measure")): row.get("value") for row in rows}
    assert values["reference", "rouge_l"] == pytest.approx(1)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    assert main(["situatedgen", "describe", str(samples)]) == 0
    assert re.search(r"pairs +1\b", capsys.readouterr().out)
