import pytest

from fake_metrics import FakeContext, TurnMetric, figure_of, gap_of, packed
from grice_research.benches import breakdowns
from grice_research.benches._turns import FETCHED, metric_named, shipped_metrics
from grice_research.published import find_task
from grice_research.recipes.relevance.corpora import evaluated_texts


def write(folder, talks=60):
    """Write conversations whose second chatbot turn is a breakdown."""
    lines = []
    for i in range(talks):
        texts = [
            "Hi.", "good", "Yes?", "broken" if i % 4 else "odd", "No.", "fine", "So?",
            "this taught it how to reply",
        ]  # fmt: skip
        turns = [{"speaker": ("user", "system")[k % 2], "text": t} for k, t in enumerate(texts)]
        votes = [(20, 6, 4), (2, 8, 20), (14, 14, 2), (2, 8, 20)]
        labels = [{"turn": 1 + 2 * k, **dict(zip("OTX", v, strict=True))}
                  for k, v in enumerate(votes)]  # fmt: skip
        lines.append({"id": f"talk{i}", "system": "ab"[i % 2], "turns": turns, "labels": labels})
    packed(folder / breakdowns.FILE, lines)
    learned = [{"turns": [{"text": "This taught it how to reply!"}], "meta": {"amt50": False}}]
    packed(folder / breakdowns.TRAINING, learned)


def broken(talk, turn):
    return talk.turns[turn].text == "broken"


@pytest.fixture
def rows(tmp_path):
    write(tmp_path)
    whole = ("coherence", "user_frustration")
    context = FakeContext(lambda name: TurnMetric(name, broken, whole), tmp_path)
    return list(breakdowns.measure(context))


def test_a_metric_sees_breakdowns_if_such_turns_score_lower(rows):
    seen = figure_of(rows, "relevance", "AUC")
    share = 0.75  # of the breakdowns score low
    assert seen.value == pytest.approx(share + (1 - share) / 2, abs=0.1)
    assert seen.metric == "relevance"
    assert seen.signature.startswith("relevance:1|mode:fast|on:dbdc3@")
    assert figure_of(rows, "user_frustration", "AUC").value == pytest.approx(seen.value)
    position = figure_of(rows, "position", "AUC").value
    assert gap_of(seen, "position") == pytest.approx(seen.value - position)


def test_metrics_and_baselines_stand_side_by_side(rows):
    pairs = {(r.metric, gap.baseline) for r in rows if r.metric for gap in r.gaps}
    metrics = (*shipped_metrics(), *(name for name in FETCHED if metric_named(name)))
    assert pairs == {(m, b) for m in metrics for b in breakdowns.TRIVIAL}
    assert find_task("breakdowns").title == breakdowns.TITLE
    for name, metric in (("quality", "quality"), ("quality (large)", "")):
        seen = figure_of(rows, name, "lift of the first 10 %")
        assert seen.value > figure_of(rows, "position", "lift of the first 10 %").value
        assert (seen.kind, seen.metric) == ("ours", metric)


def test_only_the_validation_part_is_read(tmp_path):
    write(tmp_path)
    voted = breakdowns.read_voted(tmp_path)
    names = {name for i in range(60) if breakdowns.is_validation(name := f"talk{i}")}
    assert {talk.id for talk in voted.talks} == names
    assert "broken" in evaluated_texts(tmp_path), "recipes leave out what is measured on"
    assert voted.judged == 4 * len(names) == len(voted.majority) + len(names), (
        "one is a training text"
    )
    assert voted.majority[:3] == [0.0, 1.0, 0.0], "a tie is no majority"


@pytest.mark.data
def test_the_split_of_the_published_set_stays(data_folder):
    if not (data_folder / breakdowns.FILE).is_file():
        pytest.skip("GRICE_DATA holds no dbdc3")
    voted = breakdowns.read_voted(data_folder)
    assert (len(voted.talks), len(voted.majority), sum(voted.majority)) == (140, 1213, 348)
