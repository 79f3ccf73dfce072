"""``grice rerank``: the best of several candidates for each reply, and why.

With ``--pairs`` it writes preference pairs for training: the best candidate and the worst.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from grice.cli import flags
from grice.cli._status import DONE, PARTIAL
from grice.cli.models import models_as_asked
from grice.cli.options import add_metric_options, check_options, chosen_preset, loader, names
from grice.cli.output import emit_rows, write_rows
from grice.errors import InputError, RecordError, plural
from grice.tables import Lines, Table, with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.evaluation.rerank import Blend, Candidate, Curve, Preference, Ranked
    from grice.records import Conversation
    from grice.tables import View

HELP = "choose the best of several candidate replies by metrics"
BASE = "model:medium"
MARGIN = 0.1
WIDTH = 69
"""Characters of a turn that are shown: a line of a terminal."""


class Ranking(NamedTuple):
    """What was ranked, how, and how many records could not be used."""

    ranked: list[Ranked]
    blend: Blend
    broken: int


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    from grice.evaluation.rerank import FIELD, RULES

    flags.add_files(
        parser,
        f"conversations whose last turn is to be answered, each with a field {FIELD}; - for stdin",
    )
    parser.add_argument(
        "--candidates", default=FIELD, metavar="FIELD", help=f"the field (default {FIELD})"
    )
    flags.add_number(
        parser, "--generate", "N", "write N candidates for each context, behind those that it has"
    )
    parser.add_argument(
        "--generator",
        default=BASE,
        metavar="MODEL",
        help=f"the model that writes them (default {BASE}), or openai:MODEL@URL",
    )
    parser.add_argument(
        "--blend",
        choices=RULES,
        default=RULES[0],
        help="what several metrics make together (default mean)",
    )
    flags.add_list(
        parser,
        "--weight",
        "METRIC=WEIGHT",
        "of a metric in the blend (default 1); may be repeated",
        type=_named_number,
    )
    flags.add_list(
        parser,
        "--veto",
        "METRIC=VALUE",
        "a candidate below VALUE stands behind all others; may be repeated",
        type=_named_number,
    )
    parser.add_argument(
        "--held-out",
        metavar="NAMES",
        help="metrics that are run and take no part: what else becomes of the replies",
    )
    flags.add_input(parser)
    flags.add_output(parser, "FILE.jsonl", "a context a line, its candidates ranked; or the pairs")
    flags.add_json(parser)
    flags.add_top(parser, 5)
    pairs = parser.add_argument_group("preference pairs for training")
    flags.add_switch(
        pairs,
        "--pairs",
        "the best and the worst candidate of each context: prompt, chosen, rejected",
    )
    flags.add_number(
        pairs, "--margin", "M", f"least difference of the two values (default {MARGIN})", type=float
    )
    flags.add_number(
        pairs,
        "--length-ratio",
        "R",
        "the longer reply has at most R times the words of the shorter one",
        type=float,
    )
    flags.add_switch(pairs, "--agreement", "no metric may prefer the rejected reply")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Rank the candidates; the exit status is 4 if records could not be used."""
    if arguments.pairs:
        return _write_pairs(arguments)
    given = {
        "--margin": arguments.margin is not None,
        "--length-ratio": arguments.length_ratio is not None,
        "--agreement": arguments.agreement,
    }
    if any(given.values()):
        named = ", ".join(name for name, is_given in given.items() if is_given)
        raise InputError(f"{named}: only pairs are filtered; give --pairs, too")
    ranked, blend, broken = _ranked_candidates(arguments)
    write_rows(ranked, arguments.output)
    emit_rows(ranked, _view(ranked, blend, arguments.top), as_json=arguments.json)
    return PARTIAL if broken else DONE


def _write_pairs(arguments: argparse.Namespace) -> int:
    """Write preference pairs; the exit status is that of :func:`run`."""
    from grice.evaluation.rerank import Filters, preferences

    filters = Filters(
        MARGIN if arguments.margin is None else arguments.margin,
        math.inf if arguments.length_ratio is None else arguments.length_ratio,
        arguments.agreement,
    )
    filters.check()
    ranking = _ranked_candidates(arguments)
    refused: Counter[str] = Counter()
    pairs = list(preferences(ranking.ranked, filters, refused))
    write_rows(pairs, arguments.output)
    emit_rows(pairs, _pairs_view(pairs, refused), as_json=arguments.json)
    return PARTIAL if ranking.broken else DONE


def _ranked_candidates(arguments: argparse.Namespace) -> Ranking:
    """Return the ranked candidates of all files; records that cannot be used are said."""
    from grice.cli.options import conversations
    from grice.cli.terminal import warn
    from grice.evaluation.rerank import rerank

    metrics, blend = _asked(arguments)
    check_options(arguments, metrics)
    records = conversations(arguments.files, arguments.format, arguments.columns)
    ranked: list[Ranked] = []
    broken = 0
    with ExitStack() as stack:
        if arguments.generate is not None:
            records = _generated(arguments, records, stack)
        grader = stack.enter_context(loader(arguments)(metrics))
        for item in rerank(records, grader.scorer, blend, field=arguments.candidates):
            if isinstance(item, RecordError):
                warn(str(item))
                broken += 1
            else:
                ranked.append(item)
    if not ranked:
        raise InputError("no record could be used: each needs turns and candidates")
    if fewer := sum(len(item.candidates) < (arguments.generate or 0) for item in ranked):
        warn(
            f"{fewer:,} of {plural(len(ranked), 'context')} with fewer than "
            f"{arguments.generate} candidates: {arguments.generator} repeated itself, or left "
            "requests unanswered; what it wrote was ranked"
        )
    return Ranking(ranked, blend, broken)


