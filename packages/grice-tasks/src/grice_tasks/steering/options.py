"""Language models that commands steer, and the guides that do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from grice.cli import flags
from grice.cli.models import models_as_asked

if TYPE_CHECKING:
    import argparse
    from contextlib import ExitStack

    from grice.models.protocols import SteerableLM
    from grice_tasks.steering.guide import Guide

BASE = "model:medium"
P = TypeVar("P")


def add_guide(parser: argparse.ArgumentParser) -> None:
    """Add the guide and how strong it is."""
    flags.add_path(
        parser, "--guide", "DIR", "steer the model by a guide that grice train guide made"
    )
    flags.add_number(
        parser,
        "--strength",
        "S",
        "exponent of the guide's estimate; 0 is the base model",
        1.0,
        type=float,
    )


def open_base(
    arguments: argparse.Namespace, reference: str, stack: ExitStack, protocol: type[P]
) -> P:
    """Return a language model, which is closed by the stack.

    Args:
        arguments: State arithmetic, workers and cache.
        reference: The model.
        stack: Closes what was opened.
        protocol: What it will be asked for.
    """
    models = models_as_asked(arguments)
    stack.callback(models.close)
    return models.open(reference, protocol)


def open_guide(arguments: argparse.Namespace, base: SteerableLM) -> Guide:
    """Return the guide that the arguments name, checked against the model.

    Raises:
        InputError: If it was trained for another model, or the strength means nothing.
    """
    from grice_tasks.steering.guide import check_strength, load_guide

    check_strength(arguments.strength)
    guide = load_guide(arguments.guide)
    guide.check(base)
    return guide
