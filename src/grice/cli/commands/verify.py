"""``grice verify``: does what a file of scores says follow from the texts and the knowledge?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli._options import add_metric_options, destination, load_grader
from grice.errors import InputError, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from grice.errors import RecordError
    from grice.evaluation.faithful import FaithfulResult
    from grice.evaluation.verify import VerifyResult
    from grice.records import Conversation

HELP = "re-derive each piece of evidence of a file of scores"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "scores", nargs="?", metavar="SCORES.jsonl", help="what grice score -o wrote"
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="the conversations that were scored, in order"
    )
    parser.add_argument("--format", metavar="NAME", help="format of the files (see grice list)")
    parser.add_argument(
        "--tolerance", type=float, default=1e-6, metavar="T",
        help="figures this near are the same (default 1e-6)",
    )  # fmt: skip
    parser.add_argument(
        "--faithful",
        action="store_true",
        help="instead: does the score move as its evidence says when a reply is changed?",
    )
    parser.add_argument(
        "--on", action="append", default=[], metavar="FILE",
        help="with --faithful: conversations, such as deco_train.jsonl; may be repeated",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_metric_options(parser, words)


def run(arguments: argparse.Namespace) -> int:
    """Print what follows and what does not; the exit status is 1 if anything does not."""
    return _faithful(arguments) if arguments.faithful else _verify(arguments)


def _verify(arguments: argparse.Namespace) -> int:
    from grice.evaluation.verify import metrics_of, verify
    from grice.records import to_json

    if not arguments.scores or not arguments.files:
        raise InputError(
            "give the scores and the conversations they were written for, as in grice verify "
            "scores.jsonl chat.jsonl"
        )
    signatures = metrics_of(arguments.scores)
    asked = [name.strip() for name in (arguments.metrics or "").split(",") if name.strip()]
    wanted = asked or list(signatures)
    for name in wanted:
        if name not in signatures:
            raise InputError(
                f"{arguments.scores}: no scores of metric {name!r}; it has {', '.join(signatures)}"
            )
    arguments.metrics = ",".join(wanted)
    _take_options(arguments, signatures)
    with load_grader(arguments) as grader:
        result = verify(
            arguments.scores,
            _scored(arguments.files, arguments.format),
            grader.scorer.metrics,
            tolerance=arguments.tolerance,
        )
    if arguments.json:
        sys.stdout.write(to_json(result) + "\n")
    else:
        _print(result)
    return 0 if result.ok else 1


def _scored(files: Sequence[str], form: str | None) -> Iterator[Conversation | RecordError]:
    """Yield the conversations of files as ``grice score`` sees them: of several, with the file."""
    from msgspec.structs import replace

    from grice.errors import RecordError
    from grice.formats import read

    for file in files:
        with read(file, format=form) as reading:
            for record in reading:
                if len(files) > 1 and not isinstance(record, RecordError):
                    yield replace(record, meta={"file": reading.source, **record.meta})
                else:
                    yield record


def _take_options(arguments: argparse.Namespace, signatures: dict[str, str]) -> None:
    """Set the options that the scores were computed with, where none were given."""
    from grice.evaluation.verify import stated_options

    known = arguments.registry.metrics
    for name, signature in signatures.items():
        metric = known.get(name)
        if metric is None:
            continue
        types = {one.name: {"int": int, "float": float, "str": str}[one.type]
                 for one in metric.options}  # fmt: skip
        for option, value in stated_options(metric, signature).items():
            if getattr(arguments, destination(metric, option), None) is None:
                setattr(arguments, destination(metric, option), types[option](value))
        if "mode:fast" in signature.split("|"):
            arguments.mode = "fast"


def _print(result: VerifyResult) -> None:
    from grice.cli._tables import print_lines, print_table

    print_lines([f"{result.file}: {plural(result.scores, 'score')} re-derived"], style="bold")
    print_table(
        ("metric", "kind", "verified", "differs"),
        [(one.metric, one.kind, f"{one.verified:,}", f"{one.differs:,}") for one in result.tallies],
    )
    if result.ok:
        print_lines(["everything follows"], style="green")
        return
    for one in result.differences:
        place = one.conversation if one.turn is None else f"{one.conversation} #{one.turn}"
        print_lines([f"{place}  {one.metric}, {one.kind}: {one.piece or ''}".rstrip(": ")])
        print_lines([one.what], style="bold red", indent=4)
    if result.more:
        print_lines([f"… and {result.more:,} more"])


def _faithful(arguments: argparse.Namespace) -> int:
    from grice.cli._reading import conversations
    from grice.evaluation.faithful import faithfulness
    from grice.records import Conversation, to_json

    files = [*([arguments.scores] if arguments.scores else []), *arguments.files, *arguments.on]
    if not files:
        raise InputError("give conversations, as in grice verify --faithful --on deco_train.jsonl")
    arguments.metrics = arguments.metrics or "commonsense"
    records = [
        record
        for record in conversations(files, arguments.format)
        if isinstance(record, Conversation)
    ]
    with load_grader(arguments) as grader:
        results = [faithfulness(loaded, records) for loaded in grader.scorer.metrics]
    for result in results:
        if arguments.json:
            sys.stdout.write(to_json(result) + "\n")
        else:
            _print_faithful(result)
    return 0


def _print_faithful(result: FaithfulResult) -> None:
    from grice.cli._tables import print_lines, print_table

    replies = plural(result.replies, "reply", "replies")
    print_lines([f"{result.metric}: {replies} with evidence"], style="bold")
    print_table(
        ("change of a reply", "share", "95 %", "n"),
        [
            (rate.name, f"{rate.found.value:.3f}", _bounds(rate.found.low, rate.found.high),
             f"{rate.found.n:,}")
            for rate in result.rates
        ],
    )  # fmt: skip
    print_lines(result.remarks, style="dim")


def _bounds(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.3f} – {high:.3f}"
