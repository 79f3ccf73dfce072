"""Generated pages are current, examples run, links lead to files."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

import grice
from grice import cli
from grice.distributions import extras
from grice.metrics.registry import find_metrics
from grice.models.cache import LIMIT
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair, PairClassifier
from grice.testing import check_metric
from grice_research.comparisons import limits_of
from grice_research.figures import Figure
from grice_research.runs import Run, read_runs

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[3]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
COMMANDS = sorted(name for names in cli.COMMANDS.values() for name in names)
PACKAGE = Path(grice.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


def tool(name):
    """A module of docs/, which is no package."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


console = tool("console")
generated_pages = tool("generate").pages


@pytest.mark.parametrize("path", generated_pages(), ids=lambda path: path.name)
def test_generated_pages_are_current(path):
    assert path.read_text("utf-8") == generated_pages()[path], "run make docs"


@pytest.mark.parametrize("path", console.shown_pages(), ids=lambda path: path.name)
def test_pages_show_what_their_commands_print(path, monkeypatch):
    # The rates over DECO are no test's business: they take a minute, and change with every model.
    monkeypatch.delenv("GRICE_DATA", raising=False)
    page = path.read_text("utf-8")
    assert not console.drift(page, console.refreshed(page)), "run make docs"


def test_every_command_with_output_is_run():
    pages = console.written_pages()
    shown = {
        path: len(re.findall(r"^\$ ", path.read_text("utf-8"), re.MULTILINE)) for path in pages
    }
    run = {path: len(console.outputs(path.read_text("utf-8"))) for path in pages}
    assert shown == run
    assert run[DOCS.parent / "README.md"] >= 2


