"""Issues of replies as labels: which metric says which, and how lists of labels agree."""

import pytest

from grice import Score
from grice.errors import InputError
from grice.evaluation.issues import issues_of, read_taxonomy
from grice.records import FeatureEvidence, json_line
from grice.stats import cohen_kappa, krippendorff_alpha

DETA = read_taxonomy()


def scored(turn, metric, value, *evidence, status="ok", conversation="talk"):
    return Score(conversation, turn, metric, value, status, None, (), evidence, f"{metric}:1")


@pytest.fixture
def labelled(tmp_path):
    def label(*scores, **options):
        path = tmp_path / "scores.jsonl"
        path.write_bytes(b"".join(json_line(score) + b"\n" for score in scores))
        return issues_of(str(path), DETA, **options)

    return label


def test_the_taxonomy_names_the_six_issues_of_the_chapter():
    assert [issue.name for issue in DETA] == [
        "engagement", "relevance", "commonsense", "repetition", "hallucination", "inconsistency",
    ]  # fmt: skip


def test_a_value_below_the_threshold_is_an_issue(labelled):
    report, replies = labelled(
        scored(1, "relevance", 0.49), scored(1, "engagement", 0.5), scored(3, "relevance", 0.9)
    )
    assert [reply.labels for reply in replies] == [
        {"relevance": True, "engagement": False},
        {"relevance": False},
    ]
    assert (report.none.value, [item.turn for item in report.items]) == (0.5, [1, 3])
    shares = {count.issue: count.share and count.share.value for count in report.counts}
    assert (shares["relevance"], shares["engagement"], shares["repetition"]) == (0.5, 0.0, None)
    assert labelled(scored(1, "relevance", 0.49), threshold=0.4)[1][0].issues == []


def test_the_first_metric_that_judged_decides_and_a_figure_of_evidence_stands_for_the_rest(
    labelled,
):
    sense = scored(1, "sense", 0.4, FeatureEvidence("contradiction", 0.8))
    assert labelled(sense)[1][0].labels == {"inconsistency": True}
    both = labelled(sense, scored(1, "contradiction", 0.9))
    assert both[1][0].labels == {"inconsistency": False}
    abstained = labelled(sense, scored(1, "contradiction", 0.9, status="abstained"))
    assert abstained[1][0].labels == {"inconsistency": True}
    (count,) = [count for count in both[0].counts if count.issue == "inconsistency"]
    assert count.metrics == {"contradiction": 1}


def test_the_labels_of_two_raters_are_lists_whose_agreement_is_measured(labelled):
    _, mine = labelled(*(scored(i, "relevance", i % 2) for i in range(12)))
    _, yours = labelled(*(scored(i, "relevance", float(i % 2 or i == 0)) for i in range(12)))
    first, second = ([reply.labels["relevance"] for reply in each] for each in (mine, yours))
    assert cohen_kappa(first, second).value == pytest.approx(5 / 6, abs=0.01)
    alpha = krippendorff_alpha(list(zip(first, second, strict=True)), scale="nominal")
    assert alpha.value == pytest.approx(0.84, abs=0.01)


@pytest.mark.parametrize(
    "content",
    ["", "issue = 1", '[[issue]]\nname = "a"', '[[issue]]\nname = ""\nquestion = ""\nmetrics = []',
     '[[issue]]\nname = "a"\nquestion = ""\nmetrics = []\n' * 2],
)  # fmt: skip
def test_a_file_that_is_no_taxonomy_is_refused(content, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=r"own\.toml"):
        read_taxonomy(str(path))


def test_scores_that_say_nothing_of_an_issue_and_no_threshold_are_refused(labelled):
    with pytest.raises(InputError, match="no reply has a score of any of engagement, relevance"):
        labelled(scored(1, "cosine_last_turn", 0.2))
    with pytest.raises(InputError, match="finite"):
        labelled(scored(1, "relevance", 0.2), threshold=float("nan"))
