from random import Random

import pytest

from grice_research.recipes.sense.sources import FLAWS
from grice_research.recipes.sense.teacher import DAMAGES, Window, damaged, labels

TURNS = [
    "I sold my old car in March.", "Was it hard to find a buyer?", "No, my neighbour took it.",
    "Do you miss the open road at night?", "Only the long trips to the coast.",
]  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_reply_is_another_one(kind):
    for seed in range(5):
        reply = damaged(kind, TURNS, 4, Random(seed), ["The soup is cold."])
        assert reply != TURNS[4]
        assert kind != "repeated" or reply in TURNS[:4]
        assert kind != "scrambled" or sorted(reply.split()) == sorted(TURNS[4].split())
        assert kind != "other" or reply == "The soup is cold."


def test_a_reply_that_cannot_be_damaged_so_is_left():
    assert damaged("scrambled", ["Hello.", "Hi there."], 1, Random(0), ()) is None
    assert damaged("opposite", ["Really?", "Yes."], 1, Random(0), ()) is None


def test_a_window_asks_for_its_judged_replies_and_each_label_has_all_flaws():
    window = Window("people", tuple(TURNS), ((2, "people"), (4, "dull")))
    read = [(each.text, len(each.history)) for each in window.responses()]
    assert read == [(TURNS[2], 2), (TURNS[4], 4)]
    assert {len(odds) for found in labels().values() for odds in found} == {len(FLAWS)}
