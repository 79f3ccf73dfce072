from __future__ import annotations

import stat
import sys

import msgspec
import numpy as np
import pytest

from grice.errors import ModelError
from grice_tasks.situatedgen.java import JavaMeteor, spice
from grice_tasks.situatedgen.meteor import meteor, meteor_counts
from grice_tasks.situatedgen.scores import score_outputs

SPICE = """
import json, sys
jar, asked, *options = sys.argv[3:]
assert sys.argv[1:3] == ["-jar", "-Xmx8G"] and jar == "spice.jar", sys.argv
assert options[0] == "-cache" and options[2] == "-out" and options[4:] == ["-subset", "-silent"]
rows = json.load(open(asked))
def share(row):
    mine, other = set(row["test"].split()), set(row["refs"][0].split())
    return len(mine & other) / len(mine | other) if mine else float("nan")
scores = [{"image_id": r["image_id"], "scores": {"All": {"f": share(r)}}} for r in rows[::-1]]
json.dump(scores, open(options[3], "w"))
"""
METEOR = """
import sys
assert sys.argv[1:] == ["-jar", "-Xmx2G", "meteor.jar", "-", "-", "-stdio", "-l", "en", "-norm"]
for line in sys.stdin:
    head, reference, output = line.rstrip("\\n").split(" ||| ")
    a, b = output.split(), reference.split()
    same = len(set(a) & set(b))
    numbers = [len(a), len(b), 0, 0, same, same, *[0] * 14, 1, same, same]
    print(*map(float, numbers), flush=True)
"""


@pytest.fixture
def program(tmp_path):
    """A program that stands for Java, with the jar it is given."""

    def make(source, jar):
        file = tmp_path / "java"
        file.write_text(f"#!{sys.executable}\n{source}")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        (tmp_path / jar).write_bytes(b"")
        return tmp_path / jar, str(file)

    return make


def test_spice_is_called_as_published_and_read_by_name(program):
    jar, java = program(SPICE, "spice.jar")
    outputs = ["July is hot.", "Snow falls, in Chile!", ""]
    references = ["July is cold.", "Snow falls in Chile.", "It rains."]
    assert spice(jar, outputs, references, java=java) == [0.5, 1.0, 0.0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit('no models')", "status 1: no models"),
        ("import sys; open(sys.argv[8], 'w').write('[]')", "something else"),
        ("import sys; open(sys.argv[8], 'w').write('oh')", "something else"),
        ("pass", "status 0"),
    ],
)
def test_a_spice_that_fails_is_an_error_with_its_reason(program, source, message):
    jar, java = program(source, "spice.jar")
    with pytest.raises(ModelError, match=message):
        spice(jar, ["a"], ["b"], java=java)


def test_meteor_of_the_program_has_the_sums_of_ours(program):
    jar, java = program(METEOR, "meteor.jar")
    with JavaMeteor(jar, java=java) as run:
        assert meteor(run("snow falls", "snow falls")[None])[0] == 1
        assert np.array_equal(run("coffee grows", "coffee sells"),
                              meteor_counts("coffee grows", "coffee sells"))  # fmt: skip


def test_scores_take_the_program_in_the_place_of_ours(program, july):
    jar, java = program(METEOR, "meteor.jar")
    samples = [msgspec.structs.replace(july, id=str(i)) for i in range(2)]
    outputs = {"0": "Snow.", "1": july.reference}
    with JavaMeteor(jar, java=java) as run:
        row = score_outputs(samples, outputs, name="x", meteor_sums=run)[0]
    assert 0 < row.measures["meteor"].value < 1


def test_meteor_that_says_something_else(program):
    jar, java = program("print('Error: no memory', flush=True)", "meteor.jar")
    with JavaMeteor(jar, java=java) as run, pytest.raises(ModelError, match=r"meteor\.jar: METEOR"):
        run("a", "b")


def test_a_program_that_hangs_is_ended_with_a_clear_error(program):
    jar, java = program("import time; time.sleep(60)", "spice.jar")
    with pytest.raises(ModelError, match=r"SPICE has not ended after 0\.2 seconds"):
        spice(jar, ["a"], ["b"], java=java, seconds=0.2)
    with (
        JavaMeteor(jar, java=java, seconds=0.2) as run,
        pytest.raises(ModelError, match=r"METEOR has not answered after 0\.2 .*--java-seconds"),
    ):
        run("a", "b")


def test_what_is_not_there_is_named(tmp_path, program):
    with pytest.raises(ModelError, match=r"spice\.jar: no such jar"):
        spice(tmp_path / "spice.jar", ["a"], ["b"], java=sys.executable)
    jar, _ = program("pass", "meteor.jar")
    with pytest.raises(ModelError, match="'no-java' is not installed"):
        JavaMeteor(jar, java="no-java")
