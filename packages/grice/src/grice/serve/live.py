"""The live page: a chat that is typed or pasted, scored as it comes, with evidence beside it."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from grice.pages import head

if TYPE_CHECKING:
    from collections.abc import Sequence


def live_page(metrics: Sequence[str]) -> str:
    """Return the page, which asks nobody but the service that it came from."""
    assets = resources.files("grice.serve") / "assets"
    style, script, body = (
        (assets / name).read_text("utf-8") for name in ("live.css", "live.js", "live.html")
    )
    beginning = head("grice: live", style=style, script=script, connects="'self'")
    body = body.replace("METRICS", escape(", ".join(metrics)))
    return f"{beginning}<body>\n{body}<script>{script}</script>\n</body>\n</html>\n"
