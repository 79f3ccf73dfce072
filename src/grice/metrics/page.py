"""The documentation page of a metric, written from its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.metrics.limits import explained
from grice.runtime.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.metrics.declaration import Metric
    from grice.metrics.limits import Recorded
    from grice.runtime.bundle import Card

__all__ = ["metric_page"]


def metric_page(metric: Metric, known: Recorded | None = None) -> str:
    """Return the page as Markdown: meaning, scale, limits, options, models, quality, example.

    Args:
        metric: The declared metric.
        known: Measured limits of metrics; by default those that ship.
    """
    return "\n".join(_lines(metric, known)).rstrip() + "\n"


def _lines(metric: Metric, known: Recorded | None) -> Iterator[str]:
    item = "each reply" if metric.judges == "response" else "each whole conversation"
    yield f"# {metric.name}"
    yield ""
    yield f"{metric.summary} Judges {item}."
    yield ""
    yield metric.description.partition("\nArgs:")[0].strip()
    yield ""
    yield (
        f"- Scale: {metric.low:g} to {metric.high:g}, higher is better; "
        f"{metric.neutral:g} with status `abstained` where there is nothing to judge."
    )
    yield f"- Version: {metric.version}"
    yield f"- Method: {metric.source}"
    yield f"- Runs by default: {'yes' if metric.default else 'no'}"
    yield ""
    yield "## What it does not see"
    yield ""
    for sentence in explained(metric.name, known, signature=f"{metric.name}:{metric.version}|"):
        yield f"- {sentence}"
    if metric.options or metric.models:
        yield ""
        yield "## Options"
        yield ""
        yield "| option | default | meaning |"
        yield "|---|---|---|"
        for option in metric.options:
            meaning = f"{option.help} {option.range}." if option.range else option.help
            yield f"| `{metric.flag(option.name)}` | {option.default} | {meaning} |"
        for name, reference in metric.models.items():
            yield f"| `{metric.flag(name)}` | `{reference}` | a model reference |"
    for reference in metric.models.values():
        scheme, _, name = reference.partition(":")
        if scheme == "bundle":
            yield from _bundle(open_bundle(name).card)
    yield ""
    yield "## Example"
    yield ""
    for i, text in enumerate(metric.example.texts):
        yield f"    {'AB'[i % 2]}: {text}"
    for text in metric.example.references:
        yield f"    reference: {text}"
    yield ""
    yield f"Value between {metric.example.low:g} and {metric.example.high:g}."


def _bundle(card: Card) -> Iterator[str]:
    yield ""
    yield f"## Model `{card.name}` (version {card.version}, {card.licence})"
    yield ""
    yield card.summary
    yield ""
    if card.training.data:
        yield f"- Trained on: {'; '.join(card.training.data)}"
    if card.training.selection:
        yield f"- Settings chosen on: {'; '.join(card.training.selection)}"
    if card.training.excluded:
        yield f"- Kept out: {card.training.excluded}"
    if card.training.command:
        yield f"- Made by: `{card.training.command}`"
    if card.quality:
        yield ""
        yield "| measured on | measure | value | 95 % interval | n | beside it |"
        yield "|---|---|---|---|---|---|"
        for quality in card.quality:
            yield (
                f"| {quality.on} | {quality.measure} | {quality.value:.3f} | "
                f"{quality.low:.3f} to {quality.high:.3f} | {quality.n} | {quality.note} |"
            )
