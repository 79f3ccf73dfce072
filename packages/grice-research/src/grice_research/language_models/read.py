"""What a reader said of what a language model wrote: facts that can be read, sentences that hold.

Of each model twenty graphs and twenty pairs of sentences were read, by one reader. A judgement
counts only for the very text that was read: after a change of model or prompt there is none.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grice_research.language_models.samples import Size

__all__ = ["Task", "judged_shares"]

Task: TypeAlias = Literal["facts", "explains", "sentences"]
"""``facts``: of a graph those that say something a person understands and that is not false;
``explains``: the graph explains the gold stance; ``sentences``: of a pair those that are true, of a
longer text the first two, which are all that MATCH reads."""

FILE = "language_model_read.tsv"


def judged_shares(task: Task, model: Size, written: Iterable[tuple[str, str]]) -> list[float]:
    """Return the share that was judged good of each text that was read, 0 to 1.

    Args:
        task: What was judged.
        model: Whose texts.
        written: Names of samples with what was written.
    """
    content = (resources.files("grice_research") / "data" / FILE).read_text("utf-8")
    known = {
        (row["task"], row["model"], row["id"], row["text"]): int(row["good"]) / int(row["of"])
        for row in csv.DictReader(content.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    }
    keys = [(task, model, *each) for each in written]
    return [known[key] for key in keys if key in known]
