"""Candidates for replies: the options that say how they are judged, and their ranking."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from grice.cli import flags
from grice.cli._steering import BASE, add_guide, open_base, open_guide
from grice.cli.options import add_metric_options, check_options, chosen_preset, loader, names
from grice.errors import InputError, RecordError, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.records import Conversation
    from grice_tasks.steering import Blend, Ranked


class Ranking(NamedTuple):
    """What was ranked, how, and how many records could not be used."""

    ranked: list[Ranked]
    blend: Blend
    broken: int


def add_candidates(parser: argparse.ArgumentParser, words: Sequence[str], output: str) -> None:
    """Add the files with candidates, how they are judged, and where the result goes.

    Args:
        parser: Takes the options.
        words: The words of the command line, which name plugins and metrics.
        output: What is written.
    """
    from grice_tasks.steering.blend import RULES
    from grice_tasks.steering.rerank import FIELD

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
    add_guide(parser)
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
    flags.add_output(parser, "FILE.jsonl", output)
    flags.add_json(parser)
    add_metric_options(parser, words)


def ranked_candidates(arguments: argparse.Namespace) -> Ranking:
    """Return the ranked candidates of all files; records that cannot be used are said.

    Raises:
        InputError: If no record can be used, or the blend does not fit the metrics.
    """
    from grice.cli._reading import conversations
    from grice.cli.terminal import warn
    from grice_tasks.steering import rerank

    if arguments.guide is not None and arguments.generate is None:
        raise InputError("--guide steers what is written: give --generate N, too")
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
    from grice.models.protocols import CausalGenerator, Chat, SteerableLM
    from grice_tasks.steering.generate import Writer, with_candidates
    from grice_tasks.steering.guided import GuidedGenerator

    generator: Writer | Chat
    if arguments.guide is None and arguments.generator.startswith("openai:"):
        generator = open_base(arguments, arguments.generator, stack, Chat)
    elif arguments.guide is None:
        generator = open_base(arguments, arguments.generator, stack, CausalGenerator)
    else:
        base = open_base(arguments, arguments.generator, stack, SteerableLM)
        generator = GuidedGenerator(base, open_guide(arguments, base), arguments.strength)
    return with_candidates(records, generator, count=arguments.generate, field=arguments.candidates)


def _asked(arguments: argparse.Namespace) -> tuple[list[str], Blend]:
    """Return the metrics that are run and how they choose.

    Those that only veto or are held out are run too and have no part in the value.
    """
    from grice.scoring.presets import named_preset
    from grice_tasks.steering import Blend

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
