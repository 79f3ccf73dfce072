"""Generated pages are current, examples run, links lead to files."""

import doctest
import importlib
import re
import sys
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

import grice
from grice import cli
from grice.distributions import extras
from grice.metrics.declaration import find_metrics
from grice.testing import check_metric
from grice_research import orders
from grice_research.comparisons import limits_of
from grice_research.figures import Figure, Gap
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
PAGES = console.written_pages()
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
    shown = {page: len(re.findall(r"^\$ ", page.read_text("utf-8"), re.M)) for page in PAGES}
    run = {path: len(console.outputs(path.read_text("utf-8"))) for path in PAGES}
    assert shown == run
    readme = DOCS.parent / "README.md"
    assert run[readme] >= 1
    assert len(readme.read_text("utf-8").splitlines()) <= 120


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


HELLO = " 0.370 a #1  Hello\n       words moved it most (-0.16)\n"
NEXT = " 0.371 b #2  Hello.\n"


@pytest.mark.parametrize(("old", "new"), [
    (HELLO + NEXT, NEXT + HELLO),  # of nearly equal figures
    ("0.582   0.505", "0.584   0.521"),  # another processor
    (" 0.371 b #2  Hello.\n", " 0.371 b #2\n    Hello.\n"),  # broken elsewhere
    ("─" * 40, "─" * 41),
])  # fmt: skip
def test_output_may_differ_as_processors_and_lines_do(old, new):
    assert SHOWN.replace(old, new) != SHOWN
    assert not console.drift(SHOWN, SHOWN.replace(old, new))


@pytest.mark.parametrize(("old", "new", "message"), [
    ("0.582", "0.612", "0.582 is now 0.612"), ("76", "75", "76 is now 75"),
    ("76", "750", "76 is now 750"), ("history:4", "history:3", "4 is now 3"),
    ("words moved", "length moved", "+       length moved it most (-0.16)"),
    ("@7b236e8c", "@7b236e8d", "encoder@a214a4fc"), ("lowest\n", "", "-lowest"),
    ("(-0.16)", "(+0.16)", "-0.16 is now +0.16"),
])  # fmt: skip
def test_output_may_not_differ_otherwise(old, new, message):
    differences = console.drift(SHOWN, SHOWN.replace(old, new))
    assert any(message in line for line in differences), differences


SNIPPET = re.compile(r"```python\n(.*?)```\n(?:\nprints\n\n```text\n(.*?)```)?", re.DOTALL)


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def test_the_plugin_of_the_documentation_is_a_metric(tmp_path):
    file = tmp_path / "calm.py"
    file.write_text(python_blocks(DOCS / "how-to" / "add-a-metric.md")[0])
    check_metric(find_metrics([file]).named("calm"))


