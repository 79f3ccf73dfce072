import json

import pytest

from grice.cli import main
from report_trial import EVIL, RAW, STEERING, assert_allows_by_hash

NAME = f"odd {STEERING} \x1b[31m\x1b]0;owned\x07 name"
"""A name that a stranger chose, with control sequences and marks of direction."""


def write(folder, **records):
    """Write records as lines of JSON, and return the names of the files."""
    files = {name: folder / f"{name}.jsonl" for name in records}
    for name, rows in records.items():
        files[name].write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return {name: str(path) for name, path in files.items()}


def run(command, places):
    return main([places.get(word, word) for word in command.split()])


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_no_command_writes_over_what_it_reads(tmp_path, capsys, option):
    (tmp_path / "talk.txt").write_text("A: I missed the bus.\nB: Too bad.\n")
    assert run(f"cider TALK {option} TALK", {"TALK": str(tmp_path / "talk.txt")}) == 2
    assert "name another output" in capsys.readouterr().err


@pytest.mark.parametrize("json_too", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    "command", ["explagraphs check GRAPHS", "explagraphs stats GRAPHS", "cider TALKS --least 0.01"]
)
def test_no_name_steers_the_terminal(tmp_path, capsys, command, json_too):
    talks = [{"id": f"{NAME}{i}", "turns": [{"speaker": NAME + "ab"[j], "text": f"Far? {NAME}"}
              for j in range(2)]} for i in range(4)]  # fmt: skip
    graphs = [{"id": f"{NAME}{i}", "belief": NAME, "argument": NAME, "stance": "support",
               "graph": f"({NAME}; is a; b{NAME})(b{NAME}; causes; c{NAME})"}
              for i in range(4)]  # fmt: skip
    files = write(tmp_path, TALKS=talks, GRAPHS=graphs)
    try:
        status = run(command + " --json" * json_too, files)
    except SystemExit as error:  # the parser refuses what it does not know
        status = error.code
    out, err = capsys.readouterr()
    assert status in (0, 1, 2)
    assert RAW.findall(out + err) == []


@pytest.mark.parametrize("command", [
    "explagraphs draw GRAPHS --report PAGE", "cider TALK --least 0.05 -o OUT --report PAGE",
])  # fmt: skip
def test_a_page_allows_by_hash_what_is_in_it_and_nothing_else(tmp_path, command):
    turns = ["I missed the bus because I overslept.", "So you were late?", f"Yes. {EVIL}"]
    talk = {"id": EVIL, "turns": turns}
    graph = {"id": EVIL, "belief": EVIL, "argument": "zoos", "graph": f"(zoos; is a; {EVIL})"}
    out = {name: str(tmp_path / name.lower()) for name in ("PAGE", "OUT")}
    assert run(command, out | write(tmp_path, TALK=[talk], GRAPHS=[graph])) == 0
    assert_allows_by_hash((tmp_path / "page").read_text("utf-8"))
