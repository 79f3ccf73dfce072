import pytest

from grice_tasks.overlap import rouge_2
from grice_tasks.situatedgen.captions import (
    CiderD,
    bleu_4,
    bleu_counts,
    caption_tokens,
    meteor,
    meteor_counts,
    rouge_l,
)


@pytest.mark.data
def test_tokens_and_measures_are_those_of_the_reference_programs(golden):
    cases, apart = golden("situatedgen_ngram_cases"), []
    cider = CiderD([case["references"] for case in cases["cases"]])
    for case in cases["cases"]:
        output, references = case["hypothesis"], case["references"]
        assert " ".join(caption_tokens(output)) == case["ptb_hypothesis"]
        bleu = bleu_4(bleu_counts(output, *references)[None])[0]
        assert bleu == pytest.approx(case["bleu4"], abs=1e-4)
        assert rouge_l(output, *references) == pytest.approx(case["rouge_l_coco"], abs=1e-4)
        assert rouge_2(output, references[0]) == pytest.approx(case["rs_rouge2_f_stem"], abs=1e-4)
        assert cider(output, *references) == pytest.approx(case["cider"], abs=1e-4)
        if len(references) == 1:
            score = meteor(meteor_counts(output, references[0])[None])[0]
            if score != pytest.approx(case["meteor"], abs=1e-4):
                apart.append(output)
                assert score < case["meteor"]
    # "lives in" stands for "originated in" in a table of paraphrases that does not ship.
    assert apart == ["The Hopi tribe lives in the USA; Kendo's from Japan!"]
    sums = sum(bleu_counts(case["hypothesis"], *case["references"]) for case in cases["cases"])
    assert bleu_4(sums[None])[0] == pytest.approx(cases["corpus"]["bleu4"], abs=1e-4)


@pytest.mark.parametrize(("output", "reference", "weighed", "chunks", "matched"), [
    ("a car", "an automobile", 0.8 * 0.75, 1, 1),
    ("a cities b", "a city b", 0.25 + 0.6 * 0.75 + 0.75, 0, 3),
    # Two ways to match and none that is exact: the published program leaves them apart.
    ("cities", "city", 0.0, 0, 0),
    ("went", "goes", 0.8 * 0.75, 0, 1),  # forms of one irregular verb
    ("rivers run", "stones fall", 0.0, 0, 0),
])  # fmt: skip
def test_what_meteor_matches(output, reference, weighed, chunks, matched):
    sums = meteor_counts(output, reference)
    assert sums[0] == pytest.approx(weighed)
    assert tuple(sums[4:]) == (chunks, matched)


def test_identity_is_best_and_nothing_is_worst():
    text = "July is winter in Chile. July is summer in Spain."
    assert bleu_4(bleu_counts(text, text)[None])[0] == pytest.approx(1)
    assert rouge_2(text, text) == rouge_l(text, text) == 1
    assert meteor(meteor_counts(text, text)[None])[0] == 1
    assert CiderD([[text], ["Coffee grows in Kenya."]])(text, text) == pytest.approx(10)
    for nothing in ("", "..."):
        assert bleu_4(bleu_counts(nothing, text)[None])[0] < 1e-6
        assert rouge_2(nothing, text) == rouge_l(nothing, text) == 0
        assert meteor(meteor_counts(nothing, text)[None])[0] == 0
        assert CiderD([[text], ["It snows."]])(nothing, text) == 0
