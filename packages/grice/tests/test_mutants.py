"""``make mutants``: what is drawn, and what the page says of it; mutmut itself is not tested."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("mutants_script", ROOT / "bench" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def known(script, **statuses):
    """Ten changes of each room, of which none was tried; and the ones that are stated."""
    names = {f"grice.{room}.x_f__mutmut_{i}": "not checked" for room in script.ROOMS
             for i in range(10)}  # fmt: skip
    return names | {f"grice.stats.x_f__mutmut_{name[1:]}": what for name, what in statuses.items()}


def test_each_room_gives_as_many_names_and_the_same_ones_for_a_seed(script):
    names = known(script)
    drawn = script.sample(names, 4, 0)
    assert [script.room(name) for name in drawn] == [room for room in script.ROOMS for _ in "1234"]
    assert drawn == script.sample(names, 4, 0) != script.sample(names, 4, 1)
    assert {*script.sample(names, 99, 0)} == {*names}
    assert script.sample({**names, "grice.text.x_f__mutmut_1": "killed"}, 99, 0)[-1] in names


def test_a_score_is_the_share_that_is_noticed_of_what_was_tried(script):
    names = known(script, _0="killed", _1="timeout", _2="survived", _3="no tests")
    stats, scoring, _ = script.rows(names, names)
    assert stats == "| `stats` | 10 | 4 | 2 | 1 | 1 | 6 | 0.500 [0.15, 0.85] |"
    assert scoring == "| `scoring` | 10 | 0 | 0 | 0 | 0 | 10 | – |"


def test_the_page_shows_the_lines_of_what_no_test_notices(script, monkeypatch):
    shown = (
        "# x: survived\n--- a.py\n+++ a.py\n@@ -1 +1 @@\n def f(a):\n"
        "-    return a < 1\n+    return a <= 1\n"
    )
    monkeypatch.setattr(script, "mutmut", lambda *_: shown)
    monkeypatch.setattr(script, "version", lambda _: "0")
    name = "grice.stats.x_f__mutmut_2"
    text = script.page(known(script), {name: "survived"}, {name: script.change(name)})
    assert "`stats.x_f__mutmut_2`\n\n```diff\n- return a < 1\n+ return a <= 1\n```" in text
