"""``grice report``: the page of a run, from its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli.output import INVOCATION, Output, note

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.cli.derive import OutputPath


def run(
    scores: str,
    conversations: Sequence[str],
    *,
    output: OutputPath,
    plugin: Sequence[Path] = (),
) -> Output:
    """Write the HTML report of a run from its scores or a folder of shards.

    Args:
        scores (OUT): scores of grice score: a file, or a folder of shards
        conversations (FILE): the conversations that were scored
        output (OUT.html): the page
    """
    from grice.cli.commands.score import summary_view
    from grice.report.writer import report_scores
    from grice.scoring.summary import notes

    command = INVOCATION.get().command()
    summary = report_scores(scores, conversations, output, plugins=plugin, command=command)
    for line in notes(summary):
        note(line)
    return Output([summary.record()], summary_view(summary))
