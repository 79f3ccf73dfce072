"""The rows of benches on conversations that rest on what a recipe leaves."""

from __future__ import annotations

import json

import pytest

from grice.errors import InputError
from grice.evaluation.datasets import Item, Rated, known_sets
from grice.records import Conversation, Turn
from grice_research.benches import fed
from grice_research.benches._conversations import learned

NAME = "fed_dialogue"
COUNT = 12


class SmallContext:
    """Knows one rated set, and where recipes leave what they learned."""

    def __init__(self, folder):
        self.folder = folder

    def weights(self, recipe):
        return self.folder / recipe

    def rated(self, name):
        items = tuple(
            Item(
                Conversation(str(i), (Turn("A", "Hi."), Turn("B", "Hello."))),
                {"coherent": (float(i),), "overall": (float(-i),)}, None, str(i),
            )
            for i in range(COUNT)
        )  # fmt: skip
        return Rated(known_sets()[name], items, (), grouped=False, fingerprint=name)


def leave(folder, values):
    (folder / "coherence").mkdir()
    (folder / "coherence" / "ablation_values.json").write_text(json.dumps(values), "utf-8")


def test_networks_stand_beside_what_was_printed_for_the_same_perturbations(tmp_path):
    ids = [str(i) for i in range(COUNT)]
    values = {"deam": list(range(COUNT)), "mesgar on DailyDialog": [i % 3 for i in range(COUNT)]}
    leave(tmp_path, {NAME: {"ids": ids, "sets": values}})
    rows = list(learned(SmallContext(tmp_path), NAME, fed.ASPECTS))
    by_place = {(row.on, row.beside, row.row.rsplit(", ", 1)[1]): row for row in rows}
    first = by_place["table 4.2", "DEAM", "coherence"]
    assert first.estimate.value == pytest.approx(1)
    assert first.published == 0.47
    assert by_place["table 4.3", "DEAM", "overall"].estimate.value == pytest.approx(-1)
    assert by_place["table 4.4", "Mesgar, DailyDialog", "coherence"].published == -0.36
    # Of networks that were not fitted there is no row.
    assert len(rows) == 6


def test_without_the_recipe_one_row_says_why(tmp_path):
    [row] = learned(SmallContext(tmp_path), NAME, fed.ASPECTS)
    assert row.estimate is None
    assert "coherence.ablation makes it" in row.why


def test_values_of_other_conversations_are_refused(tmp_path):
    leave(tmp_path, {NAME: {"ids": ["x"], "sets": {"deam": [0.5]}}})
    with pytest.raises(InputError, match="not the conversations"):
        list(learned(SmallContext(tmp_path), NAME, fed.ASPECTS))
