"""Label each reply with the issues of a taxonomy, from scores.

Nothing is scored here. A metric says an issue of a reply where its value is below a threshold, as
the thesis turns metrics into lists of 0 and 1 (table 6.2).
"""

from __future__ import annotations

import math
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from grice.errors import InputError
from grice.evaluation.scores import by_conversation, read_scores
from grice.records import FeatureEvidence
from grice.stats.systems import proportion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grice.records import Score
    from grice.stats.estimate import Estimate

DETA = "deta"
HALF = 0.5
TOP = 20


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that may be wrong with a reply.

    Attributes:
        question: The question that a judge answers.
        metrics: Those that look for it, or ``METRIC.FEATURE`` for a figure of the evidence that is
            the probability of the issue; the first that judged a reply labels it.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    question: str
    metrics: tuple[str, ...]


class LabelledReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reply with its labels.

    Attributes:
        labels: Whether it has each issue; an issue is missing that no metric judged.
    """

    conversation: str
    turn: int
    labels: dict[str, bool]
    values: dict[str, float]
    file: str | None = None

    @property
    def issues(self) -> list[str]:
        """The issues that it has."""
        return [name for name, has in self.labels.items() if has]


class IssueCount(msgspec.Struct, frozen=True):
    """How often an issue was labelled.

    Attributes:
        metrics: On how many replies each metric decided.
    """

    issue: str
    metrics: dict[str, int]
    share: Estimate | None


class Issues(msgspec.Struct, frozen=True):
    """The labels of a run.

    Attributes:
        items: The replies with most issues, the lowest values first among equals.
    """

    replies: int
    counts: tuple[IssueCount, ...]
    none: Estimate | None
    items: tuple[LabelledReply, ...]
    threshold: float


class _Taxonomy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    issue: tuple[Issue, ...]


def read_taxonomy(name: str = DETA) -> tuple[Issue, ...]:
    """Return the issues of a taxonomy: ``deta``, or a file of one's own in the same layout."""
    shipped = resources.files("grice") / "data" / f"{DETA}.toml"
    path = shipped if name == DETA else Path(name)
    try:
        issues = msgspec.toml.decode(path.read_bytes(), type=_Taxonomy).issue
    except FileNotFoundError:
        raise InputError(f"{name}: no such taxonomy; {DETA} ships, else name a file") from None
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{name}: no taxonomy of issues: {error}") from None
    names = [issue.name for issue in issues]
    if not names or len(set(names)) < len(names):
        raise InputError(f"{name}: at least one [[issue]] is needed, each name once")
    return issues


def issues_of(
    scores: str,
    taxonomy: Sequence[Issue],
    *,
    threshold: float = HALF,
    top: int = TOP,
) -> tuple[Issues, list[LabelledReply]]:
    """Return the labels of the replies of a file of scores, summed up and one by one."""
    if not math.isfinite(threshold):
        raise InputError(f"a threshold is a finite number, found {threshold}")
    lines = (score for _, score in read_scores(scores) if score.turn is not None)
    replies: list[LabelledReply] = []
    used = {issue.name: Counter[str]() for issue in taxonomy}
    for group in by_conversation(lines):
        by_turn: dict[int, list[Score]] = {}
        for score in group:
            by_turn.setdefault(score.turn or 0, []).append(score)
        for turn, said in sorted(by_turn.items()):
            if reply := _labelled(turn, said, taxonomy, threshold, used):
                replies.append(reply)
    if not replies:
        wanted = ", ".join(dict.fromkeys(m.partition(".")[0] for i in taxonomy for m in i.metrics))
        raise InputError(f"{scores}: no reply has a score of any of {wanted}")
    worst = sorted(replies, key=lambda each: (-len(each.issues), sum(each.values.values())))
    counts = tuple(
        IssueCount(
            issue.name,
            dict(used[issue.name]),
            _share((r, r.labels[issue.name]) for r in replies if issue.name in r.labels),
        )
        for issue in taxonomy
    )
    none = _share((reply, not reply.issues) for reply in replies)
    return Issues(len(replies), counts, none, tuple(worst[:top]), threshold), replies


def _labelled(
    turn: int,
    scores: Sequence[Score],
    taxonomy: Sequence[Issue],
    threshold: float,
    used: dict[str, Counter[str]],
) -> LabelledReply | None:
    values: dict[str, float] = {}
    by_metric = {score.metric: score for score in scores if score.status == "ok"}
    for issue in taxonomy:
        for name in issue.metrics:
            if (value := _value(by_metric, name)) is not None:
                values[issue.name] = value
                used[issue.name][name] += 1
                break
    labels = {name: value < threshold for name, value in values.items()}
    file = scores[0].meta.get("file")
    where = None if file is None else str(file)
    return LabelledReply(scores[0].conversation, turn, labels, values, where) if values else None


def _value(by_metric: dict[str, Score], name: str) -> float | None:
    metric, _, feature = name.partition(".")
    score = by_metric.get(metric)
    if score is None or not feature:
        return None if score is None else score.value
    pieces = (piece for piece in score.evidence if isinstance(piece, FeatureEvidence))
    return next((1 - piece.value for piece in pieces if piece.name == feature), None)


def _share(labels: Iterable[tuple[LabelledReply, bool]]) -> Estimate | None:
    hits, sizes = Counter[tuple[str | None, str]](), Counter[tuple[str | None, str]]()
    for reply, has in labels:
        talk = (reply.file, reply.conversation)
        hits[talk] += has
        sizes[talk] += 1
    return proportion([hits[talk] for talk in sizes], list(sizes.values()))
