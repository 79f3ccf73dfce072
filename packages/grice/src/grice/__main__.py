"""Entry point of ``grice`` and ``python -m grice``; slow imports come later."""

from __future__ import annotations

import sys


def start() -> int:
    """Run the command line; an interruption during its import is quiet, too."""
    try:
        from grice.cli import main
    except KeyboardInterrupt:
        print("grice: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(start())
