from __future__ import annotations

import json

import msgspec
import pytest

from grice.cli import main
from grice.errors import InputError, RecordError
from grice_tasks.situatedgen.examples import (
    describe,
    finished,
    source_table,
    swap_contexts,
)
from grice_tasks.situatedgen.records import (
    Entity,
    Marked,
    Output,
    read_given,
    read_outputs,
    read_samples,
)
from grice_tasks.situatedgen.scores import MEASURES, mean_of_samples, problems_of, score_outputs


def test_all_measures_have_an_interval_and_each_context_its_row(july):
    samples = [
        msgspec.structs.replace(july, id=str(i), ids=(f"{i}a", f"{i}b"), context=("GEO",))
        for i in range(12)
    ]
    rows = score_outputs(samples, {sample.id: sample.reference for sample in samples}, name="x")
    assert [row.context for row in rows] == ["ALL", "GEO"]
    for measure in MEASURES:
        estimate = rows[0].measures[measure]
        assert estimate.low <= estimate.value <= estimate.high
    assert rows[0].measures["match_exclusive"].value == 1


def test_a_value_per_sample_has_the_interval_of_a_measure(july):
    samples = [
        msgspec.structs.replace(july, id=str(i), ids=(f"a{i % 4}", f"b{i}")) for i in range(12)
    ]
    values = [float(i % 3 == 0) for i in range(12)]
    rows = score_outputs(samples, {}, name="x", extra={"hits": values})
    estimate = mean_of_samples(values, samples)
    assert estimate == rows[0].measures["hits"]
    assert estimate.value == pytest.approx(4 / 12)
    assert estimate.low < estimate.value < estimate.high


def test_one_sample_has_no_interval(july):
    estimate = score_outputs([july], {"july": july.reference}, name="x")[0].measures["coverage"]
    assert (estimate.value, estimate.low, estimate.high) == (1, None, None)
    assert estimate.note == "one sample has no interval"


def test_the_best_order_is_never_worse(july):
    rows = score_outputs([july], {"july": " ".join(reversed(july.statements))}, name="x")
    measures = rows[0].measures
    for measure in ("bleu4", "rouge2", "rouge_l", "meteor"):
        assert measures[f"{measure}_best"].value == pytest.approx(1)
        assert measures[measure].value < 1
    assert measures["match_first"].value == pytest.approx(4 / 6)
    assert measures["match_exclusive"].value == 1


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (None, {"no output"}),
        ("", {"no sentence", "missing keyword"}),
        ("July is summer in China and winter in Australia.", {"one sentence"}),
        ("July. China. Winter. Australia. Summer.", {"more than two sentences",
                                                     "missing keyword"}),
        ("July is summer in Chinatown. It is winter in Australia.",
         {"missing keyword", "keyword inside a longer word"}),
    ],
)  # fmt: skip
def test_each_fault_is_counted_with_its_reason(july, output, expected):
    assert set(problems_of(july, output)) == expected | {"repeated keyword in the input"}


def test_a_missing_output_counts_as_empty(july):
    row = score_outputs([july], {}, name="x")[0]
    assert row.measures["match_first"].value == 0
    assert row.problems["no output"] == 1


def test_outputs_of_no_sample_are_refused(july):
    with pytest.raises(InputError, match="no sample: other"):
        score_outputs([july], {"other": "x"}, name="x")


@pytest.mark.data
def test_floor_and_statistics_of_the_released_test_set(released, golden):
    samples = read_samples(released / "test.jsonl.gz")
    description = describe(samples)
    stated = golden("situatedgen_stats")["table2"]["release"]["test"]
    assert description.pairs == stated["pairs"]
    assert description.unique_statements == stated["unique_statements"]
    assert description.unique_keywords == stated["unique_keywords_case_sensitive"]
    assert description.mean_keywords == pytest.approx(stated["avg_input_keywords"])
    assert description.mean_tokens == pytest.approx(
        stated["avg_output_tokens_nltk_per_statement"], 1e-3
    )


