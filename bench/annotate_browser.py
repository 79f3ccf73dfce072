"""Drive every template of ``grice annotate`` in headless Chromium, from first page to export.

Needs ``pip install playwright axe-playwright-python`` and a Chromium, and writes screenshots::

    python bench/annotate_browser.py --out shots --chromium /usr/bin/chromium
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

TALK = {
    "id": "plants",
    "turns": [
        {"speaker": "Ann", "text": "My tomatoes died because I forgot to water them."},
        {"speaker": "Bot", "text": "That is sad. Water them <b>every</b> day next time."},
        {"speaker": "Ann", "text": "I will buy a watering can tomorrow."},
        {"speaker": "Bot", "text": "Tomatoes are red."},
    ],
    "targets": [1, 3],
}
INPUTS: dict[str, Any] = {
    "rating": TALK,
    "issues": TALK,
    "tuples": TALK,
    "triplets": TALK,
    "pairwise": {
        "id": "lamp",
        "turns": [{"speaker": "Ann", "text": "My lamp is broken."}],
        "candidates": ["I am sorry. Send it back.", "Lamps are bright."],
    },
    "graphs": {
        "id": "zoo",
        "belief": "Zoos protect animals.",
        "argument": "Rare species breed safely in zoos.",
        "stance": "support",
    },
    "stance": {"id": "topic-1", "topic": "Zoos", "stance": "support"},
}
FACTS = (
    ("zoos", "has context", "rare species"),
    ("rare species", "is a", "animals"),
    ("animals", "receives action", "breed safely"),
)
OPTIONS = {
    "rating": ["--aspect", "relevance", "--aspect", "sense", "--check-every", "2"],
    "tuples": ["--relation", "xIntent", "--relation", "xReact"],
    "stance": ["--tries", "2"],
}
JUDGES = ("ann", "bo", "cy", "di", "eve", "fay")
WIDTHS = (1280, 390)


def rating(page: Page, task: dict[str, Any]) -> None:
    words = re.search(r"please choose (\d)", json.dumps(task["content"]))
    key = words[1] if words else "4"
    page.keyboard.press(key)
    page.keyboard.press(key)


def issues(page: Page, task: dict[str, Any]) -> None:
    words = re.search(r'mark \\"(.*?)\\" here', json.dumps(task["content"]))
    if words:
        page.get_by_text(words[1]).last.click()
    else:
        page.keyboard.press("2")


def pairwise(page: Page, _: dict[str, Any]) -> None:
    page.keyboard.press("a")


def tuples(page: Page, _: dict[str, Any]) -> None:
    page.fill("[name='xIntent.0.head']", "PersonX waters tomatoes")
    page.fill("[name='xIntent.0.tail']", "to keep them alive")
    page.check("#xReact-none")


SELECT = """([words]) => { const node = document.getElementById("dialogue").firstChild;
const start = node.data.indexOf(words); const range = document.createRange();
range.setStart(node, start); range.setEnd(node, start + words.length);
getSelection().removeAllRanges(); getSelection().addRange(range); }"""


def triplets(page: Page, task: dict[str, Any]) -> None:
    if task["stage"] != "mark":
        page.keyboard.press("n" if page.get_by_text("cy ·").count() else "y")
        page.keyboard.press("i")
        return
    for words, key in (("forgot to water", "h"), ("tomatoes died", "t")):
        page.evaluate(SELECT, [words])
        page.keyboard.press(key)
    page.select_option("#relation", "Causes")
    page.keyboard.press("a")


def graphs(page: Page, task: dict[str, Any]) -> None:
    if task["stage"] == "verify":
        right = task["content"]["round"] > 0
        page.keyboard.press("s" if right else "i")
        return
    for row, (head, relation, tail) in enumerate(FACTS):
        page.fill(f"[name='fact{row}.head']", head)
        page.select_option(f"[name='fact{row}.relation']", relation)
        page.fill(f"[name='fact{row}.tail']", tail)
    page.wait_for_selector("#preview svg")


def stance(page: Page, task: dict[str, Any]) -> None:
    if task["stage"] == "check":
        page.keyboard.press("s")
        return
    page.fill("#belief", "Zoos should stay open.")
    page.fill("#argument", "Closing zoos would leave rare species without a safe home.")


ACTIONS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    action.__name__: action
    for action in (rating, issues, pairwise, tuples, triplets, graphs, stance)
}


@contextmanager
def serving(name: str, folder: Path) -> Iterator[dict[str, str]]:
    """Begin a study of a template and give the links of its judges by name."""
    file = folder / f"{name}.jsonl"
    file.write_text(json.dumps(INPUTS[name]) + "\n", "utf-8")
    judges = [
        part for judge in ("ann", "bo", "cy", "di", "eve", "fay") for part in ("--judge", judge)
    ]
    command = [
        *(sys.executable, "-m", "grice", "annotate", name, str(file), "--port", "0"),
        *("--db", str(folder / f"{name}.db"), *judges, *OPTIONS.get(name, [])),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    links: dict[str, str] = {}
    assert process.stderr is not None
    for line in process.stderr:
        if match := re.search(r"(\w+): (http://\S+)", line):
            links[match[1]] = match[2]
        elif links:
            break
    try:
        yield links
    finally:
        process.terminate()
        process.wait(30)


def drive(name: str, browser: Browser, links: dict[str, str], out: Path) -> list[str]:
    """Answer until nothing is left for anybody, and return what was seen."""
    seen: dict[str, int] = {}
    answers = 0
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
    waiting = list(links)
    waiting.remove("owner")
    idle = 0
    while idle < len(waiting):
        judge = waiting.pop(0)
        waiting.append(judge)
        page.goto(links[judge])
        data = page.request.get(links[judge], headers={"accept": "application/json"}).json()
        if data["task"] is None:
            idle += 1
            continue
        idle = 0
        if data["stage"] not in seen:
            seen[data["stage"]] = pictures(page, out / f"{name}-{data['stage']}")
        ACTIONS[name](page, data)
        if not (out / f"{name}-{data['stage']}-filled.png").exists():
            page.screenshot(path=out / f"{name}-{data['stage']}-filled.png", full_page=True)
        with page.expect_navigation():
            page.click("#answer button[type=submit]")
        answers += 1
    page.goto(links["owner"])
    seen["owner"] = pictures(page, out / f"{name}-owner")
    lines = page.request.get(links["owner"] + "/answers.jsonl").text().splitlines()
    return [
        f"| {name} | {', '.join(seen)} | {answers} | {sum(seen.values())} | {len(lines)} |",
        *lines[:1],
    ]


def pictures(page: Page, stem: Path) -> int:
    """Write pictures at both widths, light and dark, and return violations of accessibility."""
    violations = 0
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{stem}-{width}-{scheme}.png", full_page=True)
            broken = Axe().run(page).response["violations"]
            for violation in broken:
                print(f"{stem.name}, {width}, {scheme}: {violation['id']}", file=sys.stderr)
            violations += len(broken)
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.emulate_media(color_scheme="light")
    return violations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chromium", default=None)
    parser.add_argument("templates", nargs="*", default=list(INPUTS))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    records = []
    print("| template | pages | answers | violations of axe | records |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        options = {"executable_path": arguments.chromium, "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        for name in arguments.templates:
            with serving(name, Path(folder)) as links:
                row, *lines = drive(name, browser, links, arguments.out)
            print(row, flush=True)
            records += lines
        browser.close()
    print("\n".join(records))


if __name__ == "__main__":
    main()
