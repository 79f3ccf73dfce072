"""``grice explain``: one reply, its scores and their evidence."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from grice.cli.options import check_options, columns_of, load_grader
from grice.cli.output import DONE, PARTIAL, UNUSABLE, Output, one_line
from grice.errors import LONGEST, InputError
from grice.tables import Lines, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grice.cli.derive import Input, Scoring
    from grice.data import Conversation, Evidence, Score
    from grice.evaluation.counterfactuals import Counterfactual
    from grice.tables import View


def run(
    turns: Sequence[str] = (),
    *,
    file: str | None = None,
    id_: str | None = None,
    turn: int | None = None,
    reading: Input,
    what_if: bool = False,
    signature: bool = False,
    scoring: Scoring,
) -> Output:
    """Score one reply and show the evidence.

    Args:
        turns (TURN): the texts, one argument a turn; the last one is the reply
        file (FILE): take the conversation from this file
        id_ (ID): id of the conversation in the file
        turn (N): index of the reply, from 0
        what_if: also try which single change of knowledge or text would lift the score
        signature: also print the signature of each score
    """
    from grice.evaluation.counterfactuals import counterfactuals
    from grice.readers import find_conversation

    check_options(scoring)
    if file is None:
        conversation = _conversation(turns, is_placed=id_ is not None or turn is not None)
    elif turns:
        raise InputError("give either turns or --file, not both")
    else:
        conversation = find_conversation(
            file, id=id_, turn=turn, format=reading.format, columns=columns_of(reading)
        )
    with load_grader(scoring) as grader:
        scores = grader.score(conversation)
        loaded = {metric.metric.name: metric for metric in grader.scorer.metrics}
        changes = {
            score.metric: counterfactuals(loaded[score.metric], conversation, score)
            for score in (scores if what_if else ())
        }
    failed = sum(score.status == "failed" for score in scores)
    texts = [each.text for each in conversation.turns]
    return Output(
        [*scores, *chain.from_iterable(changes.values())],
        chain(_scores_view(scores, texts, signatures=signature), _changes_view(changes)),
        DONE if not failed else UNUSABLE if failed == len(scores) else PARTIAL,
    )


def _scores_view(scores: Sequence[Score], texts: Sequence[str], *, signatures: bool) -> View:
    """Show scores with all their evidence; ``texts`` are the turns of the conversation."""
    for score in scores:
        status = "" if score.status == "ok" else f"  {score.status}"
        flags = f"  ({', '.join(score.flags)})" if score.flags else ""
        yield Lines([f"{score.metric}  {number(score.value)}{status}{flags}"], style="bold")
        if score.reason:
            yield Lines([score.reason], indent=2, style="italic")
        for evidence in score.evidence:
            first, *more = _described(evidence, texts)
            yield Lines([first], indent=2, longest=LONGEST)
            yield Lines(more, indent=8, longest=LONGEST)
        if signatures:
            yield Lines([score.signature], indent=2, style="dim", longest=LONGEST)


def _described(evidence: Evidence, texts: Sequence[str]) -> list[str]:
    """Return a piece of evidence as lines of text."""
    from grice.data import FeatureEvidence, TripleEvidence, TurnEvidence
    from grice.text.markup import as_read

    match evidence:
        case TripleEvidence(triple=triple, plausibility=plausibility, known=known):
            written = f"{one_line(triple.head)} —{triple.relation}→ {one_line(triple.tail)}"
            lines = [f"{plausibility:.2f}  {written}"]
            if known:
                lines.append(
                    f"nearest known: {one_line(known.head)} → {one_line(known.tail)} "
                    f"(heads {known.head_similarity:.2f}, tails {known.tail_similarity:.2f}, "
                    f"{known.source})"
                )
            return lines
        case TurnEvidence(turn=turn, effect=effect):
            return [f"{effect:+.2f}  #{turn} {one_line(as_read(texts[turn]))}"]
        case FeatureEvidence(name=name, value=value, effect=None):
            return [f"{one_line(name)} = {value:g}"]
        case FeatureEvidence(name=name, value=value, effect=effect):
            return [f"{effect:+.2f}  {one_line(name)} = {value:g}"]


def _changes_view(changes: Mapping[str, Sequence[Counterfactual]]) -> View:
    from grice.evaluation.counterfactuals import best_of_each_kind

    for metric, tried in changes.items():
        yield Lines(["", f"what would lift {metric}"], style="bold")
        lines = []
        for change in best_of_each_kind(tried):
            what = "knowing" if change.kind == "knowledge" else "without the words"
            lines.append(f"{change.value:.3f}  ({change.lift:+.3f})  {what}: {change.change}")
        yield Lines(lines or ["no single change that was tried"], indent=2)


def _conversation(texts: Sequence[str], *, is_placed: bool) -> Conversation:
    """Return the conversation of the arguments, said by two speakers in turn."""
    from grice.data import Conversation, Turn

    if not texts:
        raise InputError(
            'nothing to explain: give the turns, as in grice explain "How are you?" '
            '"Fine, thanks.", or --file FILE --id ID --turn N'
        )
    # A reply may be longer than a path can be, for which pathlib raises an error.
    if len(texts) == 1 and os.path.isfile(texts[0]):  # noqa: PTH113
        raise InputError(
            f"{texts[0]} is a file: give it as --file {texts[0]}, with --id ID and --turn N where "
            "it holds several"
        )
    if is_placed:
        raise InputError("--id and --turn look into --file FILE: name it")
    turns = tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts))
    return Conversation("talk", turns, targets=(len(turns) - 1,))