def test_swapping_needs_two_entities_of_one_kind():
    text = ("July is hot in Spain.", "In 1990 it snowed in Chile.")
    spain, year = (Entity("Spain", "GPE"),), (Entity("1990", "DATE"),)
    assert swap_contexts(text, (spain, year)) is None
    turned = swap_contexts(text, (spain, (*year, Entity("Chile", "GPE"))))
    assert turned == ("July is hot in Chile.", "In 1990 it snowed in Spain.")


def test_statements_are_finished_as_published():
    assert finished('"a day has 24 hours"') == "A day has 24 hours."
    assert finished("really?") == "Really?"


def test_samples_of_the_released_form_are_named_by_their_line(tmp_path):
    file = tmp_path / "s.jsonl"
    row = {"keywords": ["a"], "keywords_pos": [0], "statements": ["A.", "B."]}
    file.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    assert [sample.id for sample in read_samples(file)] == ["0", "1"]


@pytest.mark.parametrize(
    "row",
    [
        {"keywords": ["a"], "keywords_pos": [0, 1], "statements": ["A.", "B."]},
        {"keywords": ["a"], "keywords_pos": [2], "statements": ["A.", "B."]},
        {"keywords": [], "keywords_pos": [], "statements": ["A.", "B."]},
        {"keywords": ["a"], "keywords_pos": [0], "statements": ["A."]},
        {"keywords": ["a"]},
    ],
)
def test_a_broken_sample_is_named_with_its_line(tmp_path, row):
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(RecordError, match=r"s\.jsonl:1"):
        read_samples(file)


def test_outputs_as_plain_lines_or_json(tmp_path):
    file = tmp_path / "o.txt"
    file.write_text("One. Two.\nThree. Four.\n", "utf-8-sig")  # a mark is no part of the first line
    assert read_outputs(file) == [Output("0", "One. Two."), Output("1", "Three. Four.")]
    file.write_text('{"id": "a", "output": "x"}\n{"id": "a", "output": "y"}\n')
    with pytest.raises(InputError, match="comes twice"):
        read_outputs(file)


@pytest.mark.parametrize("read", [read_outputs, read_samples, read_given])
def test_a_file_in_another_encoding_is_named_with_its_line_and_what_to_do(tmp_path, read):
    file = tmp_path / "latin.txt"
    file.write_bytes("Paris is warm.\nA café in Paris is warm.\n".encode("latin-1"))
    file_of_json = tmp_path / "latin.jsonl"
    file_of_json.write_bytes('{"statement": "A café in Paris."}\n'.encode("latin-1"))
    with pytest.raises(RecordError, match=r"latin\.jsonl:1: not UTF-8: byte 0xe9.*iconv"):
        read(file_of_json)
    if read is not read_samples:
        with pytest.raises(RecordError, match=r"latin\.txt:2: not UTF-8"):
            read(file)


@pytest.mark.parametrize("contexts", ["stated", "unknown"])
def test_the_command_scores_and_sets_floors_beside(tmp_path, july, capsys, contexts):
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


def test_the_table_fits_a_terminal(tmp_path, july, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    samples, outputs = tmp_path / "s.jsonl", tmp_path / "outputs.jsonl"
    samples.write_bytes(msgspec.json.encode(july) + b"\n")
    outputs.write_bytes(msgspec.json.encode(Output(july.id, july.reference)) + b"\n")
    assert main(["situatedgen", "score", str(samples), str(outputs), "--plausibility", "none"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[:2] for line in lines if line.strip().startswith("match_exclusive ")] == [
        ["match_exclusive", "1.000"]
    ] * sum(line.endswith(" sample") for line in lines)


def test_statements_without_a_named_source_are_one_row():
    marked = [Marked(name, "x", (Entity("Chile", "GPE"),), (), "x") for name in ("a", "b", "c::1")]
    assert source_table(marked) == {"(no source in the id)": {"GEO only": 2}, "c": {"GEO only": 1}}
