"""Names that a stranger chose: in a terminal, in JSON, in a spreadsheet and on a page."""

import csv
import json
import re

import pytest

from grice.cli import main
from grice.data import to_json
from report_trial import BROWSER, RAW, STEERING, assert_allows_by_hash, browsed
from report_trial import EVIL as SCRIPT

EVIL = f"odd {STEERING} \x1b[31m\x1b]0;owned\x07 name {SCRIPT}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files in which every name is hostile, by name."""
    folder = tmp_path_factory.mktemp("hostile")
    talks, rated, labels = [], [], []
    for i in range(16):
        texts = (f"Is it far? {EVIL}", f"It is {'very ' * (i % 5)}far {EVIL} {i}.")
        turns = [{"speaker": EVIL + "ab"[j], "text": text} for j, text in enumerate(texts)]
        talks.append({"id": f"{EVIL}{i}", "turns": turns, EVIL: EVIL})
        labels.append({"conversation": f"{EVIL}{i}", "turn": 1, "label": i % 5 / 4})
        rated.append({"id": f"{EVIL}{i}", "context": turns[:1], "response": turns[1]["text"],
                      "system": f"{EVIL}{i % 3}",
                      "ratings": {EVIL: [i % 5 + 1], "overall": [i % 5]}})  # fmt: skip
    places = {}
    for name, rows in {"talks": talks, "labels": labels, "rated": rated}.items():
        places[name] = folder / f"{name}.jsonl"
        places[name].write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    places["scores"] = folder / "scores.jsonl"
    words = ["score", str(places["talks"]), "-m", "log_length,turn_count"]
    assert main([*words, "-o", str(places["scores"])]) == 0
    places["renamed"] = folder / "renamed.jsonl"
    # A metric of any name, as another program may write it.
    lines = places["scores"].read_text("utf-8")
    places["renamed"].write_text(lines.replace('"log_length"', json.dumps(EVIL)), "utf-8")
    return places


COMMANDS = [
    "score {talks} -m log_length,engagement --no-cache",
    "explain --file {talks} -m log_length --no-cache",
    "meta-eval log_length --on {rated}:{evil} --no-cache", "compare {renamed} {renamed}",
    "calibrate {labels} {renamed}", "estimate {labels} {renamed} -m log_length",
    "estimate {labels} {renamed}", "gate {renamed} --min turn_count=1",
    "perturb {talks} --score log_length --no-cache", "perturb {talks} --kind swap",
    "perturb {talks}", "kb find {evil}", "list {evil}",
]  # fmt: skip


@pytest.mark.parametrize("json_too", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_name_steers_the_terminal(files, capsys, command, json_too):
    words = [word.format(**files, evil=EVIL) for word in command.split()]
    try:
        status = main([*words, *["--json"] * json_too])
    except SystemExit as error:  # the parser refuses what it does not know
        status = error.code
    out, err = capsys.readouterr()
    assert status in (0, 1, 2)
    assert out or err or command.startswith("kb find")
    assert not RAW.search(out)
    assert not RAW.search(err)


def test_every_character_reads_the_same_and_none_that_steers_is_raw():
    for character in map(chr, [*range(0xD800), *range(0xE000, 0x11000)]):
        line = to_json({"text": character})
        assert json.loads(line) == {"text": character}
        assert not RAW.search(line)


FORMULAS = [
    "=HYPERLINK(A1)", "+1+cmd|'/c calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r\n=1", " =1", "＝1",
]  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_no_name_computes_in_a_spreadsheet(tmp_path, name):
    rated = tmp_path / "rated.jsonl"
    rows = [
        {"id": str(i), "context": [{"speaker": "A", "text": "Hi?"}], "response": "a " * (i % 5 + 1),
         "system": f"{name}{i % 3}", "ratings": {name: [i % 4]}}
        for i in range(12)
    ]  # fmt: skip
    rated.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    table = tmp_path / "table.csv"
    words = ["--on", f"{rated}:{name}", "--no-cache", "--csv", str(table)]
    assert main(["meta-eval", "log_length", *words]) == 0
    with table.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert {row["aspect"] for row in read} == {f"'{name.strip()}"}
    for row in read:
        for cell in row.values():
            if re.match(r"\s*[=+\-@＝＋－＠]", cell):
                assert float(cell) < 0  # a figure


PAGES = {
    "report": "score {talks} -m log_length --no-cache -o {out} --report {page}",
    "difference": "compare {renamed} {renamed} --report {page}",
    "meta-evaluation": "meta-eval log_length --on {rated} --no-cache --report {page}",
}


@pytest.fixture(scope="module")
def made(files, tmp_path_factory):
    """Return the pages by name."""
    folder, pages = tmp_path_factory.mktemp("made"), {}
    for name, command in PAGES.items():
        pages[name] = folder / f"{name}.html"
        places = {**files, "page": pages[name], "out": folder / f"{name}.jsonl"}
        assert main([word.format(**places) for word in command.split()]) == 0
    return pages


@pytest.mark.parametrize("name", PAGES)
def test_a_page_allows_by_hash_what_is_in_it_and_nothing_else(made, name):
    assert_allows_by_hash(made[name].read_text("utf-8"))


@pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")
@pytest.mark.parametrize("name", PAGES)
def test_a_browser_runs_our_script_and_no_other(made, name, tmp_path):
    done = browsed(made[name].as_uri(), tmp_path, "--enable-logging=stderr")
    assert "Content Security Policy" not in done.stderr
    assert "owned" not in re.search(r"<html[^>]*>", done.stdout)[0]
