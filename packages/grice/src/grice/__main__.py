"""``grice`` and ``python -m grice`` start here, before anything that takes time is imported."""

from __future__ import annotations

import sys


def start() -> int:
    """Run the command line, also quietly interrupted while it is still being imported."""
    try:
        from grice.cli import main
    except KeyboardInterrupt:
        print("grice: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(start())
