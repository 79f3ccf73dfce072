"""How every page that grice writes begins.

A page is one file that asks for nothing else. Its content security policy lets a browser use the
styles and run the scripts that grice wrote into it, by their hashes, and nothing that came with a
text: no other script, no attribute that is one, no picture or form from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def head(
    title: str,
    *,
    style: str,
    script: str = "",
    pictures: Sequence[str] = (),
    connects: str = "'none'",
) -> str:
    """Return the head of a page, from the document type to ``</head>``."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f'content="{_policy([style, *pictures], [script] if script else [], connects)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
    )


def _policy(styles: Sequence[str], scripts: Sequence[str], connects: str) -> str:
    asks = "" if connects == "'none'" else f"connect-src {connects}; "
    return (
        f"default-src 'none'; style-src {hashes(styles)}; script-src {hashes(scripts)}; "
        f"{asks}"
        "base-uri 'none'; form-action 'none'"
    )


def hashes(sources: Sequence[str]) -> str:
    """Return the hashes of styles or scripts, as a policy names what a browser may use."""
    digests = (hashlib.sha256(source.encode()).digest() for source in sources)
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return " ".join(dict.fromkeys(hashes)) or "'none'"