WITH_CODE = [page for page in PAGES if "```python\n" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda path: path.name)
def test_the_snippets_of_pages_run(page, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    for block, shown in SNIPPET.findall(page.read_text("utf-8")):
        if "pandas" in block:
            pytest.importorskip("pandas")
        with redirect_stdout(StringIO()) as printed:
            exec(compile(block, page, "exec"), {})
        if shown:
            output = console.plain(shown), console.plain(printed.getvalue())
            assert output[0] == output[1], "run the snippet and show what it prints"


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    result = doctest.testmod(importlib.import_module(name))
    assert (bool(result.attempted), result.failed) == (True, 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_with_a_session(command):
    page = (DOCS / "commands" / f"{command}.md").read_text("utf-8")
    assert page.startswith(f"# grice {command}\n")
    pages = {path.stem for path in (DOCS / "commands").glob("*.md")} - {"README"}
    assert pages == {*COMMANDS, *extras()}, "no page is about a command that is gone"
    sessions = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert any(f"$ grice {command}" in session for session in sessions)
    assert f"({command}.md)" in (DOCS / "commands" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "llms.txt"], ids=lambda path: path.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.fixture(scope="module")
def sources():
    """The text of each module by its dotted name, and that of all projects."""
    files = [(src, file) for src in ROOT.glob("packages/*/src") for file in src.rglob("*.py")]
    texts = {str(file.relative_to(src).with_suffix("")).replace("/", ".").removesuffix(".__init__"):
             file.read_text("utf-8") for src, file in files}  # fmt: skip
    return texts | {"": "".join(map(Path.read_text, ROOT.glob("packages/*/pyproject.toml")))}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"],
                         ids=lambda path: path.name)  # fmt: skip
def test_modules_and_files_that_pages_name_are_there(page, sources):
    text, packages = page.read_text("utf-8"), "(?:_(?:annotate|models|research|tasks))?"
    for name in set(re.findall(rf"\bgrice{packages}(?:\.[A-Za-z_]\w*)+", text)) - sources.keys():
        module, _, last = name.rpartition(".")
        owner = sources.get(module) or sources.get(module.rpartition(".")[0], "")
        quoted = any(f'"{name}"' in source for source in sources.values())
        assert quoted or re.search(rf"\b{last}\b", owner), f"{name} is not there"
    files = set(re.findall(r"(?<![\w/.-])((?:packages|docs|bench|packaging)/[\w./-]+\w)", text))
    gone = [file for file in sorted(files) if not (ROOT / file).exists()]
    assert not gone or "commit a7921dde" in text, f"{gone}: not there any more"


@pytest.fixture(scope="module")
def known():
    return limits_of(read_runs(DOCS / "results"))


@pytest.fixture(scope="module")
def metrics():
    registry = find_metrics()
    return {name: registry.named(name) for name in registry.metrics}


def test_what_cannot_be_seen_has_words_for_every_flaw_and_rule(known):
    words = tool("blind_spots")
    marked = [each for limits in known.metrics.values() for each in limits.marked()]
    flaws = {comparison.on for comparison in marked if comparison.measure == "AUC"}
    assert flaws <= words.FLAWS.keys()
    assert {each.baseline for each in marked if each.measure == "AUC"} <= words.RULES.keys()


def test_what_cannot_be_seen_follows_from_the_figures(known, metrics):
    page = tool("blind_spots").blind_spots(known, metrics)
    row = next(line for line in page.splitlines() if line.startswith("| states something false"))
    for name, limits in known.metrics.items():
        figure = next(each for each in limits.marked() if each.on == "incorrect fact")
        sees, fooled = figure.low > figure.chance, figure.high < figure.chance
        column = 2 if sees and figure.is_above else 3 if sees else 5 if fooled else 4
        assert f"`{name}`&nbsp;{100 * figure.value:.0f}" in row.split("|")[column]


@pytest.mark.parametrize("old", [True, False])
def test_the_page_on_quality_shows_what_is_recorded_and_marks_what_does_not_ship(old):
    written = tool("quality_page")
    flaws = orders.SETS[0]
    version = find_metrics().named("relevance").version
    made = partial(Figure, bench=flaws.bench, kind="ours", on=flaws.on, low=0.51, high=0.61, n=900)
    gaps = (Gap("cosine_last_turn", 0.06, 0.01, 0.11),)
    signature = f"relevance:{version}{'0' * old}|mode:fast"
    figures = (
        made(row=orders.PRESETS["small"][-1], measure="AUC", value=0.56, gaps=gaps,
             signature=signature),
        made(row="cosine_last_turn", kind="baseline", measure="AUC", value=0.5),
        made(row="oracle: who speaks", kind="baseline", measure="AUC", value=0.9),
        made(row="random order", kind="baseline", measure=orders.FIRST, value=1.0,
             why="precision 0.250; of orders"),
        made(row="GPT-3.5", kind="printed", measure=orders.FIRST, value=2.0, low=1.0, high=3.0),
        made(row="GPT-3.5", kind="printed", measure="AUC", value=0.7),
    )  # fmt: skip
    about = dict.fromkeys(("title", "paper", "date", "version"), "")
    runs = [Run(bench=flaws.bench, figures=figures, counts={}, notes={}, command="", **about)]
    page = written.quality_page(runs)
    assert "900 replies of four chatbots" in page
    assert "25 % are flawed" in page
    row = f"| **0.56** ▲{' †' * old}<br><small>0.51 – 0.61</small> |"
    assert f"| grice `small` | – | – | – {row}" in page
    assert "| GPT-3.5, its votes | – | 0.50<br><small>0.25 – 0.75</small> |" in page
    assert "0.50<br><small>0.51 – 0.61</small><br><small>unlike last turn</small> |" in page
    assert ("**Recorded for relevance" in page) is old
    assert ("record them again with `grice bench abc-eval`." in page) is old
    readme = written.with_table(f"before\n{written.BEGIN}\nold\n{written.END}\nafter", runs)
    assert "old" not in readme
    assert f"| grice `small` | – | – {row}" in readme


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_without_a_display_and_shows_what_it_printed(path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    page = tool("notebook").executed(path)
    assert page.startswith("# ")
    assert page.count("```python\n") >= 2
    assert page.count("prints") == page.count("```text") >= 2
    assert f"notebooks/{path.name}" in (DOCS / "README.md").read_text("utf-8")


def test_the_page_of_the_support_bot_says_how_many_are_found_now():
    bot, page = tool("support_bot"), (DOCS / "support-bot.md").read_text("utf-8")
    planted = bot.planted()
    assert all(f"| {flaw.conversation} {flaw.turn} |" in page for flaw in planted)
    rows = "".join(bot.table(planted, {"small": bot.order("small")}))
    for first in (len(planted), 20):
        ways = (re.findall(rf"first {first}\*\* \| \| (\d+) of", text) for text in (page, rows))
        (stated,), (found,) = ways
        # On another processor two replies of nearly one quality may change places.
        assert abs(int(found) - int(stated)) <= 1
