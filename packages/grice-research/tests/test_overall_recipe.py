import numpy as np
import pytest

from grice_research.benches.breakdowns import is_validation
from grice_research.recipes.overall.data import fit, read_marked, standardised


def weights(witnesses, controls, marked):
    columns = [np.stack(each, axis=1) for each in (witnesses, controls)]
    return fit(*columns, marked, np.ones(len(marked))).weights


def test_a_witness_counts_nothing_the_wrong_way_or_where_a_control_explains_it():
    rng = np.random.default_rng(0)
    flaw, length, noise = rng.normal(size=(3, 4000))
    odds = flaw + length
    marked = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(float)
    constant = np.ones_like(flaw)
    right, wrong = weights([flaw, -flaw], [length, constant], marked)
    assert right > 0.5
    assert wrong == 0.0
    long = length + 0.1 * noise
    (alone,) = weights([long], [constant], marked)
    (beside,) = weights([long], [length, constant], marked)
    assert alone > 0.5
    assert beside < 0.15


def test_a_silent_witness_is_a_usual_one():
    columns = np.array([[1.0], [3.0], [np.nan]])
    rows = standardised(columns, np.nanmean(columns, axis=0), np.nanstd(columns, axis=0))
    assert rows[:, 0].tolist() == [1.0, -1.0, 0.0]


@pytest.mark.data
def test_no_turn_of_the_measured_part_trains(data_folder):
    if not (data_folder / "dbdc3").is_dir() or not (data_folder / "convai2017").is_dir():
        pytest.skip("GRICE_DATA holds no dbdc3 or convai2017")
    marked = read_marked(data_folder)
    assert {turn.corpus for turn in marked} == {"dbdc3", "convai2017", "pairs", "logs"}
    assert not any(is_validation(turn.talk.id) for turn in marked if turn.corpus == "dbdc3")
    assert all(0 <= turn.flawed <= 1 for turn in marked)
