"""Write what is generated in the documentation: metric pages, formats, the output of commands.

Tests hold all of it up to date; see :mod:`console` for what the output of a command may differ by.
"""

from __future__ import annotations

from pathlib import Path

import console

from grice.formats import document
from grice.metrics.page import metric_page
from grice.metrics.registry import find_metrics

HERE = Path(__file__).parent


def pages() -> dict[Path, str]:
    """Return the content of every generated page by its path."""
    registry = find_metrics()
    built_in = (name for name, origin in registry.origins.items() if origin == "grice")
    metrics = {
        HERE / "metrics" / f"{name}.md": metric_page(registry.named(name)) for name in built_in
    }
    return {**metrics, HERE / "formats.md": document()}


def main() -> None:
    """Write the pages."""
    for path, content in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")
    for path in console.shown_pages():
        path.write_text(console.refreshed(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
