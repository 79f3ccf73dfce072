"""The documentation page of a metric, written from its declaration."""

from __future__ import annotations

from collections.abc import Iterator

from grice.metrics.declaration import Example, Metric
from grice.models.folder import Card
from grice_research.comparisons import NOT_MEASURED, TRIVIAL, Recorded, explained, verdict_on

SECTIONS = ("When to use it:", "When not to:")  # titled sections of a metric's docstring


def metric_page(metric: Metric, known: Recorded) -> str:
    """Return the page as Markdown: meaning, when to use it and when not, example, options."""
    return "\n".join(_lines(metric, known)).rstrip() + "\n"


def model_cards(metric: Metric) -> list[tuple[str, str]]:
    """Return the title and the Markdown of the card of each model that ships with a metric."""
    from grice.models.folder import open_folder

    cards = []
    for reference in dict.fromkeys(metric.models.values()):
        scheme, _, name = reference.partition(":")
        if scheme == "builtin":
            card = open_folder(name).card
            title = f"Model `{card.name}` (version {card.version}, {card.licence})"
            cards.append((title, "\n".join(_card(card)) + "\n"))
    return cards


def _lines(metric: Metric, known: Recorded) -> Iterator[str]:
    item = "each reply" if metric.judges == "response" else "each whole conversation"
    yield f"# {metric.name}\n"
    yield (
        f"{metric.summary} Judges {item} from {metric.low:g} to {metric.high:g}, higher is better; "
        f"{metric.neutral:g} with status `abstained` where there is nothing to judge.\n"
    )
    yield from _description(metric.description)
    yield "\n## What it does not see\n"
    for sentence in explained(metric.name, known, signature=f"{metric.name}:{metric.version}|"):
        yield f"- {sentence}"
    yield ""
    yield from _example(metric.example)
    if metric.options or metric.models:
        yield ""
        yield from _options(metric)
    yield "\n## Method\n"
    runs = "Runs by default." if metric.default else f"Runs with `-m {metric.name}`."
    yield f"{metric.source} Version {metric.version}. {runs}"
    verdict = verdict_on(metric.name, known)
    if verdict not in (TRIVIAL, NOT_MEASURED):
        yield f"\nTo run by default: {verdict}."


def _description(text: str) -> Iterator[str]:
    """Yield a docstring without its arguments, each titled section as a heading."""
    meaning = text.partition("\nArgs:")[0].strip().removeprefix("Return ")
    inside = False
    for line in (meaning[:1].upper() + meaning[1:]).splitlines():
        if line in SECTIONS:
            inside = True
            yield f"## {line.rstrip(':')}\n"
        else:
            yield line.removeprefix("    ") if inside else line


def _example(example: Example) -> Iterator[str]:
    yield "## Example\n"
    for i, text in enumerate(example.texts):
        yield f"    {'AB'[i % 2]}: {text}"
    for text in example.references:
        yield f"    reference: {text}"
    for text in example.knowledge:
        yield f"    knowledge: {text}"
    yield f"\nValue between {example.low:g} and {example.high:g}."


def _options(metric: Metric) -> Iterator[str]:
    yield "## Options\n"
    yield "| option | default | meaning |"
    yield "|---|---|---|"
    for option in metric.options:
        meaning = f"{option.help} {option.range}." if option.range else option.help
        yield f"| `{metric.flag(option.name)}` | {option.default} | {meaning} |"
    for name, reference in metric.models.items():
        yield f"| `{metric.flag(name)}` | {f'`{reference}`' if reference else 'none'} | a model reference |"


def _card(card: Card) -> Iterator[str]:
    yield f"{card.summary}\n"
    made = card.training
    stated = {
        "Trained on": "; ".join(made.data),
        "Settings chosen on": "; ".join(made.selection),
        "Kept out": made.excluded,
        "Made by": made.command and f"`{made.command}`",
    }
    yield from (f"- {name}: {text}" for name, text in stated.items() if text)
    if card.quality:
        yield "\n| measured on | measure | value | 95 % interval | n | beside it |"
        yield "|---|---|---|---|---|---|"
        for quality in card.quality:
            yield (
                f"| {quality.on} | {quality.measure} | {quality.value:.3f} | "
                f"{quality.low:.3f} to {quality.high:.3f} | {quality.n} | {quality.note} |"
            )
