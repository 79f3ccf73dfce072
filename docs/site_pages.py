"""A hook of MkDocs: pages of the documentation site that are not files in ``docs/``.

Notebooks are run. Links to files that the site does not hold become plain code.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from notebook import executed

WIDE = ("papers.md", "quality.md")  # pages of tables that need the room beside them
API = ("grice", "grice.scoring", "grice.readers", "grice.stats", "grice.perturb",
       "grice.evaluation.rerank", "grice.integrations")  # fmt: skip
"""Modules whose docstrings the site shows below the page on the Python API."""
LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?!\w+:|#)[^)#\s]+)(?P<anchor>#[\w-]+)?\)"
)


def on_files(files: Files, *, config: Any) -> Files:
    """Add a page for each notebook, and ``llms.txt`` with the addresses of the site."""
    docs = Path(config["docs_dir"])
    index = (docs.parent / "llms.txt").read_text("utf-8")
    index = re.sub(r"\(docs/([\w/-]+?)(?:/README)?\.md\)", r"(\1/)", index)
    files.append(File.generated(config, "llms.txt", content=index))
    for path in sorted((docs / "notebooks").glob("*.py")):
        made = f"{executed(path)}\n\n*This page was made by running `docs/notebooks/{path.name}`.*\n"
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=made))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Return a page with links to where the site has what they mean."""
    if page.file.generated_by:
        return markdown
    uri = page.file.src_uri
    if uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    if uri == "api.md":
        docstrings = (f"## {module}\n\n::: {module}\n" for module in API)
        markdown = "\n".join([markdown, *docstrings])
    return linked(markdown, Path(config["docs_dir"]), os.path.dirname(uri), uri)


def linked(markdown: str, docs: Path, origin: str, uri: str) -> str:
    """Return text written for a page in ``origin`` with links that hold on the page ``uri``."""

    def replaced(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(origin, link["target"]))
        anchor = link["anchor"] or ""
        if target.startswith("notebooks/"):
            target = target.removesuffix(".py") + ".md"
        elif target.startswith("..") or not (docs / target).is_file():
            path = os.path.normpath(os.path.join("docs", target))
            return link["text"] if path in link["text"] else f"{link['text']} (`{path}`)"
        there = os.path.relpath(target, os.path.dirname(uri) or ".")
        return f"[{link['text']}]({there}{anchor})"

    return LINK.sub(replaced, markdown)