def _generated(
    arguments: argparse.Namespace, records: Iterator[Conversation | RecordError], stack: ExitStack
) -> Iterator[Conversation | RecordError]:
    """Return the contexts with candidates that a model writes, which is closed by the stack."""
    from grice.evaluation.candidates import Writer, with_candidates
    from grice.models.protocols import CausalGenerator, Chat

    models = models_as_asked(arguments)
    stack.callback(models.close)
    generator: Writer | Chat
    if arguments.generator.startswith("openai:"):
        generator = models.load(arguments.generator, Chat)
    else:
        generator = models.load(arguments.generator, CausalGenerator)
    return with_candidates(records, generator, count=arguments.generate, field=arguments.candidates)


def _asked(arguments: argparse.Namespace) -> tuple[list[str], Blend]:
    """Return the metrics that are run and how they choose.

    Those that only veto or are held out are run too and have no part in the value.
    """
    from grice.evaluation.rerank import Blend
    from grice.scoring.presets import named_preset

    chosen = names(arguments.metrics)
    if not chosen:
        preset = named_preset(chosen_preset(arguments))
        chosen = [*arguments.registry.defaults(), *preset.metrics]
    vetoes = dict(arguments.veto)
    held_out = names(arguments.held_out)
    held_out += [name for name in vetoes if name not in chosen]
    blend = Blend(
        arguments.blend,
        weights=dict(arguments.weight),
        vetoes=vetoes,
        held_out=tuple(dict.fromkeys(held_out)),
    )
    return list(dict.fromkeys((*chosen, *blend.weights, *held_out))), blend


def _named_number(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r}: METRIC=NUMBER is expected")
    try:
        return name, float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: {number!r} is not a number") from None


def _view(ranked: Sequence[Ranked], blend: Blend, top: int) -> View:
    from grice.evaluation.rerank import curve
    from grice.stats.estimate import FEW

    for item in ranked[:top]:
        yield from _ranked_view(item)
    if len(ranked) > top:
        yield Lines(
            ["", f"… and {plural(len(ranked) - top, 'context')}: -o FILE.jsonl"], style="dim"
        )
    others = sum(item.best.index != 0 for item in ranked)
    undecided = sum(item.tied > 1 for item in ranked)
    counts = (
        plural(len(ranked), "context"),
        f"not the first candidate is best in {others:,}",
        f"tied in {undecided:,}",
    )
    yield Lines(["", "; ".join(counts)], style="bold")
    moved = curve(ranked, blend.held_out)
    if moved is not None and moved.contexts >= FEW:
        yield from _curve_view(moved)


def _ranked_view(item: Ranked) -> Iterator[Lines]:
    """Yield the lines of one context: what was said, the best candidate and why, the others."""
    from grice.cli.terminal import one_line

    yield Lines(["", item.conversation], style="bold")
    before = [turn.text for turn in item.turns[-1:]]
    yield Lines([f"> {one_line(text, WIDTH)}" for text in before], indent=3)
    for place, candidate in enumerate(item.candidates):
        text = one_line(candidate.text, WIDTH).strip() or "(empty)"
        yield Lines([f"{_value(candidate)} {text}"], indent=3)
        if place == 0:
            yield Lines(_reasons(candidate), indent=8, style="italic")
        if candidate.vetoed:
            yield Lines([f"vetoed by {', '.join(candidate.vetoed)}"], indent=8, style="italic")
    left_out = (f"{metric} has no part: {why}" for metric, why in item.left_out.items())
    yield Lines(left_out, indent=3, style="dim")


def _value(candidate: Candidate) -> str:
    return "   –" if candidate.value is None else f"{candidate.value:.2f}"


def _reasons(candidate: Candidate) -> Iterator[str]:
    for score in candidate.scores:
        if score.value is not None:
            why = f": {score.reason}" if score.reason else ""
            yield f"{score.metric} {score.value:.2f}{why}"


def _curve_view(moved: Curve) -> Iterator[Lines | Table]:
    measures = list(moved.steps[0].means)
    yield Lines([f"the more is chosen from, {plural(moved.contexts, 'context')}"], style="bold")
    yield Table(
        ("candidates", *measures),
        [
            (f"{step.candidates}", *(f"{step.means[name].value:.3f}" for name in measures))
            for step in moved.steps
        ],
        words=0,
    )
    changes = (
        f"{name}: {with_interval(change, '+.3f')} from one to the most"
        for name, change in moved.changes.items()
    )
    yield Lines(changes, style="dim")
    for turning in moved.turns:
        many = "a random one" if turning.candidates == 1 else f"{turning.candidates} candidates"
        yield Lines(
            [
                f"{turning.metric}, which takes no part, turns down: highest with {many}, "
                f"{with_interval(turning.change, '+.3f')} with the most; what chooses is gamed"
            ],
            style="bold red",
        )


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
        yield Table(
            (),
            [
                ("median margin", f"{margins[len(margins) // 2]:.3f}"),
                ("the chosen reply is the longer one", f"{longer / len(pairs):.0%}"),
            ],
        )
