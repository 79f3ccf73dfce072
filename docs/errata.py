"""Write ``docs/errata.md``: published figures that the released files do not give.

    python docs/errata.py --data ../shared/data

Taken from the recorded runs of the benches (``docs/results/``) and counted in the released files;
nothing on the page is typed. A test holds it current where ``GRICE_DATA`` is set.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grice.stats.estimate import FEW
from grice_research.convai import ENGAGING, read_chats
from grice_research.runs import read_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_research.convai import Chat
    from grice_research.runs import Run

HERE = Path(__file__).parent
PAGE = HERE / "errata.md"
RUNS = HERE / "results"

HEAD = """\
# Errata of the field

Published figures of dialogue evaluation that differ from what the authors' released files give.
Made by `python docs/errata.py --data DIR` from the runs in `docs/results` and from the released
files; each section names the command that shows it. An erratum is no reproach: it can be found
only because the authors released what they had.
"""


def page(data: Path) -> str:
    """Return the page.

    Args:
        data: Folder of the data sets.
    """
    runs = read_runs(RUNS)
    parts = [HEAD, *_cells(runs), *_labels(read_chats(data)), *_overlap(data), *_baselines(runs)]
    return "\n".join(parts).rstrip() + "\n"


def _cells(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Printed cells that the released scores do not give\n"
    yield "| bench | table | row | measure | n | printed | from the released scores |"
    yield "|---|---|---|---|---|---|---|"
    checked: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for run in runs:
        for figure in run.figures:
            if figure.kind != "printed" or figure.published is None or figure.value is None:
                continue
            key = _joined(", ", run.bench, figure.table)
            checked[key] += 1
            if figure.verdict == "not recomputed":
                other[key] += 1
                yield (
                    f"| {run.bench} | {figure.table or '–'} | {figure.row} | "
                    f"{_joined(' on ', figure.measure, figure.on)} | {figure.n:,} | "
                    f"{figure.published:g} | {figure.value:.3f} |"
                )
    yield ""
    for key, count in other.items():
        yield f"- {key}: {count} of {checked[key]} printed cells differ."
    clean = [key for key in checked if key not in other]
    yield (
        f"- The other {sum(checked[key] for key in clean)} cells whose scores were released, in "
        f"{len(clean)} tables, are given to the last printed digit."
    )
    yield "\nSee it: `grice bench predictive_engagement survey` (verdict `not recomputed`).\n"


def _labels(chats: Sequence[Chat]) -> Iterator[str]:
    bots = [chat for chat in chats if chat.with_bot]
    zeros = sum(chat.published == 0 for chat in bots)
    other = sum((c.published >= ENGAGING) != (c.corrected >= ENGAGING) for c in chats)
    good = sum(chat.corrected >= ENGAGING for chat in bots)
    yield "## Engagement labels under the wrong party (predictive engagement, tables 3.1 to 3.4)\n"
    yield (
        "In ConvAI 2017 a rating is filed under the id of the participant who was rated. The "
        "published labels take, of a human and a bot, the entry under the human's id: what the "
        "bot said of the human. A bot rates nobody, so the entry is 0.\n"
    )
    yield (
        f"- Of {len(bots):,} human-bot conversations in use, {zeros:,} are labelled 0 and none "
        f"engaging; by the human's own rating {good:,} are."
    )
    yield (
        f"- {other:,} of {len(chats):,} conversations have the other label once the right entry "
        f"is read."
    )
    yield (
        "- The classifier trained on these labels discriminates people from bots, and table 3.3 "
        "compares with conversation scores that are 0 for each conversation with a bot.\n"
    )
    yield "| engagement | conversations, as published | with the human's rating |"
    yield "|---|---|---|"
    published = Counter(chat.published for chat in chats)
    corrected = Counter(chat.corrected for chat in chats)
    for rating in sorted({*published, *corrected}):
        yield f"| {rating} | {published[rating]:,} | {corrected[rating]:,} |"
    yield "\nSee it: `grice bench engagement` (rows `table 3.1` and `corrected`).\n"


def _overlap(data: Path) -> Iterator[str]:
    train, test = (_talks(data / f"dailydialog/{part}.jsonl.gz") for part in ("train", "test"))
    known = set(train)
    pairs = {two for talk in train for two in pairwise(talk)}
    asked = {two for talk in test for two in pairwise(talk)}
    utterances = {text for talk in train for text in talk}
    rated = [
        row
        for row in _rows(data / "predictive_engagement/rated_600.jsonl.gz")
        if row["set"] == "human"
    ]
    queries = sum(_plain(row["query"]) in utterances for row in rated)
    verbatim = sum((_plain(row["query"]), _plain(row["reply"])) in pairs for row in rated)
    yield "## Test conversations that occur in the training part (DailyDialog)\n"
    yield (
        f"- {sum(talk in known for talk in test):,} of {len(test):,} test conversations equal a "
        f"training conversation (lower case, letters and digits)."
    )
    yield (
        f"- {len(asked & pairs):,} of {len(asked):,} distinct pairs of neighbouring test turns "
        f"({len(asked & pairs) / len(asked):.1%}) occur in the training part."
    )
    yield (
        f"- Of the {len(rated):,} rated queries of RUBER and predictive engagement {queries:,} "
        f"occur there, {verbatim:,} of the rated human pairs word for word."
    )
    yield "\nSee it: `python docs/errata.py --data DIR`, which counts this.\n"


def _baselines(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Best printed figures not significantly above a trivial baseline\n"
    yield (
        "Columns of ten items or more in which the 95 % interval (Zou 2007) of the difference "
        "between the best printed metric and a trivial baseline includes zero, even if the two "
        "agree with 0.8.\n"
    )
    yield "| bench | table | column | n | best printed | baseline |"
    yield "|---|---|---|---|---|---|"
    for run in runs:
        for win in run.wins:
            if win.over_baseline == "no" and win.baseline_value is not None and win.n >= FEW:
                yield (
                    f"| {run.bench} | {win.table} | {win.measure} on {win.on} | {win.n:,} | "
                    f"{win.best} {win.published:g} | {win.baseline} {win.baseline_value:.3f} |"
                )
    count = sum(len(run.wins) for run in runs)
    sure = sum(win.over_second == "yes" for run in runs for win in run.wins)
    yield (
        f"\nOf {count} columns the best printed metric is significantly above the second best in "
        f"{sure}. See it: `grice bench all`.\n"
    )


def _joined(between: str, *parts: str) -> str:
    return between.join(part for part in parts if part)


def _talks(path: Path) -> list[tuple[str, ...]]:
    return [tuple(_plain(turn["text"]) for turn in row["turns"]) for row in _rows(path)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _plain(text: str) -> str:
    lowered = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    return " ".join(re.findall(r"[a-z0-9]+", lowered))


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Write docs/errata.md.")
    parser.add_argument("--data", type=Path, default=os.environ.get("GRICE_DATA"))
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data sets: --data DIR, or GRICE_DATA")
    PAGE.write_text(page(Path(options.data)), "utf-8")


if __name__ == "__main__":
    main()
