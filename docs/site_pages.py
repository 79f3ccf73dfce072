"""A hook of MkDocs: pages of the documentation site that are not files in ``docs/``.

In the repository one page holds all formats, presets or integrations, which is how they are read
there; the site has a page of each. Notebooks are run. Links to files that no site holds become
plain code.
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

WIDE = ("quality.md",)  # pages of tables that need the room beside them
DIVIDED = ("formats.md", "presets.md", "integrations.md")
LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?!\w+:|#)[^)#\s]+)(?P<anchor>#[\w-]+)?\)"
)
HEADING = re.compile(r"^## (.+)$")
COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)


def on_files(files: Files, *, config: Any) -> Files:
    """Add a page for each section of the divided pages, and for each notebook."""
    docs = Path(config["docs_dir"])
    for name in DIVIDED:
        page = files.get_file_from_path(name)
        files.remove(page)
        index, sections = divided(COMMENT.sub("", page.content_string))
        folder = name.removesuffix(".md")
        rows = [f"- [{title}]({slug(title)}.md){first(text)}" for title, text in sections]
        contents = {"README": (index, "\n".join(["", *rows, ""]))}
        contents |= {slug(title): (f"# {title}\n\n{text}", "") for title, text in sections}
        for stem, (text, added) in contents.items():
            uri = f"{folder}/{stem}.md"
            content = linked(text, docs, "", uri) + added
            files.append(File.generated(config, uri, content=content))
    for path in sorted((docs / "notebooks").glob("*.py")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=_shown(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Return a page with links to where the site has what they mean."""
    if page.file.generated_by:
        return markdown
    uri = page.file.src_uri
    if uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    return linked(markdown, Path(config["docs_dir"]), os.path.dirname(uri), uri)


def divided(page: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text before the first section, and each section with its title."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in page.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading:
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    (_, before), *sections = parts
    return "\n".join(before), [(title, "\n".join(lines).strip()) for title, lines in sections]


def slug(title: str) -> str:
    """Return the name of the page of a section, which is its anchor where it stands undivided."""
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


def first(text: str) -> str:
    """Return the first sentence of a section, or nothing where it begins with code."""
    sentence = re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0]
    return "" if "```" in sentence or sentence.endswith(":") else f": {sentence}"


def linked(markdown: str, docs: Path, origin: str, uri: str) -> str:
    """Return text written for a page in ``origin`` with links that hold on the page ``uri``."""

    def replaced(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(origin, link["target"]))
        anchor = link["anchor"] or ""
        if target in DIVIDED:
            folder = target.removesuffix(".md")
            target, anchor = f"{folder}/{anchor[1:] or 'README'}.md", ""
        elif target.startswith("notebooks/"):
            target = target.removesuffix(".py") + ".md"
        elif target.startswith("..") or not (docs / target).is_file():
            path = os.path.normpath(os.path.join("docs", target))
            return link["text"] if path in link["text"] else f"{link['text']} (`{path}`)"
        there = os.path.relpath(target, os.path.dirname(uri) or ".")
        return f"[{link['text']}]({there}{anchor})"

    return LINK.sub(replaced, markdown)


def _shown(path: Path) -> str:
    return f"{executed(path)}\n\n*This page was made by running `docs/notebooks/{path.name}`.*\n"
