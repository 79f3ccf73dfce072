"""``grice rerank``: the best of several candidates for each reply, and why.

With ``--pairs`` it writes preference pairs for training: the best candidate and the worst.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Literal

from grice.cli.derive import named_number, names
from grice.cli.options import check_options, chosen_preset, conversations, loader
from grice.cli.output import DONE, PARTIAL, Output, one_line, warn, write_rows
from grice.errors import InputError, RecordError, plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.cli.derive import Count, Input, OutputPath, Scoring
    from grice.evaluation.rerank import Preference, Ranked
    from grice.tables import View

MARGIN = 0.1
WIDTH = 69
"""Characters of a turn that are shown: a line of a terminal."""


def run(
    files: Sequence[str],
    *,
    candidates: str = "candidates",
    blend: Literal["mean", "minimum", "product"] = "mean",
    weight: Sequence[str] = (),
    veto: Sequence[str] = (),
    held_out: str | None = None,
    reading: Input,
    output: OutputPath | None = None,
    top: Count = 5,
    pairs: bool = False,
    margin: float | None = None,
    length_ratio: float | None = None,
    agreement: bool = False,
    scoring: Scoring,
) -> Output:
    """Choose the best of several candidate replies by metrics.

    Args:
        files (FILE): conversations whose last turn is to be answered, each with a field of
            candidates; - for stdin
        candidates (FIELD): the field
        blend: combination of several metrics
        weight (METRIC=WEIGHT): of a metric in the blend (default 1); may be repeated
        veto (METRIC=VALUE): a candidate below VALUE is ranked after all others; may be repeated
        held_out (NAMES): metrics that are run and shown, and not used for the choice
        output: a context a line, its candidates ranked; or the pairs
        pairs: preference pairs for training, the best and the worst candidate of each context:
            prompt, chosen, rejected
        margin (M): of pairs: least difference of the two values (default 0.1)
        length_ratio (R): of pairs: the longer reply has at most R times the words of the shorter
        agreement: of pairs: no metric may prefer the rejected reply
    """
    from grice.evaluation.rerank import Blend, Filters, preferences, rerank
    from grice.scoring.presets import named_preset

    filters = {"margin": margin, "length-ratio": length_ratio, "agreement": agreement or None}
    given = ", ".join(f"--{name}" for name, value in filters.items() if value is not None)
    if given and not pairs:
        raise InputError(f"{given}: only pairs are filtered; give --pairs, too")
    weights = dict(named_number("--weight", text) for text in weight)
    vetoes = dict(named_number("--veto", text) for text in veto)
    chosen = names(scoring.metrics)
    if not chosen:
        preset = named_preset(chosen_preset(scoring))
        chosen = [*scoring.registry.defaults(), *preset.metrics]
    left_out = dict.fromkeys([*names(held_out), *(name for name in vetoes if name not in chosen)])
    metrics = list(dict.fromkeys((*chosen, *weights, *left_out)))
    check_options(scoring, metrics)
    how = Blend(blend, weights=weights, vetoes=vetoes, held_out=tuple(left_out))
    records = conversations(files, reading)
    ranked: list[Ranked] = []
    broken = 0
    with loader(scoring)(metrics) as grader:
        for item in rerank(records, grader.scorer, how, field=candidates):
            if isinstance(item, RecordError):
                warn(str(item))
                broken += 1
            else:
                ranked.append(item)
    if not ranked:
        raise InputError("no record could be used: each needs turns and candidates")
    rows: Sequence[object] = ranked
    view = _view(ranked, top)
    if pairs:
        refused: Counter[str] = Counter()
        wanted = Filters(
            MARGIN if margin is None else margin,
            math.inf if length_ratio is None else length_ratio,
            agreement,
        )
        rows = found = list(preferences(ranked, wanted, refused))
        view = _pairs_view(found, refused)
    if output is not None:
        write_rows(rows, output)
    return Output(rows, view, PARTIAL if broken else DONE)


def _view(ranked: Sequence[Ranked], top: int) -> View:
    for item in ranked[:top]:
        yield Lines(["", item.conversation], style="bold")
        yield Lines([f"> {one_line(turn.text, WIDTH)}" for turn in item.turns[-1:]], indent=3)
        for place, candidate in enumerate(item.candidates):
            text = one_line(candidate.text, WIDTH).strip() or "(empty)"
            value = "   –" if candidate.value is None else f"{candidate.value:.2f}"
            yield Lines([f"{value} {text}"], indent=3)
            reasons = [
                f"{score.metric} {score.value:.2f}" + (f": {score.reason}" if score.reason else "")
                for score in (candidate.scores if place == 0 else ())
                if score.value is not None
            ]
            if candidate.vetoed:
                reasons.append(f"vetoed by {', '.join(candidate.vetoed)}")
            yield Lines(reasons, indent=8, style="italic")
        left_out = (f"{metric} has no part: {why}" for metric, why in item.left_out.items())
        yield Lines(left_out, indent=3, style="dim")
    if len(ranked) > top:
        more = f"… and {plural(len(ranked) - top, 'context')}: -o FILE.jsonl"
        yield Lines(["", more], style="dim")
    others = sum(item.best.index != 0 for item in ranked)
    undecided = sum(item.tied > 1 for item in ranked)
    counts = f"not the first candidate is best in {others:,}; tied in {undecided:,}"
    yield Lines(["", f"{plural(len(ranked), 'context')}; {counts}"], style="bold")


def _pairs_view(pairs: Sequence[Preference], refused: Counter[str]) -> View:
    of = plural(len(pairs) + refused.total(), "context")
    yield Lines([f"{plural(len(pairs), 'pair')} from {of}"], style="bold")
    yield Lines([f"{count:,} left out: {why}" for why, count in refused.most_common()], indent=2)
    if pairs:
        longer = sum(
            len(pair.chosen[0]["content"].split()) > len(pair.rejected[0]["content"].split())
            for pair in pairs
        )
        margins = sorted(pair.margin for pair in pairs)
        facts = [
            ("median margin", f"{margins[len(margins) // 2]:.3f}"),
            ("the chosen reply is the longer one", f"{longer / len(pairs):.0%}"),
        ]
        yield Table((), facts)
