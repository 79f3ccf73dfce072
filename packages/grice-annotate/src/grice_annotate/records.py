"""Records of a study: settings, tasks, answers and judges."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from grice.data import Json

Order: TypeAlias = Literal["seed", "input", "review"]
QUIZ = "quiz:"
"""Begins the group of an item of the quiz, before the number of its level."""
Form: TypeAlias = dict[str, list[str]]
"""The fields of a submitted page, each with its values."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a study, fixed when it is created.

    Attributes:
        judges: How many distinct judges answer a task.
        aspects: What a rating template asks about.
        scale: Lowest and highest rating.
        relations: Relations a tuple template asks for; empty is all.
        check_every: Tasks between two attention checks; 0 turns them off.
        minutes: Time for a task, after which it goes back to the pool.
        tries: How often a writer may try to fool the model.
        pass_mark: Share of right answers in each level of the quiz that lets a judge take part.
        refiners: Number of the best writers, who refine, or below 1 their share; None for all.
        model: The model that writers try to fool.
        predictions: A file with the graphs of a system, which are verified.
        order: In which order tasks are given.
        seed: Of the order, the sides and who sees proposals.
    """

    judges: int = 3
    aspects: tuple[str, ...] = ("overall",)
    scale: tuple[int, int] = (1, 5)
    guideline: str = ""
    relations: tuple[str, ...] = ()
    check_every: int = 10
    minutes: float = 30.0
    pass_mark: float = 0.8
    refiners: float | None = None
    tries: int = 3
    model: str | None = None
    predictions: str | None = None
    order: Order = "seed"
    seed: int = 0


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task on one page.

    Attributes:
        key: Names what is judged, as the input does.
        group: The conversation (cluster) it belongs to.
        content: What the page shows, in the template's own form.
        stage: Which page of the template.
        judges: How many answers it needs; 0 for an attention check, which everybody may be given.
        expected: The right answer, where it is known.
        proposal: An answer that a metric or an extractor proposes.
        excluded: Judges who must not see it.
        parent: The task that it follows.
        adjudicated: What the owner settled on.
    """

    id: int = 0
    key: str
    group: str
    content: Json
    stage: str
    judges: int
    expected: Json = None
    proposal: Json = None
    excluded: tuple[int, ...] = ()
    parent: int | None = None
    adjudicated: Json = None

    @property
    def quiz(self) -> bool:
        """Whether it is an item of the quiz, which judges answer before all others."""
        return not self.judges and self.group.startswith(QUIZ)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a judge to a task.

    Attributes:
        seconds: From the page to the answer; None if the clock was set back meanwhile.
        saved: Seconds since 1970.
        proposed: Whether the judge was shown a proposal.
        set_aside: Whether it counts no longer: the judge failed an attention check, or the owner
            said so.
    """

    task: int
    judge: int = 0
    value: Json
    seconds: float | None = None
    saved: float = 0.0
    proposed: bool = False
    set_aside: bool = False


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A person with a link of their own; the owner of the study has one, too."""

    id: int
    name: str
    token: str
    owner: bool = False
    proposals: bool = False


class AnswerError(Exception):
    """An answer that is not taken; the message says what to do."""
