"""The pages of grice in Chromium, which asks no other host for anything."""

import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from report_trial import BROWSER
from studio import talks, write

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no chromium")]
SITE = Path(__file__).parents[3] / "site"  # of make site
FIRST = {
    "report": "Read first", "live": "Type or paste a chat", "ann": "It is red.", "owner": "Judges",
    "docs": "grice finds the bad replies", "docs/rules/": "Rules of grice check",
    "docs/quality/": "Quality", "docs/commands/check/": "grice check",
}  # fmt: skip
SHOWN = "[...document.querySelectorAll('a[href], button, input, summary, textarea')]"
SHOWN += ".filter(e => e.checkVisibility())"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """The address of each page of a report, a service and a study, while they run."""
    folder = tmp_path_factory.mktemp("pages")
    write(folder / "talks.jsonl", *talks(2, reply="It is red."))
    outside = {"cwd": folder, "env": {**os.environ, "GRICE_CACHE": str(folder)}, "text": True}
    study = "rating talks.jsonl --port 0 --json --db study.db --judge ann --judges 1"
    with ExitStack() as stack:

        def start(words, **pipe):
            command = [sys.executable, "-m", "grice", *words.split()]
            process = stack.enter_context(subprocess.Popen(command, **outside, **pipe))
            stack.callback(process.terminate)
            return process

        start("demo -o report.html", stdout=subprocess.DEVNULL).wait()
        judged = start(f"annotate {study}", stdout=subprocess.PIPE).stdout
        served = start("serve --port 0", stderr=subprocess.PIPE).stderr
        links = [json.loads(judged.readline()) for _ in range(2)]
        live = re.search(r"http://[\d.:]+/", served.readline())[0]
        pages = {"report": (folder / "report.html").as_uri(), "live": live, "docs": "http://docs/"}
        yield pages | {link["name"]: link["link"] for link in links}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])


@pytest.fixture
def visit(addresses, browser):
    """Return what opens a page; when the test ends, each page is checked."""

    def visited(name, anchor="", *, width=1280, scheme="light"):
        if name.startswith("docs") and not SITE.is_dir():
            pytest.skip("no site: make site")
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        page.route("http://docs/**", lambda route: route.fulfill(path=file_of(route.request.url)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        first, _, path = name.partition("/")
        hosts = {urlsplit(addresses[first]).netloc}
        opened.append((page, hosts))
        page.goto(addresses[first] + path + anchor)
        return page

    opened = []
    yield visited
    for page, hosts in opened:
        assert len(hosts) == 1, "asks another host"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "too wide"
        found = axe.Axe().run(page)
        assert not found.response["violations"], found.generate_report()
        page.close()


def file_of(address):
    """The file of the site that an address names; that of no page for an unknown one."""
    file = SITE / urlsplit(address).path.strip("/")
    file = file / "index.html" if file.is_dir() else file
    return file if file.is_file() else SITE / "404.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", FIRST)
def test_the_first_screen_shows_the_main_thing(name, width, scheme, visit):
    page = visit(name, width=width, scheme=scheme)
    playwright.expect(page.get_by_text(FIRST[name]).first).to_be_in_viewport()


@pytest.mark.parametrize("name", ["report", "live", "ann", "owner"])
def test_the_keyboard_reaches_every_control(name, visit):
    page = visit(name)
    page.evaluate(f"{SHOWN}.forEach((e, n) => e.dataset.place = e.name || n)")
    places = set(page.evaluate(f"{SHOWN}.map(e => e.dataset.place)"))
    page.evaluate("document.activeElement.blur()")
    reached = set()
    for _ in range(2 * len(places)):  # lists that scroll take the focus, too
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place"))
    assert places - reached == set()


@pytest.mark.parametrize(
    ("name", "anchor", "shown"),
    [
        ("report", "#kettle-broken/4", "Our summer cups come in mint"),
        ("docs/rules/", "#what-rules-do-not-see", "What rules do not see"),
    ],
)
def test_an_address_opens_its_place(name, anchor, shown, visit):
    text = visit(name, anchor, width=390).get_by_text(shown).last
    playwright.expect(text).to_be_in_viewport()


def test_typed_turns_get_scores_and_a_judge_answers_by_keyboard(visit):
    live, judge = visit("live", width=390), visit("ann", width=390)
    live.keyboard.type("Ann: Is it far?\nBob: Ten minutes on foot.\nAnn: Thanks!\nBob: Bananas.")
    playwright.expect(live.locator("#turns > li")).to_have_count(4)
    judge.get_by_role("radio").first.focus()
    judge.keyboard.press("ArrowRight")
    judge.keyboard.press("Enter")
    playwright.expect(judge.get_by_text("1 answered")).to_be_visible()
