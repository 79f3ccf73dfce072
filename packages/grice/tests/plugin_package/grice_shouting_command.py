"""A command of somebody else's package."""

import sys

HELP = "print a text in capitals"


def configure(parser, words):
    """Declare the arguments."""
    parser.add_argument("text", help="what to print")


def run(arguments):
    """Print the text."""
    sys.stdout.write(f"{arguments.text.upper()}\n")
    return 0
