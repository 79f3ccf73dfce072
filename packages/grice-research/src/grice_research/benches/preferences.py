"""Pairs of replies of language models, one of which people prefer: is a metric's preference theirs?

It is right about a pair if the preferred reply scores higher; ties count half, so that 0.5 is
chance. People prefer the longer reply of most pairs, so pairs in which they do stand apart from
those in which they do not: who only counts words is right in all of the first and none of the
second. In RM-Bench one reply is the other with an error put in, in three styles; in its hard part
the right one is the shorter, in its easy part the longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from grice.errors import InputError
from grice.metrics.registry import find_metrics
from grice.records import Conversation, Turn
from grice.stats import mean
from grice_research.benches._turns import FETCHED, missing_model, quality_metrics
from grice_research.recipes.sense.sources import lines_of
from grice_research.rows import DIFFERENCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grice_research.context import BenchContext

TITLE = "Replies of language models that people prefer"
PAPER = (
    "PandaLM (Wang et al., ICLR 2024), Auto-J (Li et al., ICLR 2024), LLMEval2 (Zhang et al. "
    "2023), RM-Bench (Liu et al., ICLR 2025)"
)
SETS = {
    "pandalm_test": "PandaLM",
    "autoj_pairwise": "Auto-J, conversation",
    "llmeval2": "LLMEval2",
    "rm_bench_chat": "RM-Bench",
}
CONVERSATION = frozenset(
    (
        "chitchat", "roleplay", "advice", "recommendation", "value_judgement", "open_question",
        "counterfactual",
    )
)  # fmt: skip
"""Kinds of Auto-J's prompts that are like a conversation; the others ask for essays, code, sums."""
EMPTY = frozenset(("", "<nooutput>"))
LENGTH, COSINE = "log_length", "cosine_last_turn"
FLAWS = "sense"
"""It looks for flaws, of which people's preference is one sign."""
BLEND = "mean of the default metrics"
"""What ``grice rerank`` chooses by."""
RIGHT = "share right"
ON = "|on:llm_pairs"
NEAR = 1.1
"""Lengths are alike up to this ratio."""


class Preferred(NamedTuple):
    """A prompt, the reply that is preferred, and the other one.

    Attributes:
        group: The prompt: pairs of one prompt are drawn together.
        category: Kind of the pair, as its set names it.
    """

    corpus: str
    group: str
    category: str
    context: tuple[Turn, ...]
    chosen: str
    rejected: str


def read_preferred(folder: Path, names: Iterable[str] = SETS) -> list[Preferred]:
    """Return the decided pairs of sets, without those that hold an empty reply."""
    return [
        pair
        for name in names
        for row in lines_of(folder / "llm_pairs" / f"{name}.jsonl.gz")
        if not row.get("tie")
        and (pair := _pair(name, row)) is not None
        and not EMPTY & {pair.chosen.strip(), pair.rejected.strip()}
    ]


def _pair(name: str, row: dict[str, Any]) -> Preferred | None:
    category = str(row.get("category", ""))
    if name == "autoj_pairwise" and category.lower().replace(" ", "_") not in CONVERSATION:
        return None
    turns = tuple(Turn(turn["speaker"], turn["text"]) for turn in row["context"])
    group = f"{name} {turns[-1].text}"
    return Preferred(SETS[name], group, category, turns, row["chosen"], row["rejected"])


def parts_of(pair: Preferred) -> Iterator[str]:
    """Yield the parts of its set that a pair belongs to."""
    yield pair.corpus
    if pair.corpus == SETS["rm_bench_chat"]:
        yield f"{pair.corpus}: {pair.category}"
        return
    chosen, rejected = len(pair.chosen.split()), len(pair.rejected.split())
    if max(chosen, rejected) <= NEAR * min(chosen, rejected):
        yield f"{pair.corpus}: lengths within a tenth"
    elif chosen > rejected:
        yield f"{pair.corpus}: people prefer the longer"
    else:
        yield f"{pair.corpus}: people prefer the shorter"


def measure(context: BenchContext) -> Iterator[Row]:
    """Yield how often each metric prefers what people prefer, by set and part."""
    pairs = read_preferred(context.folder, [name for name in SETS if name not in context.without])
    metrics = [name for name in quality_metrics("response") if name != LENGTH]
    metrics += [FLAWS]
    metrics += [name for name in FETCHED if not missing_model(context, name)]
    values = {name: _values(context, name, pairs) for name in (*metrics, LENGTH, COSINE)}
    signatures = {name: f"{context.grader(name)[1][name]}{ON}" for name in values}
    defaults = list(find_metrics().defaults())
    for name in defaults:
        values.setdefault(name, _values(context, name, pairs))
    right = {name: _right(values[name]) for name in signatures}
    blend = [sum(each) / len(defaults) for each in zip(*(values[n] for n in defaults), strict=True)]
    right[BLEND] = _right(blend)
    signatures[BLEND] = "+".join(context.grader(name)[1][name] for name in defaults) + ON
    for part in dict.fromkeys(part for pair in pairs for part in parts_of(pair)):
        places = [place for place, pair in enumerate(pairs) if part in parts_of(pair)]
        yield from _rows(right, part, places, pairs, signatures)


def _rows(
    right: Mapping[str, Sequence[float]],
    part: str,
    places: Sequence[int],
    pairs: Sequence[Preferred],
    signatures: Mapping[str, str],
) -> Iterator[Row]:
    groups = [pairs[place].group for place in places]
    for name, column in right.items():
        is_ours = name not in {LENGTH, COSINE}
        share = mean([column[place] for place in places], groups=groups, bounds=(0, 1))
        yield Row(
            row=name,
            measure=RIGHT,
            estimate=share,
            kind="ours" if is_ours else "baseline",
            on=part,
            signature=signatures[name],
        )
        if is_ours:
            gaps = [column[place] - right[LENGTH][place] for place in places]
            yield Row(
                row=f"{name} less {LENGTH}",
                measure=f"{DIFFERENCE}{RIGHT}",
                estimate=mean(gaps, groups=groups, bounds=(-1, 1)),
                kind="ours",
                on=part,
                signature=signatures[name],
            )


def _values(context: BenchContext, metric: str, pairs: Sequence[Preferred]) -> list[float]:
    """Return the values of both replies of each pair in turn, the preferred one first."""
    grader, _ = context.grader(metric)
    talks = [
        Conversation(
            f"{number}-{place}",
            (*pair.context, Turn("assistant", text)),
            (len(pair.context),),
        )
        for number, pair in enumerate(pairs)
        for place, text in enumerate((pair.chosen, pair.rejected))
    ]
    scores = {score.conversation: score.value for score in grader.score(talks)}
    values = [scores[talk.id] for talk in talks]
    if None in values:
        raise InputError(f"{metric} failed on {talks[values.index(None)].id}")
    return [value for value in values if value is not None]


def _right(values: Sequence[float]) -> list[float]:
    """Return for each two values, preferred and other, whether the first is higher."""
    pairs = zip(values[::2], values[1::2], strict=True)
    return [0.5 if chosen == other else float(chosen > other) for chosen, other in pairs]
