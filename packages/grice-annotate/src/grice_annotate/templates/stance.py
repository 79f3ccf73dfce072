"""Stance pairs with the model in the loop (HAMLET, as ExplaGraphs collects beliefs and arguments).

A writer is given a topic and a stance, and tries to write a belief and an argument of that stance
that the model takes for the other one; after so many tries the last pair is taken as it is. For a
topic without a stance (before HAMLET) they write a belief, an argument that supports it and one
that counters it, without a model. Others say the stance, and the majority is kept.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grice.errors import plural
from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._template import Followed, Judged, Page, Submitted, fields
from grice_annotate.templates._verdicts import majority, verdicts
from grice_tasks.lines import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Settings

ABOUT = "write beliefs and arguments, perhaps to fool a model; others check the stance"
OPTIONS = frozenset({"model", "tries"})
WRITE, CHECK = "write", "check"
STANCES = ("support", "counter", "neutral")
LONGEST = 500
"""Characters of a belief or an argument."""


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A topic to write of, for one stance or both, or a pair to check."""

    id: str
    topic: str = ""
    stance: str | None = None
    belief: str = ""
    argument: str = ""

    def __post_init__(self) -> None:
        if self.stance not in (None, *STANCES[:2]):
            raise ValueError("stance is support or counter")
        if not (self.topic or (self.belief and self.argument)):
            raise ValueError("expected a topic, or a belief and an argument")


def read(files: Sequence[str], settings: Settings) -> Iterator[Task]:
    """Yield a task for each topic or pair."""
    for file in files:
        for _line, row in read_rows(Path(file), _Row):
            if row.belief:
                yield _check(row, row.id, settings.judges)
                continue
            content = msgspec.to_builtins(row)
            yield Task(key=row.id, group=row.id, content=content, stage=WRITE, judges=1)


def _check(pair: _Row, group: str, judges: int = 0, writers: tuple[int, ...] = ()) -> Task:
    """Return the check of a pair by judges, who are not told the stance."""
    return Task(
        key=f"{pair.id}:check",
        group=group,
        content={"id": pair.id, "belief": pair.belief, "argument": pair.argument},
        stage=CHECK,
        judges=judges,
        expected=pair.stance,
        excluded=writers,
    )


def _pairs(topic: _Row, value: Json) -> list[_Row]:
    """Return the pairs of a written answer: the one that was asked for, or one of each stance."""
    written = {name: str(text) for name, text in fields(value).items()}
    belief = written["belief"]
    if topic.stance:
        return [_Row(topic.id, topic.topic, topic.stance, belief, written["argument"])]
    return [
        _Row(f"{topic.id}:{each}", topic.topic, each, belief, written[each]) for each in STANCES[:2]
    ]


def page(page: Page) -> dict[str, Any]:
    """Return the stances and the tries."""
    tries = _tries(page.draft)
    return {"stances": STANCES, "tries": tries, "left": page.settings.tries - len(tries)}


def _tries(draft: Json) -> list[dict[str, Json]]:
    tries = draft.get("tries") if isinstance(draft, dict) else None
    return [each for each in tries if isinstance(each, dict)] if isinstance(tries, list) else []


def answer(submitted: Submitted) -> Json:
    """Return the pair with its tries, or a stance."""
    form, page = submitted.form, submitted.page
    if page.task.stage == CHECK:
        stance = form.get("stance", [""])[0]
        if stance not in STANCES:
            raise AnswerError("say which stance the argument takes to the belief")
        return stance
    asked = msgspec.convert(page.task.content, _Row).stance
    names = ("belief", "argument") if asked else ("belief", *STANCES[:2])
    texts: dict[str, Json] = {name: " ".join(form.get(name, [""])[0].split()) for name in names}
    if not all(0 < len(str(text)) <= LONGEST for text in texts.values()):
        raise AnswerError(f"write {', '.join(names)}: each has 1 to {LONGEST} characters")
    if asked is None:
        return texts
    tried = {**texts, "predicted": None}
    tries = page.attempt(tried) if page.attempt else [tried]
    last = tries[-1]
    predicted, left = last["predicted"], page.settings.tries - len(tries)
    fooled = predicted not in (None, asked)
    if predicted is not None and not fooled and left > 0:
        raise AnswerError(
            f"The model was right: it says {predicted}. Change the pair; you have "
            f"{plural(left, 'try', 'tries')} left."
        )
    return {
        "belief": last["belief"],
        "argument": last["argument"],
        "fooled": fooled,
        "tries": [*tries],
    }


def follow(task: Task, answers: Sequence[Answer], settings: Settings) -> Followed:
    """Return the check of each written pair by others than its writer."""
    if task.stage == CHECK:
        return Followed()
    answer, topic = answers[-1], msgspec.convert(task.content, _Row)
    pairs = _pairs(topic, answer.value)
    return Followed(
        tasks=tuple(_check(pair, task.group, settings.judges, (answer.judge,)) for pair in pairs)
    )


def record(item: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield each pair whose judges agree on a stance, as a line of training data.

    A pair that most take for neutral is left out, as in the paper, and one without a majority.
    """
    first, values = item[0]
    checks = {judged.task.key: judged for judged in item if judged.task.stage == CHECK}
    pairs = [msgspec.convert(first.content, _Row)]
    written: dict[str, Json] = {}
    if first.stage == WRITE:
        name, value = next(iter(values.items()))
        pairs = _pairs(pairs[0], value)
        said = {key: each for key, each in fields(value).items() if key not in STANCES}
        written = {"topic": pairs[0].topic, "annotator": name, **said}
    for pair in pairs:
        task, stances = checks.get(f"{pair.id}:check") or Judged(first, {})
        agreed = task.adjudicated or majority([str(stance) for stance in stances.values()])
        if agreed not in STANCES[:2] or len(stances) < task.judges:
            yield {}
            continue
        texts = {"id": pair.id, "belief": pair.belief, "argument": pair.argument}
        votes: dict[str, Json] = {"asked": task.expected, "stances": dict(stances)}
        yield {**texts, "stance": agreed, **votes, **written}


columns = partial(verdicts, "stance", CHECK, STANCES)
