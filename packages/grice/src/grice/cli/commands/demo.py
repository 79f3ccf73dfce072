"""The command that shows what grice finds, on a log that is part of the package."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import grice
from grice.cli.output import Output, one_line
from grice.errors import InputError, plural
from grice.tables import Lines, Table, View

if TYPE_CHECKING:
    from grice.cli.derive import OutputPath
    from grice.evaluation.ranking import RankedReply, Ranking

LOG, PAGE = "support-bot.jsonl", Path("grice-demo.html")
TITLE = "The log of a shop's support bot, written for this demo"
RULES_AND_MORE = 13  # replies that are shown: those with findings of rules, and a few others
WIDTH = 43  # characters of a reply that are shown
NEXT = (
    ("grice check LOG", "the flaws that rules find in your log"),
    ("grice check LOG --rank", "the replies to read first"),
    ("grice models get large", "a larger model that finds more (1.2 GB)"),
)


def demo(*, output: OutputPath | None = None, open_: bool = False) -> Output:
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

    ranker, page = Ranker(RULES_AND_MORE), output or PAGE
    with read(example_log()) as reading, load_parts(SMALL) as grader:
        scored, columns = Run([reading], grader.scorer), grader.scorer.columns
        with ReportWriter(page, title=TITLE, metrics=columns, command="grice demo") as report:
            for talk, scores in scored:
                ranker.add(talk, scores)
                report.add(talk, scores)
            report.close(scored.summary)
    ranking, path = ranker.ranking(), page.resolve()
    if open_:
        webbrowser.open(path.as_uri())
    return Output([*ranking.items, {"report": str(path)}], _view(ranking, path))


def example_log() -> Path:
    """Return the log in the package, or in the checkout that is installed.

    Raises:
        InputError: If it is in neither.
    """
    package = Path(grice.__file__).resolve().parent
    for folder in (package, *package.parents[3:4]):
        if (log := folder / "examples" / LOG).is_file():
            return log
    raise InputError(f"{package}: examples/{LOG} is missing: install grice again")


def _view(ranking: Ranking, path: Path) -> View:
    conversations = plural(ranking.conversations, "conversation")
    yield Lines([TITLE, f"{conversations}, {plural(ranking.replies, 'reply', 'replies')}"])
    for title, certain in (("found by rules", True), ("by models, to read next", False)):
        named = [item for item in ranking.items if item.has_flaw and item.certain == certain]
        yield _table(title, named)
    yield Lines(["report, with the words that show each flaw"], style="bold")
    yield f"  {path}\n\n"
    yield Lines(["next"], style="bold")
    wide = max(len(command) for command, _ in NEXT)
    yield from (f"  {command:{wide}}   {purpose}\n" for command, purpose in NEXT)


def _table(title: str, items: Sequence[RankedReply]) -> Table:
    rows = [(item.headline, one_line(item.reply.strip(), WIDTH) or "(empty)") for item in items]
    return Table((title, "reply"), rows, words=2)
