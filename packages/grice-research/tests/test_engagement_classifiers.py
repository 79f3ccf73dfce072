import gzip
import json
from importlib.util import find_spec
from itertools import pairwise

import pytest

from grice.cli import main
from grice_research.benches.engagement_classifiers import read_split

PEOPLE, BOT = {"a": "Human", "b": "Human"}, {"a": "Human", "b": "Bot"}
GOOD, BAD = ("what a great story", "a great day"), ("no idea", "no")


def talk(number, users, rated):
    """Return a conversation of four turns; a bot rates nobody, so that the person has a 0."""
    first, second = GOOD if rated >= 3 else BAD
    turns = zip("abab", ("hi there", first, "go on", second), strict=True)
    given = {name: {"engagement": rated} for name in users}
    given["a"] = {"engagement": 0} if "Bot" in users.values() else given["a"]
    meta = {"users": users, "eval": given, "amt50": False}
    told = [{"speaker": speaker, "text": text} for speaker, text in turns]
    return {"id": str(number), "turns": told, "meta": meta}


@pytest.fixture
def folder(tmp_path):
    talks = [talk(n, (PEOPLE, BOT)[n % 2], 5 if n % 3 else 1) for n in range(60)]
    pairs = [{"query": "go on", "reply": (BAD, GOOD)[n % 2][1], "label": n % 2, "places": [[n, 0]]}
             for n in range(20)]  # fmt: skip
    for name, rows in (("convai2017/convai2017", talks),
                       ("predictive_engagement/convai_amt_297", pairs)):  # fmt: skip
        path = tmp_path / f"{name}.jsonl.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return tmp_path


def test_published_labels_take_talks_with_bots_for_dull_and_no_talk_is_in_two_parts(folder):
    said, published = (read_split(folder, corrected=corrected) for corrected in (True, False))
    assert all(int(p.group) % 2 == 0 for part in published for p in part if p.engaging)
    assert {p.engaging for part in said for p in part if int(p.group) % 2} == {True, False}
    groups = [{pair.group for pair in part} for part in published]
    assert all(first.isdisjoint(second) for first, second in pairwise([*groups, groups[0]]))
    dull = [pair for pair in published[0] if not pair.engaging]
    assert len(dull) == 2 * len({pair.group for pair in dull})  # each turn once


def test_classifiers_stand_beside_the_length_of_the_reply_and_the_printed_figures(folder, capsys):
    assert main(["bench", "engagement-classifiers", "--data", str(folder), "--json"]) == 0
    said = capsys.readouterr()
    rows = {(row["row"], row["measure"]): row for row in map(json.loads, said.out.splitlines())}
    on = "balanced accuracy on convai_amt_297:engagement"
    assert (rows["SVM", on]["value"], rows["SVM", on]["published"]) == (1.0, 0.58)
    assert rows["length of the reply", on]["value"] == 1.0
    if find_spec("torch") is None:
        assert "networks are trained by torch" in said.err