SHOWN = """
```console
$ grice score \\
>   talks.jsonl
7 conversations, 83 turns
 metric         mean   95 % interval   ok
 ────────────────────────────────────────
 relevance     0.582   0.505 – 0.663   76
relevance:2|history:4|model:relevance@7b236e8c+encoder@a214a4fc
lowest
 0.370 a #1  Hello
       words moved it most (-0.16)
 0.371 b #2  Hello.
```
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.582   0.505", "0.584   0.521"),  # another processor
        (" 0.371 b #2  Hello.\n", " 0.371 b #2\n    Hello.\n"),  # broken elsewhere
        ("─" * 40, "─" * 41),
    ],
)
def test_output_may_differ_as_processors_and_lines_do(old, new):
    assert SHOWN.replace(old, new) != SHOWN
    assert not console.drift(SHOWN, SHOWN.replace(old, new))


def page_of(*commands):
    return "```console\n" + "".join(f"$ {command}\n" for command in commands) + "```\n"


def test_a_page_shows_an_exit_status_and_leaves_out_what_is_dropped():
    page = page_of(
        "grice score examples/charity.txt -m turn_count -o out.jsonl > /dev/null",
        "grice gate out.jsonl --min turn_count=1000",
        "echo $?",
    )
    shown = console.refreshed(page)
    assert "95 % interval" not in shown
    assert shown.endswith("\n$ echo $?\n1\n```\n")


def test_of_a_command_about_the_machine_the_last_line_has_to_stay():
    fresh = console.refreshed(page_of("grice doctor -m turn_count"))
    elsewhere = fresh.replace("versions", "packages")
    assert console.refreshed(elsewhere) == elsewhere
    assert "it holds" not in console.refreshed(
        fresh.replace("Scores are bit-identical", "it holds")
    )


def test_entries_of_nearly_equal_figures_may_change_places():
    first, second = (
        " 0.370 a #1  Hello\n       words moved it most (-0.16)\n",
        " 0.371 b #2  Hello.\n",
    )
    assert not console.drift(SHOWN, SHOWN.replace(first + second, second + first))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.582", "0.612", "0.582 is now 0.612"),
        ("76", "75", "76 is now 75"),
        ("76", "750", "76 is now 750"),
        ("history:4", "history:3", "4 is now 3"),
        ("words moved", "length moved", "+       length moved it most (-0.16)"),
        ("@7b236e8c", "@7b236e8d", "encoder@a214a4fc"),
        ("lowest\n", "", "-lowest"),
        ("(-0.16)", "(+0.16)", "-0.16 is now +0.16"),
    ],
)
def test_output_may_not_differ_otherwise(old, new, message):
    differences = console.drift(SHOWN, SHOWN.replace(old, new))
    assert any(message in line for line in differences), differences


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def test_the_plugin_of_the_documentation_is_a_metric(tmp_path):
    file = tmp_path / "calm.py"
    file.write_text(python_blocks(DOCS / "plugins.md")[0])
    check_metric(find_metrics([file]).named("calm"))


def test_the_kind_and_the_scheme_of_the_documentation_work():
    names = {}
    exec(compile(python_blocks(DOCS / "plugins.md")[2], "plugins.md", "exec"), names)
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        folder = names["length"].find("4")
        model = names["length_head"].open(folder, models)
    assert isinstance(model, PairClassifier)
    assert model.classify([Pair((), "I do"), Pair((), "I do not like it")]) == [0.5, 1.0]


@pytest.mark.parametrize("page", ["README.md", "docs/knowledge.md"])
def test_the_snippets_of_pages_run(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    for block in python_blocks(ROOT / page):
        exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    result = doctest.testmod(importlib.import_module(name))
    assert (bool(result.attempted), result.failed) == (True, 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_a_session(command):
    page = (DOCS / "commands" / f"{command}.md").read_text("utf-8")
    assert page.startswith(f"# grice {command}\n")
    sessions = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert any(f"$ grice {command}" in session for session in sessions)
    assert f"({command}.md)" in (DOCS / "commands" / "README.md").read_text("utf-8")


def test_no_page_is_about_a_command_that_is_gone():
    pages = {path.stem for path in (DOCS / "commands").glob("*.md")} - {"README"}
    assert pages == {*COMMANDS, *extras()}


def test_options_stand_on_the_page_as_the_parser_has_them():
    pages = tool("command_pages")
    table = pages.options(pages.parser_of("gate"))
    assert "| `--min METRIC=VALUE` | fail if the mean may be below VALUE" in table
    assert "--debug" not in table
    actions = pages.options(pages.parser_of("models"))
    assert "### grice models get" in actions
    assert "| `--licence SPDX` |" in actions


def test_the_page_of_the_cache_has_its_limit_and_variables():
    page = (DOCS / "commands" / "doctor.md").read_text("utf-8")
    assert f"{LIMIT / 2**30:g} GiB" in page
    for name in ("GRICE_CACHE", "GRICE_MODELS", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        assert name in page


@pytest.mark.parametrize(
    "page", sorted((DOCS / "tutorials").glob("*.md")), ids=lambda path: path.stem
)
def test_python_of_tutorials_gives_what_it_shows(page, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def rows(name):
    return [json.loads(line) for line in (EXAMPLES / name).read_text("utf-8").splitlines()]


def test_the_example_of_the_tutorials_is_what_they_say():
    chats, ratings = rows("convai.jsonl"), rows("convai-ratings.jsonl")
    sample = rows("convai-50-ratings.jsonl")
    page = (DOCS / "tutorials" / "ratings-to-mean.md").read_text("utf-8")
    assert f"{len(chats)} chats" in page
    assert f"50 of the {len(ratings)} ratings" in page
    assert len(sample) == 50
    assert all(rating in ratings for rating in sample)
    assert f"{len(chats)} real chats" in (DOCS / "tutorials" / "log-to-gate.md").read_text("utf-8")


def test_every_reply_of_the_example_is_rated_and_every_third_is_replaced_in_the_next():
    ratings = {(row["conversation"], row["turn"]) for row in rows("convai-ratings.jsonl")}
    for chat, later in zip(rows("convai.jsonl"), rows("convai-next.jsonl"), strict=True):
        pairs = zip(chat["messages"], later["messages"], strict=True)
        replies = [(i, *pair) for i, pair in enumerate(pairs) if pair[0]["role"] == "assistant"]
        assert {(chat["id"], i) for i, *_ in replies} <= ratings
        replaced = [later["content"] for _, _, later in replies[2::3]]
        assert set(replaced) <= {"Sorry, I did not get that."}
        kept = [pair for number, pair in enumerate(replies) if number % 3 != 2]
        assert all(before == after for _, before, after in kept)


def test_the_mean_of_all_ratings_lies_in_the_intervals_of_the_tutorial():
    page = (DOCS / "tutorials" / "ratings-to-mean.md").read_text("utf-8")
    mean = float(re.search(r"^0\.\d{3}$", page, re.MULTILINE)[0])
    intervals = re.findall(
        r"^ (?:labels alone|with \S+) .*?(0\.\d+) – (0\.\d+)", page, re.MULTILINE
    )
    assert len(intervals) == 3
    assert all(float(low) <= mean <= float(high) for low, high in intervals)


@pytest.mark.parametrize("page", console.written_pages(), ids=lambda path: path.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_what_cannot_be_seen_has_words_for_every_flaw_and_rule():
    words = tool("blind_spots")
    known = limits_of(read_runs(DOCS / "results"))
    marked = [each for limits in known.metrics.values() for each in limits.marked()]
    flaws = {comparison.on for comparison in marked if comparison.measure == "AUC"}
    assert flaws <= words.FLAWS.keys()
    assert set(known.baselines) <= words.RULES.keys()


def test_what_cannot_be_seen_follows_from_the_figures():
    known = limits_of(read_runs(DOCS / "results"))
    registry = find_metrics()
    metrics = {name: registry.named(name) for name in registry.metrics}
    page = tool("blind_spots").blind_spots(known, metrics)
    row = next(line for line in page.splitlines() if line.startswith("| states something false"))
    for name, limits in known.metrics.items():
        figure = next(each for each in limits.marked() if each.on == "incorrect fact")
        sees, fooled = figure.low > figure.chance, figure.high < figure.chance
        column = 2 if sees and figure.is_above else 3 if sees else 5 if fooled else 4
        assert f"`{name}`&nbsp;{100 * figure.value:.0f}" in row.split("|")[column]


def test_what_cannot_be_seen_says_which_versions_were_recorded():
    registry = find_metrics()
    metrics = {name: registry.named(name) for name in registry.metrics}
    version = registry.named("relevance").version

    content = limits_of(read_runs(DOCS / "results"))

    def page(recorded_version):
        limits = msgspec.structs.replace(
            content.metrics["relevance"], signature=f"relevance:{recorded_version}|mode:fast"
        )
        known = msgspec.structs.replace(content, metrics={"relevance": limits})
        return tool("blind_spots").blind_spots(known, metrics)

    said = f"**Recorded for relevance {version}0; what ships is relevance {version}.**"
    assert said in page(f"{version}0")
    assert "Recorded for" not in page(version)


@pytest.mark.parametrize("old", [True, False])
def test_presets_mark_figures_of_versions_that_do_not_ship(old):
    written = tool("agreement")
    bench, (measure, on) = next(iter(written.SETS.items()))
    version = find_metrics().named("relevance").version
    figure = Figure(
        bench=bench, table="", row="relevance", kind="ours", on=on, measure=measure, value=0.56,
        low=0.51, high=0.61, n=9, signature=f"relevance:{version}{'0' * old}|mode:fast",
    )  # fmt: skip
    run = Run(bench=bench, title="", paper="", date="", version="", command="", counts={},
              figures=(figure,), notes={})  # fmt: skip
    runs = [run, *(msgspec.structs.replace(run, bench=name, figures=())
                   for name in written.SETS if name != bench)]  # fmt: skip
    before = "# Presets\n\n## small\n\n**Cost.** 7 s.\n\n**Agreement**, of old.\n\n| a |\n\n**What"
    page = written.with_agreement(before, runs)
    assert page.startswith("# Presets\n\n## small\n\n**Cost.** 7 s.\n\n**Agreement**, with")
    assert page.endswith("\n\n**What")
    assert "| a |" not in page
    assert f"| `relevance` | 0.56 [0.51, 0.61]{' †' * old} | – | – |" in page
    assert ("**Recorded for relevance" in page) is old
    assert ("measure them again with `grice bench minimal-pairs`." in page) is old
