"""The ``grice`` command; each module of :mod:`grice.cli.commands` is one command.

Exit status: 0 done; 1 a gate failed (a score has status ``failed``); 2 input that cannot be
used, or records that were skipped; 3 a fault of grice; 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

import grice
from grice.cli import commands
from grice.errors import GriceError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

FAULT = 3
INTERRUPTED = 130


class Command(Protocol):
    """What a command module declares."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser, words: Sequence[str]) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser(words).parse_args(words)
        status = arguments.run(arguments)
        sys.stdout.flush()
    except GriceError as error:
        if "--debug" in words:
            raise
        print(f"grice: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        print("grice: interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; point the stream away so that the exit is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in words:
            raise
        print(  # noqa: T201
            f"grice: a fault of grice itself: {type(error).__name__}: {error}\n"
            "  run again with --debug for the trace and report it",
            file=sys.stderr,
        )
        return FAULT
    return int(status)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grice",
        description="Score open-domain dialogue, offline, with the evidence behind each number.",
        epilog="grice COMMAND --help tells what a command takes.",
    )
    parser.add_argument("--version", action="version", version=f"grice {grice.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the trace of an error")
    below = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name in _command_names():
        module = name.replace("-", "_")
        command = cast("Command", import_module(f"{commands.__name__}.{module}"))
        one = below.add_parser(name, help=command.HELP, description=command.HELP)
        one.add_argument("--debug", action="store_true", help="show the trace of an error")
        one.set_defaults(run=command.run)
        # Configuring a command may look for metrics; only the chosen one has to.
        if name == chosen:
            command.configure(one, words)
    return parser


def _command_names() -> list[str]:
    modules = pkgutil.iter_modules(commands.__path__)
    return sorted(module.name.replace("_", "-") for module in modules)


if __name__ == "__main__":
    sys.exit(main())
