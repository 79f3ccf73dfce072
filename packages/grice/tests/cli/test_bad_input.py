"""Records that are wrong in two ways at once: nothing good is lost, nothing breaks."""

import json
from itertools import combinations_with_replacement

import pytest

from grice.cli import main

SIZE = SHOWN = 20_000
"""Length of what is huge, and most characters of what a person sees of a run."""
GOOD = ("Do you have any pets?", "Yes, two cats, because I like company.", "Lucky you!")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
NESTED: object = []
for level in range(500):
    NESTED = [NESTED] if level % 2 else {"in": NESTED}


def texts(text):
    def change(record):
        for turn in record["turns"] if isinstance(record["turns"], list) else ():
            turn["text"] = text

    return change


def last(field, value):
    def change(record):
        if isinstance(record["turns"], list) and record["turns"]:
            record["turns"][-1][field] = value

    return change


def field(name, value):
    return lambda record: record.update({name: value})


def many_turns(record):
    if isinstance(record["turns"], list):
        record["turns"] *= SIZE // 5000


RECORD = {
    "no turns": field("turns", []), "turns are a number": field("turns", 5),
    "empty texts": texts(""), "blank texts": texts(" \n\t\u200b"),
    "no letters": texts("?! … 😀 123"), "another script": texts("日本語を話しますか。"),
    "a huge text": texts("word " * (SIZE // 5)), "a huge word": texts("x" * SIZE),
    "many turns": many_turns, "no text": last("text", None), "text is a list": last("text", ["a"]),
    "speaker is an object": last("speaker", {"a": [1]}),
    "a huge speaker": field("speaker", "s" * SIZE), "a huge key": field("k" * SIZE, 1),
    "a huge id": field("id", "i" * SIZE), "id is a list": field("id", [1]),
    "a huge number": field("n", 10**400), "targets of no turn": field("targets", ["x", -1, 10**9]),
    "many targets": field("targets", [0] * (SIZE // 10)), "nested deeply": field("extra", NESTED),
    "turn nested deeply": last("extra", NESTED), "scripts": texts(HOSTILE),
    "a hostile id": field("id", HOSTILE), "a hostile key": field(HOSTILE, HOSTILE),
    "steering": texts("red \x1b[31m bell \x07 turned \u202e back"),
    "a steering id": field("id", "\x1b]0;x\x07\u202e"),
    "a formula": texts('=HYPERLINK("http://example.org")'),
    "templates": texts("{{ 7 * 7 }} %s %n ${x} {0} $(true)"),
    "tags": texts("purple<br>monkey<p class='x'>dishwasher"),
    "instructions": last("role", "system"),
}  # fmt: skip
"""Changes of a decoded record."""
LINE = {
    "cut off": lambda line: line[: len(line) // 2],
    "not UTF-8": lambda line: line.replace(b"a", b"\xe9", 1),
    "UTF-16": lambda line: line.decode("utf-8", "replace").encode("utf-16-le"),
    "a NUL": lambda line: line.replace(b"a", b"\x00", 1),
    "half a character": lambda line: line.replace(b': "', b': "\\ud800', 1),
    "not a number": lambda line: line.replace(b"{", b'{"v": NaN, ', 1),
    "a key twice": lambda line: line.replace(b"{", b'{"turns": [], "id": 7, ', 1),
    "garbage": lambda line: b"\x1b[31m garbage " + line[:40],
}
"""Changes of the bytes of a record."""
KINDS = (*RECORD, *LINE)


def good(name):
    turns = [{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(GOOD)]
    return json.dumps({"id": name, "turns": turns}).encode() + b"\n"


def bad(name, *kinds):
    record = json.loads(good(name))
    for kind in kinds:
        RECORD.get(kind, bool)(record)
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for kind in kinds:
        line = LINE.get(kind, bytes)(line)
    return line.replace(b"\n", b" ") + b"\n"


@pytest.mark.parametrize("kind", KINDS)
def test_two_faults_at_once_lose_nothing_good(tmp_path, capsys, kind):
    file, out, report = (tmp_path / name for name in ("chats.jsonl", "out.jsonl", "r.html"))
    pairs = [pair for pair in combinations_with_replacement(KINDS, 2) if pair[0] == kind]
    given = [good("first")]
    for number, pair in enumerate(pairs):
        given += bad(f"bad {number}", *pair), good(f"good {number}")
    file.write_bytes(b"".join(given))
    words = ["-m", "log_length,overlap_last_turn,distinct_words", "--format", "turns"]
    status = main(["score", str(file), *words, "-o", str(out), "--report", str(report)])
    shown = capsys.readouterr()
    assert status in (0, 4), shown.err
    assert "internal error" not in shown.err
    assert len(shown.err) + len(shown.out) < SHOWN
    assert not {"\x1b", "\x07", "\u202e"} & set(shown.err + shown.out)
    scores = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert not [score for score in scores if score["status"] == "failed"]
    names = {json.loads(line)["id"] for line in given[::2]}
    scored = [score["conversation"] for score in scores if score["conversation"] in names]
    assert len(scored) == 7 * len(names)
    assert HOSTILE.encode() not in report.read_bytes()
