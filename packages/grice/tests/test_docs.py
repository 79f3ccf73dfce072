"""Documentation that cannot rot: generated pages are current, examples run."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

import grice
import grice.data
import grice.scoring.api
import grice.stats.clusters
import grice.text.language
from grice.metrics.registry import find_metrics
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair, PairClassifier
from grice.testing import check_metric

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[3] / "docs"


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
    assert "it holds" not in console.refreshed(fresh.replace("The guarantee holds", "it holds"))


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


@pytest.mark.parametrize(
    "module", [grice, grice.data, grice.scoring.api, grice.stats.clusters, grice.text.language]
)
def test_docstring_examples_run(module):
    assert doctest.testmod(module).failed == 0


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def test_the_plugin_of_the_documentation_is_a_metric(tmp_path):
    file = tmp_path / "calm.py"
    file.write_text(python_blocks(DOCS / "plugins.md")[0])
    check_metric(find_metrics([file]).named("calm"))


def test_the_kind_and_the_scheme_of_the_documentation_work():
    names = {}
    exec(compile(python_blocks(DOCS / "plugins.md")[-1], "plugins.md", "exec"), names)
    with ModelLoader(mode="exact", workers=1, cache=None) as models:
        folder = names["length"].find("4")
        model = names["length_head"].open(folder, models)
    assert isinstance(model, PairClassifier)
    assert model.classify([Pair((), "I do"), Pair((), "I do not like it")]) == [0.5, 1.0]


def test_the_snippets_of_the_readme_run(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(DOCS.parent / "examples")
    monkeypatch.chdir(tmp_path)
    for block in python_blocks(DOCS.parent / "README.md"):
        exec(compile(block, "README.md", "exec"), {})
