"""What the joint network learns from: each dialogue with its tokens and its rows of all tasks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from grice.knowledge.schema import load_schema
from grice_research.recipes.triplets.data import WORK
from grice_research.triplets.cider import load_cider


class Question(NamedTuple):
    """A question on a dialogue: span and relation asked, good token spans, the asked one first."""

    span: int
    relation: int
    good: tuple[tuple[int, int], ...]
    tail: str


class Dialogue(NamedTuple):
    """A dialogue as rows: token offsets, rows of the tasks, and which spans stand where."""

    name: str
    text: str
    ids: list[int]
    starts: np.ndarray
    ends: np.ndarray
    nli: np.ndarray
    choice: np.ndarray
    questions: list[Question]


class Rows(NamedTuple):
    """``rows.npz``, with the tokens that each span takes."""

    pairs: np.ndarray
    structure: np.ndarray
    nli: np.ndarray
    choice: np.ndarray
    more: np.ndarray
    tokens: np.ndarray
    places: np.ndarray


def load_material(data: Path, model: Path) -> tuple[Rows, list[Dialogue], dict[str, int]]:
    """Return the rows of all tasks by dialogue."""
    kept = np.load(WORK / "rows.npz")
    cider = load_cider(data / "cider")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    relations = {name: i for i, name in enumerate(load_schema("cider").relations)}
    names, of_span = [str(name) for name in kept["names"]], kept["dialogue"]
    by_nli = of_span[kept["pairs"][kept["nli"][:, 0], 0]]
    by_choice = of_span[kept["pairs"][kept["choice"][:, 0], 0]]
    spans_of = [np.flatnonzero(of_span == i) for i in range(len(names))]
    tokens = np.zeros((len(of_span), 2), int)
    asked: dict[str, list] = {}
    for question in cider.questions():
        asked.setdefault(question.item.dialogue, []).append(question)
    dialogues = []
    for number, name in enumerate(names):
        text = cider.text(name)
        read = tokenizer.encode(text)
        ids, offsets = read.ids[:512], np.array(read.offsets)[:512]
        starts, ends = offsets[1:-1, 0], offsets[1:-1, 1]
        for span in spans_of[number]:
            place = kept["places"][span]
            tokens[span] = (0, 1) if place[0] < 0 else taken(starts, ends, *place)
        placed = {text[a:b]: i for i, (a, b) in
                  ((i, kept["places"][i]) for i in spans_of[number])}  # fmt: skip
        questions = []
        for question in asked.get(name, ()):
            tail = question.item.tail.strip()
            good = [taken(starts, ends, question.start, question.start + len(tail))]
            good += [tuple(tokens[placed[other]]) for other in question.valid if other in placed]
            questions.append(
                Question(placed[question.item.head.strip()], relations[question.item.relation],
                         tuple(dict.fromkeys(good)), tail)
            )  # fmt: skip
        dialogues.append(
            Dialogue(name, text, ids, offsets[:, 0], offsets[:, 1],
                     np.flatnonzero(by_nli == number), np.flatnonzero(by_choice == number),
                     questions)
        )  # fmt: skip
    numbers = kept["structure"].astype(np.float32)
    rows = Rows(kept["pairs"], numbers, kept["nli"], kept["choice"], kept["more"], tokens,
                kept["places"])  # fmt: skip
    return rows, dialogues, cider.folds


def taken(starts: np.ndarray, ends: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """Return first token of a stretch and the one behind, in a text that begins with a mark."""
    first = int(np.searchsorted(ends, start, side="right"))
    return first + 1, max(first + 1, int(np.searchsorted(starts, end, "left"))) + 1
