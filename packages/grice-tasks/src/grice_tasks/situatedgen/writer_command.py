"""What writes sentences and statements for ``grice situated``: what ships, or a language model."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from grice.cli._situated_score import opened_shipped
from grice.cli.flags import add_model, add_preset
from grice.cli.options import chosen_preset

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from grice_tasks.situatedgen.protocols import KeywordWriter, SituatedWriter

SHIPPED = "bundle:situated"
LANGUAGE_MODEL = "bundle:situated-medium"
"""What a language model that is named by itself stands in."""

Writer = TypeVar("Writer", "KeywordWriter", "SituatedWriter")


def add_writer(parser: argparse.ArgumentParser) -> None:
    """Add the model that writes, and the preset that may name it."""
    add_model(parser, SHIPPED)
    add_preset(parser)


@contextmanager
def opened_writer(arguments: argparse.Namespace, protocol: type[Writer]) -> Iterator[Writer]:
    """Open what writes.

    Args:
        arguments: Those of :func:`add_writer`.
        protocol: What it will be asked for.
    """
    from grice.cli.models import opened_models
    from grice.scoring.presets import named_preset

    preset = named_preset(chosen_preset(arguments))
    preset.check_models()
    reference = arguments.model or preset.commands.situated or SHIPPED
    if reference == SHIPPED:
        with opened_shipped() as shipped:
            yield shipped
    else:
        with opened_models() as models:
            yield models.open_in_place(reference, LANGUAGE_MODEL, protocol)
