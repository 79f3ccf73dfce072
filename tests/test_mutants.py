"""``make mutants``: which changes it makes, and that it tells the noticed from the unnoticed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCE = '''
"""Words stay: 1 < 2."""

def within(low: int = 1, high: int = 2, *more) -> bool:
    """Nor is this changed: 3 - 1."""
    total = low - high
    if not low <= total < 7:
        raise ValueError(f"{low} is more than {high - 1}")
    for pair in zip(more, more, strict=True):
        print(pair)
    return total == 4 and True
'''


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("mutants_script", ROOT / "bench" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_each_change_is_one_that_a_test_can_notice(script):
    mutants = [script.changed("a/b.py", SOURCE, *place) for place in script.places(SOURCE)]
    assert {(mutant.before, mutant.after) for mutant in mutants} == {
        ("total = low - high", "total = low + high"),
        ("if not low <= total < 7:", "if not low < total < 7:"),
        ("if not low <= total < 7:", "if not low <= total <= 7:"),
        ("if not low <= total < 7:", "if not low <= total < 8:"),
        ("if not low <= total < 7:", "if not not low <= total < 7:"),
        ("raise ValueError(f'{low} is more than {high - 1}')", "None"),
        ("print(pair)", "None"),
        ("return total == 4 and True", "return total != 4 and True"),
        ("return total == 4 and True", "return total == 5 and True"),
        ("return total == 4 and True", "return total == 4 or True"),
        ("return total == 4 and True", "return total == 4 and False"),
    }
    assert len(mutants) == 11
    for changed in mutants:
        compile(changed.source, "b.py", "exec")
        assert changed.source != script.ast.unparse(script.ast.parse(SOURCE))


def test_a_sample_is_the_same_for_a_seed_and_every_module_has_tests(script):
    module = "stats/kendall.py"
    assert script.sample(module, 5, 0) == script.sample(module, 5, 0)
    assert script.sample(module, 5, 0) != script.sample(module, 5, 1)
    assert module in script.known_modules()
    for name in script.known_modules():
        assert script.tests_of(name)
        assert all((ROOT / path).exists() for path in script.tests_of(name))


def test_a_change_that_no_test_notices_is_told_from_one_that_is(script, monkeypatch, tmp_path):
    package, tests = tmp_path / "src" / "grice", tmp_path / "tests" / "stats"
    (package / "stats").mkdir(parents=True)
    (package / "data").mkdir()
    tests.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "pytest_plugin.py").write_text("")  # which pytest loads wherever grice is installed
    (package / "stats" / "__init__.py").write_text("")
    (package / "stats" / "adult.py").write_text("def adult(age):\n    return age >= 18\n")
    (tests / "test_adult.py").write_text(
        "from grice.stats.adult import adult\n"
        "def test_adult():\n    assert adult(30) and not adult(17)\n"
    )
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PACKAGE", package)
    copies = script.SimpleQueue()
    copies.put(script.copied(tmp_path / "copy"))
    script.check_unchanged({"stats/adult.py"}, copies)
    verdicts = {
        mutant.after: script.judged(mutant, copies, float("inf"))
        for mutant in script.sample("stats/adult.py", 9, 0)
    }
    assert verdicts == {"return age > 18": "survived", "return age >= 19": "survived"}
    (tests / "test_adult.py").write_text(
        "from grice.stats.adult import adult\n"
        "def test_adult():\n    assert adult(18) and not adult(17)\n"
    )
    assert script.judged(first_mutant(script), copies, float("inf")) == "killed"
    assert script.judged(first_mutant(script), copies, 0) == "not run"
    (tests / "test_adult.py").write_text("def test_adult():\n    assert False\n")
    with pytest.raises(SystemExit, match="without any change, tests fail"):
        script.check_unchanged({"stats/adult.py"}, copies)


def first_mutant(script):
    return script.sample("stats/adult.py", 1, 0)[0]
