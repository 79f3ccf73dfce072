import json
from pathlib import Path

import pytest

from fake_metrics import by_measure, gap_of
from grice.errors import InputError
from grice.knowledge.schema import RELATIONS as ALL
from grice_research.benches.deco_extraction import (
    Cells,
    bleu2,
    extraction_differences,
    extraction_measures,
    measure,
    tokens_13a,
)  # fmt: skip
from grice_research.context import BenchContext

RELATIONS = ("xEffect", "xWant", "oReact")
SIX = ("xEffect", "oReact", "HasSubEvent", "HinderedBy", "isAfter", "xAttr")


@pytest.mark.parametrize(("predictions", "references", "expected"), [
    (["PersonX likes chicken <sep> PersonX eats chicken"],
     ["PersonX loves chicken <sep> PersonX eats chicken for days"], 0.6537993517025208),
    (["PersonX have a clue <sep> PersonX be happy to help",
      "PersonX asks PersonY <sep> PersonY helps"],
     ["PersonX has a clue <sep> PersonX be happy to help",
      "PersonX has clue <sep> PersonX helps PersonY"], 0.7207249436813218),
    (["chicken <sep> chicken"],
     ["PersonX loves chicken <sep> PersonX eats chicken for days"], 0.26084183898880053),
    (["one two"], ["three four"], 0.0), (["a"], ["a"], 0.0),
])  # fmt: skip
def test_bleu2_is_that_of_the_worked_cases(predictions, references, expected):
    assert bleu2(predictions, references) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("PersonX <sep> it", ["PersonX", "<", "sep", ">", "it"]),
     ("PersonX's dog, 2.5 km.", ["PersonX's", "dog", ",", "2.5", "km", "."]),
     ("a 3-year plan", ["a", "3", "-", "year", "plan"]),
     ("well-known &amp; liked", ["well-known", "&", "liked"]),
     ('say "no"!', ["say", '"', "no", '"', "!"]), ("", [])],
)  # fmt: skip
def test_marks_are_split_as_13a_splits_them(text, tokens):
    assert tokens_13a(text) == tokens


def cells(gold, extracted):
    def pairs(names):
        return {name: [("PersonX eats soup", f"PersonX is {name}")] for name in names.split()}

    return Cells(pairs(gold), pairs(extracted))


def test_cells_of_the_asked_relations_are_counted_over_all_replies():
    replies = [cells("xEffect xWant", "xEffect oReact"), cells("oReact", "oReact xWant")]
    replies += [cells("", "xEffect"), cells("xWant", "")]
    measures = extraction_measures(replies, RELATIONS)
    assert measures["precision"].value == pytest.approx(2 / 5)
    assert measures["recall"].value == pytest.approx(2 / 4)
    assert measures["f1"].value == pytest.approx(4 / 9)
    assert measures["bleu2"].value == pytest.approx(1)
    assert all(measure.n == 4 for measure in measures.values())
    assert measures["precision"].low <= 0.4 <= measures["precision"].high
    replies = [cells("xEffect", "xEffect isAfter"), cells("isAfter", "xWant")]
    measures = extraction_measures(replies, RELATIONS)
    assert measures["precision"].value == pytest.approx(1 / 2)
    assert measures["recall"].value == pytest.approx(1)
    with pytest.raises(InputError, match="at least two"):
        extraction_measures([cells("xWant", "xWant")], RELATIONS)
    with pytest.raises(InputError, match="agree"):
        extraction_measures([cells("xWant", ""), cells("", "xWant")], RELATIONS)


def test_differences_are_paired():
    first = [cells("xEffect xWant", "xEffect xWant"), cells("oReact", "oReact")]
    second = [cells("xEffect xWant", "xEffect"), cells("oReact", "oReact xWant")]
    differences = extraction_differences(first, second, RELATIONS)
    assert differences["recall"].value == pytest.approx(1 - 2 / 3)
    assert differences["precision"].value == pytest.approx(1 - 2 / 3)
    same = extraction_differences(first, first, RELATIONS)
    assert same["f1"].value == same["f1"].low == same["f1"].high == 0
    with pytest.raises(InputError, match="cannot be compared"):
        extraction_differences(first, second[:1], RELATIONS)


MEASURES = ("precision", "recall", "f1", "bleu2")
DECO_TEST = Path("accent_deco") / "deco_test.jsonl"


def copying(lines, relations):
    """Return the cells of a system that answers each relation with both turns, copied."""
    replies = []
    for item in map(json.loads, lines):
        previous = item["history"].split("</UTT>")[-2].strip()
        gold = {name: [(t[0], t[2]) for t in each] for name, each in item["tuples"].items()}
        replies.append(Cells(gold, {name: [(previous, item["response"])] for name in relations}))
    return replies


@pytest.mark.data
@pytest.mark.parametrize(
    ("relations", "expected"),
    [(ALL, [0.2891666666666667, 1.0, 0.44861021331609574, 0.184186056793766]),
     (SIX, [0.36, 0.622478386167147, 0.4561774023231257, 0.18886481235047425])],
)  # fmt: skip
def test_trivial_systems_reach_what_was_recorded(relations, expected, data_folder):
    lines = (data_folder / DECO_TEST).read_text("utf-8").splitlines()
    measures = extraction_measures(copying(lines, relations), ALL)
    assert [measures[name].value for name in MEASURES] == pytest.approx(expected)


@pytest.mark.data
def test_the_bench_sets_ours_beside_baselines_and_print(data_folder, tmp_path, exact_models):
    # A tenth of the replies; docs/results holds the figures of all.
    part = (data_folder / DECO_TEST).read_text("utf-8").splitlines()[::10]
    (tmp_path / DECO_TEST).parent.mkdir()
    (tmp_path / DECO_TEST).write_text("".join(f"{line}\n" for line in part), "utf-8")
    (tmp_path / "atomic").symlink_to((data_folder / "atomic").resolve())
    context = BenchContext(tmp_path, lambda _: ([], {}), (), models=lambda: exact_models)
    rows, copied = by_measure(measure(context)), extraction_measures(copying(part, ALL), ALL)
    for name in MEASURES:
        ours = rows["extractor", name]
        assert ours.low <= ours.value <= ours.high
        assert ours.published is not None
        baseline = rows["always yes, copying", name]
        assert (baseline.kind, baseline.value) == ("baseline", pytest.approx(copied[name].value))
    assert rows["extractor", "bleu2"].value > rows["extractor", "bleu2"].published
    gain = rows["extractor", "f1"].value - rows["always yes, copying", "f1"].value
    assert gap_of(rows["extractor", "f1"], "always yes, copying") == pytest.approx(gain)
    assert gain > 0 < rows["CSKB search", "recall"].value
    assert "extraction@" in rows["extractor", "f1"].signature
