import numpy as np
import pytest

import made_sets
from fake_metrics import packed
from grice.data import Conversation, Turn
from grice.errors import InputError
from grice.evaluation.datasets import Item, Rated, known_sets, load_rated
from grice_research.context import MEASURES, BenchContext, Skipped, measured, of_people, released


def ids(rated):
    return [item.conversation.id for item in rated.items]


def test_scores_of_a_name_are_found_by_id_and_turned_by_a_minus(rated_turns, tmp_path):
    given = {name: float(i) for i, name in enumerate(ids(rated_turns)[:-1])}
    packed(tmp_path / "rated/released_scores.json.gz", [{"fed_turn": {"flow": given}}])
    assert released("scores:flow", rated_turns, tmp_path) == [*map(float, range(39)), None]
    negative = [-float(i) for i in range(1, 39)]
    assert released("-scores:flow", rated_turns, tmp_path)[1:] == [*negative, None]
    with pytest.raises(InputError, match="no scores 'flwo' of fed_turn; did you mean 'flow'"):
        released("scores:flwo", rated_turns, tmp_path)
    with pytest.raises(InputError, match="no released scores are named 'dream'"):
        released("dream", rated_turns, tmp_path)


def test_samples_of_a_language_model_are_averaged(rated_turns, tmp_path):
    entries = [{"id": name, "relevance": [1, 2, 6], "fluency": []} for name in ids(rated_turns)[:3]]
    with pytest.raises(InputError, match=r"gpt4_dialogue_annotations.* is not there.*github"):
        released("gpt4:relevance", rated_turns, tmp_path)
    path = tmp_path / "rated/gpt4_dialogue_annotations.json.gz"
    packed(path, [{"fed_turn": entries}])
    assert released("gpt4:relevance", rated_turns, tmp_path)[:4] == [3, 3, 3, None]
    with pytest.raises(InputError, match="nothing on 'fluency' of fed_turn"):
        released("gpt4:fluency", rated_turns, tmp_path)


def test_scores_of_deam_are_of_the_sets_its_authors_scored(rated_turns, tmp_path):
    made_sets.fed_dialogue(tmp_path)
    dialogues = load_rated(known_sets()["fed_dialogue"], tmp_path)
    lines = [{"rated_id": name, "deam_score": 0.5} for name in ids(dialogues)[:2]]
    lines.append({"rated_id": None, "deam_score": 0.9})
    packed(tmp_path / "deam/deam_fed.jsonl.gz", lines)
    assert released("deam", dialogues, tmp_path)[:3] == [0.5, 0.5, None]
    with pytest.raises(InputError, match="released no scores of fed_turn"):
        released("deam", rated_turns, tmp_path)


def test_fields_of_the_records_are_scores_too():
    fields = [{"x": 1, "y": 3}, {"x": 2}, {"x": True}, 4]
    talks = [Conversation(str(i), (Turn("A", "Hi"),), meta={"a": fields[i]}) for i in range(4)]
    items = tuple(Item(talk, {"overall": (1.0,)}, None, talk.id) for talk in talks)
    rated = Rated(known_sets()["fed_turn"], items, (), "made")
    assert released("record:a.x", rated, None) == [1, 2, None, None]
    assert released("record:a.x+a.y", rated, None) == [2, None, None, None]


def judged(ratings, **more):
    """Return a set of items by what judges gave, aspect by aspect."""
    columns = {"overall": ratings, **more}
    items = tuple(
        Item(
            Conversation(str(i), (Turn("A", "Hi"), Turn("B", "word " * (i + 1)))),
            {name: tuple(map(float, given[i])) for name, given in columns.items()},
            "xyz"[i % 3], str(i // 2),
        )
        for i in range(len(ratings))
    )  # fmt: skip
    return Rated(known_sets()["fed_turn"], items, (), "made")


RATINGS = [(1, 2), (2, 2), (3, 5), (4, 3), (5, 4), (2, 1), (3, 3), (1, 1)]


def test_figures_on_people_need_no_scores():
    rated = judged(RATINGS, other=[(a + 1, b + 1) for a, b in RATINGS])
    assert of_people("ratings", "mean", rated, "overall").value == pytest.approx(np.mean(RATINGS))
    assert of_people("reply words", "mean", rated, "overall").value == pytest.approx(4.5)
    assert of_people("judges", "spearman", rated, "overall and other").value == pytest.approx(1)
    pooled = of_people("judges", "spearman against the others", rated, "overall").value
    assert 0.5 < pooled < 1
    with pytest.raises(InputError, match="agreement: not computed from the ratings of judges"):
        of_people("judges", "agreement", rated, "overall")


def test_every_measure_of_a_column_is_that_of_its_definition():
    rated, human = judged(RATINGS), np.mean(RATINGS, axis=1)
    values = list(human**2)
    by_measure = {name: measured(name, values, rated, "overall").value for name in MEASURES}
    assert by_measure["pearson"] == pytest.approx(np.corrcoef(values, human)[0, 1])
    assert by_measure["spearman"] == pytest.approx(1)
    scaled = (human - human.min()) / np.ptp(human)
    cosine = (values @ scaled) / np.linalg.norm(values) / np.linalg.norm(scaled)
    assert by_measure["cosine"] == pytest.approx(cosine)
    with pytest.raises(InputError, match="cannot be computed from one score per item"):
        measured("accuracy", values, rated, "overall")
    with pytest.raises(InputError, match="ratings that differ"):
        measured("cosine", values, judged([(2, 2)] * 8), "overall")


def test_a_context_without_data_or_models_says_so(tmp_path):
    context = BenchContext(None, lambda names: None, (), without=["fed_turn"])
    with pytest.raises(InputError, match="no data folder is named"):
        _ = context.folder
    with pytest.raises(InputError, match="opens no models"):
        context.models()
    with pytest.raises(Skipped, match="fed_turn was left out"):
        context.rated("fed_turn")
