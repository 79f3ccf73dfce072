"""What ``--check`` of a service shows: what it answers to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, UNMET
from grice.cli.output import emit_rows
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.serve.check import Reply
    from grice.tables import View

OK = 200


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the trial of a service without a network."""
    flags.add_switch(parser, "--check", "answer one request of each kind to itself, and end")


def show_replies(replies: Sequence[Reply], *, as_json: bool) -> int:
    """Print what was answered; the status is 1 if something is not."""
    rows = [
        {"method": reply.request.method, "path": reply.request.path, "status": reply.status}
        for reply in replies
    ]
    cells = [tuple(str(cell) for cell in row.values()) for row in rows]
    answered = all(reply.status == OK for reply in replies)
    verdict = "Everything is answered." if answered else "Not everything is answered."
    view: View = [Table(("request", "path", "status"), cells, words=2), Lines([verdict])]
    emit_rows(rows, view, as_json=as_json)
    return DONE if answered else UNMET
