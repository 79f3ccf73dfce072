"""``grice serve``: scores over HTTP, and a live page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grice.cli.options import check_options, load_grader
from grice.cli.output import DONE, UNMET, Output, listing, note
from grice.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import Count, Scoring
    from grice.serve.server import Reply

KEY = "GRICE_SERVE_KEY"
"""Variable with the key that each request has to carry."""


def run(
    *,
    host: str = "127.0.0.1",
    port: int = 8008,
    concurrency: Count = 512,
    check: bool = False,
    speaker: Sequence[str] = (),
    scoring: Scoring,
) -> Output | int:
    """Score, explain, review and rerank over HTTP, with a live page.

    Args:
        check: answer one request of each kind without a network, and end
    """
    from grice.serve import Limits, check_installed

    check_installed()
    from grice.serve.app import application
    from grice.serve.server import check as replies_of
    from grice.serve.server import serve

    check_options(scoring)
    limits = Limits(concurrency=concurrency)
    key = os.environ.get(KEY)
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise InputError(
            f"{KEY} holds no key: set it to printable ASCII without spaces around it, such as the "
            "output of openssl rand -hex 32, or unset it to answer everybody"
        )
    with load_grader(scoring, speaker) as grader:
        if check:
            return replies_output(replies_of(application(grader, limits=limits)))
        serve(
            application(grader, limits=limits, key=key),
            host=host,
            port=port,
            limits=limits,
            begun=lambda address: note(f"{address} (the live page), {address}/docs; Ctrl-C ends"),
        )
    return DONE


def replies_output(replies: Sequence[Reply]) -> Output:
    """Return the replies of a check; the status is 1 if a request failed."""
    answered = all(reply.status == 200 for reply in replies)
    rows = (
        {"method": reply.request.method, "path": reply.request.path, "status": reply.status}
        for reply in replies
    )
    verdict = "Everything is answered." if answered else "Not everything is answered."
    return listing(rows, verdict, status=DONE if answered else UNMET)
