"""``grice serve``: scores over HTTP, and a live page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._replies import add_check, show_replies
from grice.cli._status import DONE
from grice.cli.options import add_metric_options, check_options, load_grader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from grice.serve import Limits

HELP = "score, explain, review and rerank over HTTP, with a live page"


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Declare the arguments."""
    flags.add_address(parser, 8008)
    flags.add_path(parser, "--keys", "FILE", "answer only who sends a key of this file")
    parser.add_argument(
        "--key-rate",
        type=flags.positive,
        default=0,
        metavar="N",
        help="requests a second of each key",
    )
    parser.add_argument(
        "--new-key",
        metavar="NAME",
        help="print a new key, and to standard output its line for FILE of --keys",
    )
    flags.add_number(parser, "--waiting", "TURNS", "turns that may wait before 429")
    add_check(parser)
    flags.add_json(parser)
    flags.add_speaker(parser)
    add_metric_options(parser, words, "serve", "traces")


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it; with --check the status is 1 if something is not answered."""
    from grice.serve import check_installed

    if arguments.new_key is not None:
        return _print_key(arguments.new_key, as_json=arguments.json)
    check_installed()
    from grice.cli.terminal import note
    from grice.serve.app import application
    from grice.serve.check import check
    from grice.serve.keys import read_keys
    from grice.serve.server import serve
    from grice.serve.traces import exported_traces

    check_options(arguments)
    limits = _limits(arguments)
    keys = None if arguments.keys is None else read_keys(arguments.keys)
    with exported_traces() as traces, load_grader(arguments, arguments.speaker) as grader:
        if arguments.check:
            replies = check(application(grader, limits=limits))
            return show_replies(replies, as_json=arguments.json)
        app = application(grader, limits=limits, keys=keys, traces=traces)
        serve(
            app,
            host=arguments.host,
            port=arguments.port,
            limits=limits,
            begun=lambda address: note(f"{address} (the live page), {address}/docs; Ctrl-C ends"),
        )
    return DONE


def _limits(arguments: argparse.Namespace) -> Limits:
    from msgspec.structs import replace

    from grice.serve import Limits

    limits = Limits(key_rate=arguments.key_rate)
    return replace(limits, waiting_turns=arguments.waiting) if arguments.waiting else limits


def _print_key(name: str, *, as_json: bool) -> int:
    """Print the line of a new key to standard output, for a file, and the key itself beside it."""
    from grice.cli.output import print_json_lines, print_or_write
    from grice.cli.terminal import warn
    from grice.errors import InputError
    from grice.serve.keys import LINE, key_line, new_key

    key = new_key()
    line = key_line(name, key)
    if not LINE.fullmatch(line):
        raise InputError(f"{name!r}: a name has 1 to 64 letters, digits, dots, dashes and _")
    if as_json:
        print_json_lines([{"key": key, "line": line}])
        return DONE
    warn(f"the key, shown only now: {key}")
    print_or_write(f"{line}\n", None)
    return DONE
