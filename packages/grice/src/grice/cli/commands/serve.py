"""``grice serve``: scores over HTTP, and a live page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, UNMET
from grice.cli.options import add_metric_options, check_options, load_grader
from grice.cli.output import emit_rows
from grice.errors import InputError
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.serve.check import Reply
    from grice.tables import View

HELP = "score, explain, review and rerank over HTTP, with a live page"
KEY = "GRICE_SERVE_KEY"
"""Variable with the key that each request has to carry."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    flags.add_address(parser, 8008)
    flags.add_number(
        parser,
        "--concurrency",
        "N",
        "requests under way at the same time",
        512,
        type=flags.positive,
    )
    add_check(parser)
    flags.add_json(parser)
    flags.add_speaker(parser)
    add_metric_options(parser, words, "serve")


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it; with --check the status is 1 if something is not answered."""
    from grice.serve import Limits, check_installed

    check_installed()
    from grice.cli.terminal import note
    from grice.serve.app import application
    from grice.serve.check import check
    from grice.serve.server import serve

    check_options(arguments)
    limits = Limits(concurrency=arguments.concurrency)
    key = stated_key()
    with load_grader(arguments, arguments.speaker) as grader:
        if arguments.check:
            replies = check(application(grader, limits=limits))
            return show_replies(replies, as_json=arguments.json)
        serve(
            application(grader, limits=limits, key=key),
            host=arguments.host,
            port=arguments.port,
            limits=limits,
            begun=lambda address: note(f"{address} (the live page), {address}/docs; Ctrl-C ends"),
        )
    return DONE


def stated_key() -> str | None:
    """Return the key that requests have to carry, of ``GRICE_SERVE_KEY``; None if it is not set."""
    key = os.environ.get(KEY)
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise InputError(
            f"{KEY} holds no key: set it to printable ASCII without spaces around it, such as the "
            "output of openssl rand -hex 32, or unset it to answer everybody"
        )
    return key


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
    answered = all(reply.status == 200 for reply in replies)
    verdict = "Everything is answered." if answered else "Not everything is answered."
    view: View = [Table(("request", "path", "status"), cells, words=2), Lines([verdict])]
    emit_rows(rows, view, as_json=as_json)
    return DONE if answered else UNMET
