"""Published and released figures, recomputed from the released ratings and scores.

The data sets are no part of the project: these tests run where GRICE_DATA names them, with the
recomputed figures in the folder ``golden`` beside.
"""

import gzip
import json
from statistics import fmean

import pytest

from grice import stats

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def rows(data_folder):
    def read(name):
        content = (data_folder / name).read_bytes()
        if name.endswith(".gz"):
            content = gzip.decompress(content)
        return [json.loads(line) for line in content.splitlines()]

    return read


@pytest.fixture(scope="module")
def released(data_folder):
    with gzip.open(data_folder / "rated" / "released_scores.json.gz", "rt") as file:
        return json.load(file)


def human(row, aspect):
    rating = row["ratings"].get(aspect)
    if isinstance(rating, list):
        given = [value for value in rating if value is not None]
        return fmean(given) if given else None
    return rating


def agrees(x, y, expected):
    """Compare n and the three coefficients to four decimals."""
    for kind in ("pearson", "spearman", "kendall"):
        estimate = stats.correlation(x, y, kind=kind)
        assert estimate.value == pytest.approx(expected[kind], abs=5e-5), kind
        assert estimate.low < estimate.value < estimate.high
        assert estimate.n == expected["n"]


@pytest.mark.parametrize(("name", "scorer", "aspects"), [
    ("dstc9_dialogue", "flow_score", {"overall", "coherent"}),
    ("grade_dailydialog", "grade_reimplementation", {"coherence"}),
    ("grade_empatheticdialogues", "grade_reimplementation", {"coherence"}),
    *((name, "fed_metric_replication", None) for name in ("fed_dialogue", "fed_turn")),
])  # fmt: skip
def test_released_scores(name, scorer, aspects, rows, released, golden):
    data = rows(f"rated/{name}.jsonl.gz")
    values = golden("released_metrics_golden")["values"][f"{name}/{scorer}"]
    for aspect in aspects or values:
        expected = values[aspect]
        if isinstance(expected, dict) and "n" in expected:
            column = scorer if aspects else f"fed_metric_{aspect}"
            scores = [released[name][column].get(row["id"]) for row in data]
            agrees(scores, [human(row, aspect) for row in data], expected)


@pytest.mark.parametrize(("dimension", "aspect"), [
    ("naturalness", "natural"), ("coherence", "maintains_context"), ("engagingness", "engaging"),
    ("groundedness", "uses_knowledge"), ("understandability", "understandable"),
    ("overall", "overall"),
])  # fmt: skip
def test_unieval_over_items_and_within_contexts(dimension, aspect, rows, released, golden):
    data = rows("rated/usr_topicalchat.jsonl.gz")
    expected = golden("released_metrics_golden")["values"]["usr_topicalchat/unieval"]
    scores = [released["usr_topicalchat"][f"unieval_{dimension}"][row["id"]] for row in data]
    ratings = [human(row, aspect) for row in data]
    agrees(scores, ratings, expected[f"{dimension} vs {aspect}"])
    averaged = expected[f"{dimension} vs {aspect} (mean over contexts)"]
    for kind in ("pearson", "spearman", "kendall"):
        groups = [row["group"] for row in data]
        estimate = stats.correlation_within(scores, ratings, groups, kind=kind)
        assert estimate.value == pytest.approx(averaged[kind], abs=5e-5)
        assert estimate.groups == averaged["contexts"]


@pytest.mark.parametrize("scorer", ["ruber_unref", "ctx_unref", "eng_meanpool", "eng_maxpool"])
def test_scores_of_predictive_engagement(scorer, rows, golden):
    data = rows("rated/predictive_engagement_dd.jsonl.gz")
    expected = golden("released_metrics_golden")["values"][f"predictive_engagement_dd/{scorer}"]
    scores = [row["released_scores"][scorer] for row in data]
    agrees(scores, [human(row, "overall") for row in data], expected)


def test_flow_score_at_system_level(rows, released, golden):
    data = rows("rated/dstc9_dialogue.jsonl.gz")
    expected = golden("released_metrics_golden")["values"]["dstc9_dialogue/flow_score"]
    scores = [released["dstc9_dialogue"]["flow_score"][row["id"]] for row in data]
    ratings = [human(row, "overall") for row in data]
    systems = [row["system"] for row in data]
    for kind in ("pearson", "spearman", "kendall"):
        result = stats.system_level(scores, ratings, systems, kind=kind)
        assert result.correlation.value == pytest.approx(expected["system_overall"][kind], abs=5e-5)
        assert result.correlation.n == 11
        # Eleven systems leave a wide interval around -0.9.
        assert result.correlation.high - result.correlation.low > 0.2


def test_agreement_of_the_rated_sets(rows, golden):
    for name, aspects in golden("rated_agreement")["values"].items():
        data = rows(f"rated/{name}.jsonl.gz")
        for aspect, expected in aspects.items():
            given = [row["ratings"].get(aspect) or [] for row in data]
            alpha, ceiling = stats.krippendorff_alpha(given), stats.ceiling(given)
            assert alpha.value == pytest.approx(expected["alpha_interval"], abs=5e-5)
            assert ceiling.value == pytest.approx(expected["ceiling_pearson"], abs=5e-5)
            if aspect in ("overall", "coherent", "coherence"):
                estimate = stats.leave_one_annotator_out(given)
                assert estimate.value == pytest.approx(expected["loo_spearman"], abs=5e-5)


def test_agreement_on_deco(rows, golden):
    expected = golden("accent_human_agreement")["values"]
    train, test, conture = (
        rows(f"accent_deco/{name}.jsonl") for name in ("deco_train", "deco_test", "conture_subset")
    )
    sets = {"deco_train": train, "deco_test": test, "conture_subset": conture}
    sets |= {"deco_all": train + test, "all_400": train + test + conture}
    for name, data in sets.items():
        figures = expected[name]
        for which in ("event", "general"):
            given = [row[f"{which}_cs_raw"] for row in data]
            key = f"{'overall' if which == 'general' else 'event'}_iaa"
            for kind in ("spearman", "pearson"):
                estimate = stats.leave_one_annotator_out(given, kind=kind, pool="pairs")
                assert estimate.value == pytest.approx(figures[key][kind], abs=1e-7)
        overall = [value for row in data for value in row["general_cs_raw"]]
        event = [value for row in data for value in row["event_cs_raw"]]
        single = stats.correlation(overall, event, groups=[i // 3 for i in range(len(event))])
        assert single.value == pytest.approx(
            figures["overall_vs_event_single_ratings"]["spearman"], abs=1e-7
        )
        assert single.groups == len(data)


def test_agreement_on_the_600_replies(rows, golden):
    expected = golden("ruber_predeng_human_agreement")["results"]
    data = rows("predictive_engagement/rated_600.jsonl.gz")
    sets = {f"{s}_300": [row for row in data if row["set"] == s] for s in ("generated", "human")}
    sets["all_600"] = data
    for name, part in sets.items():
        given = [row["ratings"] for row in part]
        found = {"fleiss_kappa_nominal": stats.fleiss_kappa(given).value}
        for scale in ("interval", "ordinal", "nominal"):
            alpha = stats.krippendorff_alpha(given, scale=scale)
            found[f"krippendorff_alpha_{scale}"] = alpha.value
        for kind in ("pearson", "spearman"):
            left_out = stats.leave_one_annotator_out(given, kind=kind)
            found[f"leave_one_out_{kind}_mean"] = left_out.value
        assert found == pytest.approx({key: expected[name][key] for key in found}, abs=1e-7)
