import numpy as np
import pytest

from grice.data import Conversation, Turn
from grice.models.joined import Part
from grice_research.benches.breakdowns import is_validation
from grice_research.recipes.overall.data import PEOPLE, Marked, read_marked, read_people
from grice_research.recipes.overall.fit import figures_of, joined, sample

TALK = Conversation("talk", tuple(Turn("ab"[i % 2], f"turn {i}") for i in range(40)))
MARKED = [Marked("logs", "none", f"group {i // 4}", TALK, i, float(i % 2)) for i in range(40)]


def test_figures_stand_beside_the_cosine_the_worst_source_first():
    parts = [Part(name, 1.0, (0.0, 0.5, 1.0), {}) for name in ("relevance", "repetition")]
    columns = {
        "relevance": np.array([0.2, 1, np.nan]),
        "repetition": np.array([0.6, *[np.nan] * 2]),
    }
    means = 2 / (1 / 0.4 + 1 / 0.8) - 0.2, 2 / (1 / 1.2 + 1 / 0.7) - 0.2
    assert joined(parts, columns) == pytest.approx([*means, 0.5])
    assert {turn.group for turn in sample(MARKED, 10)} == {"group 7", "group 8"}
    good, bad = np.array([1 - turn.flawed for turn in MARKED]), np.zeros(len(MARKED))
    others = [turn._replace(corpus="convai2017") for turn in MARKED]
    found = list(figures_of([*MARKED, *others], np.r_[good, bad], np.r_[bad, good], "x"))
    shown = [(row["on"], row["measure"], row["value"], row["note"]) for row in found]
    assert shown[0] == ("convai2017", "AUC", 0.5, "cosine_last_turn: 1.000")
    assert shown[3] == ("logs", "lift of the first 10 %", 2.0, "cosine_last_turn: 1.000")


@pytest.mark.data
def test_no_turn_of_the_measured_part_trains(data_folder):
    if not (data_folder / "dbdc3").is_dir() or not (data_folder / "convai2017").is_dir():
        pytest.skip("GRICE_DATA holds no dbdc3 or convai2017")
    marked = read_marked(data_folder)
    assert {turn.corpus for turn in marked} == {"dbdc3", "convai2017", "logs"}
    assert not any(is_validation(turn.talk.id) for turn in marked if turn.corpus == "dbdc3")
    assert {turn.corpus for turn in read_people(data_folder)} == {*PEOPLE}
