"""A command of somebody else's package."""

import sys


def run(text: "str") -> None:
    """Print a text in capitals.

    Args:
        text (TEXT): what to print
    """
    sys.stdout.write(f"{text.upper()}\n")
