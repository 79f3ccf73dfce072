"""Score replies of many sources by the large heads, as soft labels for smaller models.

    grice models get large-states
    python -m grice_research.recipes.sense.teacher

Windows of conversations are scored in an order drawn by their hash, so that what a stopped run has
scored is a sample of all. A run continues after the labels in ``soft.jsonl.gz``.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from grice import Turn
from grice.data import Response
from grice.models.flaws import FlawHeads
from grice.models.loader import ModelLoader
from grice.perturb.deam import exchanged, opposite
from grice.perturb.wording import words
from grice_research.benches.breakdowns import is_validation
from grice_research.recipes.common import parser_of, rows_of
from grice_research.recipes.relevance.corpora import read_dialogues
from grice_research.recipes.sense.sources import evaluated, is_stated, shortened, written_items

LABELS = Path(__file__).parent / "soft.jsonl.gz"
TURNS = 9  # of a window; every second one is judged, the last one first
DAMAGED = 0.45  # share of the judged replies of people that are damaged
PORTION = 20  # windows that are scored before their labels are written
BOTS = {"dbdc3": "dbdc3/dbdc3_dev.jsonl.gz", "convai2017": "convai2017/convai2017.jsonl.gz"}
PARTS = {"people": 0.5, "bots": 0.25, "written": 0.25}  # shares of the windows


class Window(NamedTuple):
    """Turns of two speakers in alternation, and the places of the judged replies with a kind each.

    The kind is the source of a reply, or how it was damaged.
    """

    part: str
    turns: tuple[str, ...]
    judged: tuple[tuple[int, str], ...]

    @property
    def key(self) -> str:
        return sha256("\n".join((*self.turns, str(self.judged))).encode()).hexdigest()[:16]

    @property
    def validation(self) -> bool:
        """Whether the window is kept back: every tenth, by its first turn."""
        return sha256(self.turns[0].encode()).digest()[0] % 10 == 0

    def responses(self) -> list[Response]:
        """Return the judged replies; the window is one reading, since their speaker is the same."""
        turns = tuple(Turn("ab"[i % 2], text) for i, text in enumerate(self.turns))
        return [
            Response(self.key, i, self.turns[i], turns[i].speaker, turns[:i], tuple(range(i)))
            for i, _ in self.judged
        ]


def people(data: Path) -> Iterator[Window]:
    """Yield windows of conversations of people, with some of the judged replies damaged."""
    draw = Random(0)
    strangers: list[str] = []
    for dialogue in read_dialogues(data):
        if dialogue.held_out or not all(dialogue.by_person):
            continue
        texts = [shortened(turn) for turn in dialogue.turns]
        for start in range(0, len(texts) - 2, TURNS - 1):
            turns = texts[start : start + TURNS]
            judged = []
            for place in range(len(turns) - 1, 0, -2):
                kind = "people"
                if strangers and draw.random() < DAMAGED:
                    wanted = draw.choice(DAMAGES)
                    if reply := damaged(wanted, turns, place, draw, (*texts, *strangers)):
                        kind, turns[place] = wanted, reply
                judged.append((place, kind))
            if judged:
                yield Window("people", tuple(turns), tuple(reversed(judged)))
        strangers = texts


DAMAGES = ("other", "repeated", "opposite", "changed", "scrambled", "dull")
DULL = ("I don't know.", "Okay.", "That's nice.", "I see.", "Sure.", "Maybe.")


def damaged(
    kind: str, turns: list[str], place: int, draw: Random, pool: Sequence[str]
) -> str | None:
    """Return a flawed reply in place of a turn; None if this one cannot be damaged so."""
    if kind == "other":
        return draw.choice(pool)
    if kind == "repeated":
        return turns[draw.randrange(place)]
    if kind == "opposite":
        stated = [text for turn in turns[:place] if (text := opposite(turn, draw))]
        return draw.choice(stated) if stated else None
    if kind == "changed":
        change = exchanged(turns, [words(turn) for turn in turns], place, draw)
        return change.after if change else None
    if kind == "scrambled":
        parts = turns[place].split()
        draw.shuffle(parts)
        return " ".join(parts) if len(parts) > 3 else None
    return draw.choice(DULL)


def bots(data: Path) -> Iterator[Window]:
    """Yield windows that end at replies of chatbots to people."""
    for source, file in BOTS.items():
        for talk in rows_of(data / file):
            meta = talk.get("meta") or {}
            evaluated_talk = source == "dbdc3" and is_validation(talk["id"])
            if not evaluated_talk and not meta.get("amt50"):
                yield from _bot_windows(source, talk["turns"], meta.get("users") or {})


def _bot_windows(
    source: str, turns: Sequence[dict[str, Any]], users: dict[str, str]
) -> Iterator[Window]:
    start = 0
    while start < len(turns) - 1:
        end = start + 1
        while end < min(len(turns), start + TURNS) and (
            turns[end]["speaker"] != turns[end - 1]["speaker"]
        ):
            end += 1
        window = turns[start:end]
        if users:
            replies = [i for i, turn in enumerate(window) if users.get(turn["speaker"]) == "Bot"]
        else:
            replies = [i for i, turn in enumerate(window) if turn["speaker"] == "system"]
        replies = [i for i in replies if i]
        texts = tuple(shortened(turn["text"]) for turn in window)
        if replies and all(b - a == 2 for a, b in pairwise(replies)) and all(texts):
            yield Window("bots", texts, tuple((i, source) for i in replies))
        start = max(end - 1, start + 1)


def written(_: Path) -> Iterator[Window]:
    """Yield the readings of the items written for this recipe, without those kept back."""
    for item in written_items():
        if not item.validation:
            for history, reply in item.readings:
                yield Window("written", (*history, reply), ((len(history), item.kind),))


def windows(data: Path) -> list[Window]:
    """Return all windows in the order in which they are scored."""
    stated = evaluated(data)
    clean = re.compile(r"\w").search
    ordered: list[tuple[float, Window]] = []
    for part, source in (("people", people), ("bots", bots), ("written", written)):
        found = {
            window.key: window
            for window in source(data)
            if all(map(clean, window.turns))
            and not any(is_stated(turn, stated) for turn in window.turns)
        }
        for rank, key in enumerate(sorted(found)):
            ordered.append((rank / PARTS[part], found[key]))
    return [window for _, window in sorted(ordered, key=lambda pair: (pair[0], pair[1].key))]


def labels(path: Path = LABELS) -> dict[str, list[list[float]]]:
    """Return by key of a window the log odds of each flaw of its judged replies."""
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="ascii") as lines:
        return dict(map(json.loads, lines))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", default="builtin:sense-large")
    parser.add_argument("--most", type=int, default=20_000, help="windows to score")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    known = labels()
    due = [window for window in windows(given.data)[: given.most] if window.key not in known]
    models = ModelLoader(mode="fast", workers=given.threads)
    heads = models.load(given.model, FlawHeads)
    for first in range(0, len(due), PORTION):
        batch = due[first : first + PORTION]
        responses = [response for window in batch for response in window.responses()]
        odds = iter(heads.log_odds(responses).round(2).tolist())
        with gzip.open(LABELS, "at", encoding="ascii") as out:
            for window in batch:
                found = [next(odds) for _ in window.judged]
                out.write(json.dumps([window.key, found]) + "\n")
        print(json.dumps({"left": len(due) - first - len(batch)}), flush=True)
    models.close()


if __name__ == "__main__":
    main()
