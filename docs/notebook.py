"""Runs a notebook that stands as a script of cells (``# %%``), and returns it as a page.

Editors that know notebooks open such a script as one; it stays readable, and diffs, without them.
"""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", re.MULTILINE)


def executed(path: Path) -> str:
    """Return a notebook as Markdown: its text, its code, and what each cell printed.

    Raises:
        Exception: Whatever a cell raises.
    """
    _, *parts = CELL.split(path.read_text("utf-8"))
    names: dict[str, object] = {"__name__": "__main__", "__file__": str(path)}
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return "\n\n".join(_text(cell) if kind else _run(cell, names, path) for kind, cell in pairs)


def _text(cell: str) -> str:
    return re.sub(r"^# ?", "", cell.strip(), flags=re.MULTILINE)


def _run(cell: str, names: dict[str, object], path: Path) -> str:
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(cell, path, "exec"), names)
    shown = f'\n\n```text title="prints"\n{printed.getvalue().rstrip()}\n```'
    return f"```python\n{cell.strip()}\n```" + (shown if printed.getvalue().strip() else "")
