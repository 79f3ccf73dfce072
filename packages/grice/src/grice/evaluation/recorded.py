"""Scores that stand in files, taken as if their metrics judged the conversations now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import InputError
from grice.evaluation.health_card import JudgedBy
from grice.evaluation.scores import read_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.records import Conversation, Score


class RecordedScores:
    """The scores of files, by conversation.

    Attributes:
        metrics: What gave them, with the range that occurs: that of another tool is not known.

    Raises:
        InputError: If a file cannot be read, or a metric stands in it under two signatures.
        RecordError: For a line that holds no score.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._scores: dict[str, list[Score]] = {}
        values: dict[str, list[float]] = {}
        first: dict[str, Score] = {}
        for file in files:
            for _, score in read_scores(file):
                other = first.setdefault(score.metric, score)
                if other.signature != score.signature:
                    raise InputError(
                        f"{file}: {score.metric} stands under two signatures, {other.signature} "
                        f"and {score.signature}; judge each by itself"
                    )
                self._scores.setdefault(score.conversation, []).append(score)
                given = values.setdefault(score.metric, [])
                if score.status == "ok" and score.value is not None:
                    given.append(score.value)
        self.metrics = tuple(
            JudgedBy(
                name,
                "response" if score.turn is not None else "conversation",
                score.signature,
                ends=(min(values[name]), max(values[name])) if values[name] else None,
            )
            for name, score in first.items()
        )

    def score(self, conversations: Sequence[Conversation]) -> list[list[Score]]:
        """Return the scores of each conversation; none where the files hold none.

        Raises:
            InputError: If a score is of a turn that its conversation does not have.
        """
        groups = [self._scores.get(talk.id, []) for talk in conversations]
        for talk, scores in zip(conversations, groups, strict=True):
            for score in scores:
                if score.turn is not None and not 0 <= score.turn < len(talk.turns):
                    raise InputError(
                        f"conversation {talk.id!r} has turns 0 to {len(talk.turns) - 1}, and "
                        f"{score.metric} a score of turn {score.turn}: turns are counted from 0, "
                        "and the scores must be of this very file"
                    )
        return groups

    def check_met(self, conversations: Sequence[Conversation]) -> None:
        """Raise :class:`InputError` if no conversation has a score."""
        if not any(talk.id in self._scores for talk in conversations):
            raise InputError(
                "no score is of a conversation of these files: the ids there are "
                f"{_some(talk.id for talk in conversations)}, in the scores {_some(self._scores)}"
            )


def _some(names: Iterable[str]) -> str:
    kept = [repr(name) for name in names]
    return ", ".join(kept[:3]) + (", …" if len(kept) > 3 else "")
