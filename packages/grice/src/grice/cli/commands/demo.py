"""The command that shows what grice finds, on a log that is part of the package."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import grice
from grice.cli.commands.check import ranked_view
from grice.cli.output import Output
from grice.errors import InputError, plural
from grice.tables import Lines

if TYPE_CHECKING:
    from grice.cli.derive import OutputPath
    from grice.evaluation.ranking import Ranking
    from grice.tables import View

LOG, PAGE = "support-bot.jsonl", "grice-demo.html"
ABOUT = "the log of a shop's support bot, written for this demo"
SHOWN = 8
NEXT = (
    ("grice check LOG", "the flaws that rules find in your log"),
    ("grice check LOG --rank", "the replies to read first"),
    ("grice models get large", "a larger model that finds more (1.2 GB)"),
)


def demo(*, output: OutputPath | None = None, open_: bool = False, json: bool) -> Output:
    """Show what grice finds in a log that ships with it.

    Args:
        output (OUT.html): the report (default grice-demo.html)
        open_: show the report in the browser
    """
    from grice.evaluation.ranking import Ranker, load_parts
    from grice.readers import read
    from grice.report.writer import ReportWriter
    from grice.scoring.api import SMALL
    from grice.scoring.run import Run

    ranker, page = Ranker(SHOWN), output or Path(PAGE)
    with read(example_log()) as reading, load_parts(SMALL) as grader:
        scored, columns = Run([reading], grader.scorer), grader.scorer.columns
        with ReportWriter(page, title=ABOUT, metrics=columns, command="grice demo") as report:
            for talk, scores in scored:
                ranker.add(talk, scores)
                report.add(talk, scores)
            report.close(scored.summary)
    ranking, path = ranker.ranking(), page.resolve()
    if open_:
        webbrowser.open(path.as_uri())
    rows = [*ranking.items, {"report": str(path)}] if json else []
    return Output(rows, _view(ranking, path))


def example_log() -> Path:
    """Return the log in the package, or in the checkout that is installed.

    Raises:
        InputError: If it is in neither.
    """
    package = Path(grice.__file__).resolve().parent
    for folder in (package, *package.parents[3:4]):
        if (log := folder / "examples" / LOG).is_file():
            return log
    raise InputError(f"{package}: {LOG} is missing: install grice again, by pip")


def _view(ranking: Ranking, path: Path) -> View:
    conversations = plural(ranking.conversations, "conversation")
    yield Lines([f"{ABOUT}: {conversations}, {plural(ranking.replies, 'reply', 'replies')}", ""])
    yield from ranked_view(ranking)
    yield "\n"
    yield Lines(["the report"], style="bold")
    yield f"   {path}\n\n"
    yield Lines(["next"], style="bold")
    wide = max(len(command) for command, _ in NEXT)
    yield Lines([f"{command:{wide}}  {what}" for command, what in NEXT], indent=3)
