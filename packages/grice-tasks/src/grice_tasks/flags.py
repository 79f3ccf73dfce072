"""Options that several commands of tasks share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_model(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the model of a command that runs one."""
    parser.add_argument("--model", metavar="MODEL", help=f"model reference; default {default}")


def add_rules(parser: argparse.ArgumentParser, default: str) -> None:
    """Add whose rules count where a paper and its code differ."""
    parser.add_argument(
        "--rules",
        choices=("paper", "released"),
        default=default,
        help=f"as the paper says, or as the released code does (default {default})",
    )
