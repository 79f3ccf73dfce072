"""``grice cider``: the commonsense links of your conversations, as JSON lines or drawn.

``grice cider stats`` counts annotated links. A file of conversations with that name is ``./stats``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.options import all_records, opened, opened_models, usable
from grice.cli.output import DONE, PARTIAL, Output, note, warn, write_rows, write_text
from grice.errors import InputError, RecordError, plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import Count, Input, OutputPath
    from grice.tables import View
    from grice_tasks.cider.find import ConversationLinks
    from grice_tasks.cider.statistics import Counted, Value

SHIPPED = "builtin:triplets"


def run(
    files: Sequence[str],
    *,
    reading: Input,
    least: float | None = None,
    most: Count = 12,
    relation: Sequence[str] = (),
    explicit: bool = False,
    report: OutputPath | None = None,
    output: OutputPath | None = None,
    model: str = SHIPPED,
    invalid: Literal["refuse", "skip"] = "refuse",
) -> Output | int:
    """Find explicit and implicit commonsense links within a conversation.

    Args:
        files (FILE): your conversations; or stats and files of CIDER's JSON lines: count annotated
            links beside the published counts; or context, head, relation and options to answer
        least (P): confidence at least (default: the model's level)
        most (N): links per conversation
        relation (NAME): only this relation
        explicit: only links that a connective in one sentence says
        output (FILE.jsonl): a link a line; default: standard output
        invalid: stats: end the command at an invalid triplet, or name it and leave it out
    """
    from grice.errors import ModelError
    from grice.progress import track
    from grice.readers import part_read
    from grice_tasks.cider.find import Wanted, find_links, links_page
    from grice_tasks.cider.models import Asked, TripletModels
    from grice_tasks.lines import read_rows

    if files[0] == "stats":
        return _stats(files[1:], invalid)
    if least is not None and not 0 <= least <= 1:
        raise InputError(f"--least {least:g}: a number from 0 to 1 is needed")
    wanted = Wanted(least=least, most=most, implicit=not explicit, relations=tuple(relation))
    if model == SHIPPED:
        note("links by small classifiers, a baseline that needs no language model: read each")
    linked: list[ConversationLinks] = []
    broken: list[RecordError] = []
    with opened_models() as models:
        if (task := models.task(model)) in ("answers by spans", "labels"):
            reader = models.load(model)
            asked = (row for file in files for _, row in read_rows(Path(file), Asked))
            write_rows(({"head": x.head, "answer": x.answer(reader)} for x in asked), output)
            return DONE
        if task != "links":
            raise ModelError(f"{model} finds no links: name a model such as builtin:triplets")
        heads = models.load(model, TripletModels)
        readings = opened(files, reading)
        found = find_links(all_records(readings), heads, wanted)
        tracked = track(found, "conversations", part=partial(part_read, readings))
        for item in usable(tracked, broken):
            linked.append(item)
            if output is None:
                write_rows(item.links, None)
    if silent := sum(not item.links for item in linked):
        warn(f"no link that is sure enough in {plural(silent, 'conversation')}")
    if output is not None:
        write_rows((link for item in linked for link in item.links), output)
    if report is not None:
        write_text(links_page(linked), report)
    return PARTIAL if broken else DONE


def _stats(files: Sequence[str], invalid: Literal["refuse", "skip"]) -> Output:
    """Show every count beside the printed one; the exit status is 4 if triplets were left out."""
    from grice_tasks.cider.files import read_dialogues
    from grice_tasks.cider.statistics import compare_counts

    dialogues, problems = read_dialogues(*map(Path, files), invalid=invalid)
    for problem in problems:
        warn(problem)
    counts = compare_counts(dialogues)
    rows = [count._asdict() for count in counts]
    return Output(rows, _counts_view(counts), PARTIAL if problems else DONE)


def _counts_view(counts: Sequence[Counted]) -> View:
    marks = {None: "", True: "yes", False: "no"}
    rows = [
        (count.name, _shown(count.value), _shown(count.printed), marks[count.same])
        for count in counts
    ]
    yield Table(("count", "found", "CIDER's paper", "same"), rows)
    yield Lines(f"{count.name}: {count.why}" for count in counts if count.why)


def _shown(value: Value | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)
