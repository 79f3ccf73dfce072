"""Stance pairs with the model in the loop (HAMLET, as ExplaGraphs collects beliefs and arguments).

A writer is given a topic and a stance, and tries to write a belief and an argument of that stance
that the model takes for the other one; after so many tries the last pair is taken as it is. Others
say the stance, and the majority is kept.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grice.errors import plural
from grice_annotate.records import AnswerError, Task
from grice_annotate.templates._template import Followed, Judged, Page, Submitted, Template
from grice_annotate.templates._verdicts import majority, verdicts
from grice_tasks.lines import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.data import Json
    from grice_annotate.records import Answer, Settings

WRITE, CHECK = "write", "check"
STANCES = ("support", "counter", "neutral")
LONGEST = 500
"""Characters of a belief or an argument."""


class _Topic(msgspec.Struct, frozen=True):
    """Content of a writing task."""

    id: str
    topic: str
    stance: str

    def __post_init__(self) -> None:
        if self.stance not in STANCES[:2]:
            raise ValueError("stance is support or counter")


class _Pair(msgspec.Struct, frozen=True):
    """Content of a verification task."""

    id: str
    belief: str
    argument: str


def _read(files: Sequence[str], _: Settings) -> Iterator[Task]:
    for file in files:
        for _line, topic in read_rows(Path(file), _Topic):
            content = msgspec.to_builtins(topic)
            yield Task(key=topic.id, group=topic.id, content=content, stage=WRITE, judges=1)


def _page(page: Page) -> dict[str, Any]:
    tries = _tries(page.draft)
    return {"stances": STANCES, "tries": tries, "left": page.settings.tries - len(tries)}


def _tries(draft: Json) -> list[dict[str, Json]]:
    tries = draft.get("tries") if isinstance(draft, dict) else None
    return [each for each in tries if isinstance(each, dict)] if isinstance(tries, list) else []


def _answer(submitted: Submitted) -> Json:
    """Return the pair with its tries, or a stance."""
    form, page = submitted.form, submitted.page
    if page.task.stage == CHECK:
        stance = form.get("stance", [""])[0]
        if stance not in STANCES:
            raise AnswerError("say which stance the argument takes to the belief")
        return stance
    belief, argument = (
        " ".join(form.get(name, [""])[0].split()) for name in ("belief", "argument")
    )
    if not belief or not argument or max(len(belief), len(argument)) > LONGEST:
        raise AnswerError(f"write a belief and an argument, each of at most {LONGEST} characters")
    tried: dict[str, Json] = {"belief": belief, "argument": argument, "predicted": None}
    tries = page.attempt(tried) if page.attempt else [tried]
    last = tries[-1]
    predicted, left = last["predicted"], page.settings.tries - len(tries)
    fooled = predicted not in (None, msgspec.convert(page.task.content, _Topic).stance)
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


def _follow(task: Task, answers: Sequence[Answer], settings: Settings) -> Followed:
    """Return the check of a written pair by others than its writer."""
    if task.stage == CHECK:
        return Followed()
    answer = answers[-1]
    written = answer.value if isinstance(answer.value, dict) else {}
    pair = _Pair(task.key, str(written.get("belief")), str(written.get("argument")))
    checked = Task(
        key=f"{task.key}:check",
        group=task.group,
        content=msgspec.to_builtins(pair),
        stage=CHECK,
        judges=settings.judges,
        excluded=(answer.judge,),
    )
    return Followed(tasks=(checked,))


def _record(item: Sequence[Judged]) -> dict[str, Json]:
    """Return the pair with the stance that was asked for and the one that most people see."""
    topic = msgspec.convert(item[0].task.content, _Topic)
    name, value = next(iter(item[0].values.items()))
    written = value if isinstance(value, dict) else {}
    stances = dict(item[1].values) if len(item) > 1 else {}
    agreed = majority([str(stance) for stance in stances.values()])
    return {
        "id": topic.id,
        "topic": topic.topic,
        **written,
        "stance": agreed,
        "asked": topic.stance,
        "annotator": name,
        "stances": dict(stances),
    }


TEMPLATE = Template(
    name="stance",
    about="write beliefs and arguments that a model gets wrong; others check the stance",
    read=_read,
    answer=_answer,
    record=_record,
    columns=partial(verdicts, "stance", CHECK),
    options=frozenset({"model", "tries"}),
    page=_page,
    follow=_follow,
)
