"""Write the results of the GitHub Action as one comment of the pull request.

The comment of an earlier run is updated. Reads the variables of the runner: GITHUB_EVENT_PATH,
GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_TOKEN; FOLDER has the files of the other steps. Texts
of logs stand escaped between ``<pre>`` tags, so that they are neither formatted nor notify anyone.
"""

from __future__ import annotations

import html
import http.client
import json
import os
import sys
import urllib.request
from pathlib import Path

MARK = "<!-- grice -->"
LONGEST = 60_000  # characters; GitHub takes 65,536
PER_PAGE = 100
PARTS = {"check.txt": "Findings", "gate.txt": "Gate", "compare.txt": "Against the baseline"}


def body(folder: Path) -> str:
    """Return the comment: each part folded under its first line; empty without results."""
    shown = [MARK]
    room = LONGEST // len(PARTS)
    for name, title in PARTS.items():
        file = folder / name
        text = file.read_text("utf-8").strip() if file.exists() else ""
        if not text:
            continue
        lines = text.splitlines()
        head = lines[-1] if name == "check.txt" else lines[0]
        text = html.escape(text)
        if len(text) > room:
            text = text[:room].rpartition("\n")[0] + "\n… (the report of the run has all)"
        shown += [f"<details><summary><b>{title}</b>: {html.escape(head[:200])}</summary>", "",
                  f"<pre>{text}</pre>", "</details>", ""]  # fmt: skip
    return "\n".join(shown) if len(shown) > 1 else ""


def asked(method: str, place: str, data: object = None) -> object:
    """Send a request to GitHub's API, and return its answer."""
    url = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{place}"
    content = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, content, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def own(number: int) -> int | None:
    """Return the comment of an earlier run, if there is one: marked, and written by a bot."""
    page = 1
    while True:
        comments = asked("GET", f"{number}/comments?per_page={PER_PAGE}&page={page}")
        for comment in comments:
            if comment["user"]["type"] == "Bot" and comment["body"].startswith(MARK):
                return comment["id"]
        if len(comments) < PER_PAGE:
            return None
        page += 1


def main() -> None:
    """Write or update the comment; a token that may not write is a warning."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("no pull request: nothing to comment on")
        return
    content = {"body": body(Path(os.environ["FOLDER"]))}
    if not content["body"]:
        print("no results, because an earlier step failed: nothing to comment")
        return
    try:
        if (comment := own(number)) is None:
            asked("POST", f"{number}/comments", content)
        else:
            asked("PATCH", f"comments/{comment}", content)
    except (OSError, ValueError, http.client.HTTPException) as error:
        # Pull requests of forks have a token that only reads.
        print(f"::warning title=grice::no comment was written: {error}; the job needs "
              "permissions: pull-requests: write")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
