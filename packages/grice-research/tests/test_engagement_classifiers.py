import gzip
import json

from grice.cli import main
from grice_research.benches.engagement_classifiers import read_split

GOOD, BAD = ("what a great story", "a great day"), ("no idea", "no")


def talk(number, other, rated):
    """Return a conversation of four turns; a bot rates nobody, so that the person has a 0."""
    first, second = GOOD if rated >= 3 else BAD
    said = zip("abab", ("hi there", first, "go on", second), strict=True)
    given = {"a": {"engagement": rated * (other == "Human")}, "b": {"engagement": rated}}
    meta = {"users": {"a": "Human", "b": other}, "eval": given, "amt50": False}
    turns = [{"speaker": speaker, "text": text} for speaker, text in said]
    return {"id": str(number), "turns": turns, "meta": meta}


def test_classifiers_of_published_labels_stand_beside_length_and_printed_figures(tmp_path, capsys):
    talks = [talk(n, ("Human", "Bot")[n % 2], 5 if n % 3 else 1) for n in range(60)]
    pairs = [{"query": "go on", "reply": (BAD, GOOD)[n % 2][1], "label": n % 2, "places": [[n, 0]]}
             for n in range(20)]  # fmt: skip
    for name, rows in (("convai2017/convai2017", talks),
                       ("predictive_engagement/convai_amt_297", pairs)):  # fmt: skip
        path = tmp_path / f"{name}.jsonl.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    published, corrected = (read_split(tmp_path, corrected=each) for each in (False, True))
    with_bots = [{pair.label for part in split for pair in part if int(pair.group) % 2}
                 for split in (published, corrected)]  # fmt: skip
    assert with_bots == [{False}, {False, True}]
    assert main(["bench", "engagement-classifiers", "--data", str(tmp_path), "--json"]) == 0
    rows = map(json.loads, capsys.readouterr().out.splitlines())
    found = {row["row"]: row for row in rows if "convai_amt_297" in row["measure"]}
    assert (found["SVM"]["value"], found["SVM"]["published"]) == (1.0, 0.58)
