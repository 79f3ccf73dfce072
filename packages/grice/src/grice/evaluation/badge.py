"""What was audited, kept for reports: the badge of a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError, os_reason
from grice.evaluation.audit import AuditResult
from grice.files import make_folder, write_text
from grice.folders import config_folder
from grice.metrics.judges import ASPECTS
from grice.records import to_json
from grice.tables import with_interval

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grice.models.bundle import Bundle
    from grice.scoring.loaded import LoadedMetric


NAMED = 5
"""Injections that are named; of more their number says enough."""


def badge_path(judge: Bundle, metric: str) -> Path:
    """Return the file of the last audit of a judge as one metric."""
    return config_folder() / "audits" / f"{judge.digest}-{metric}.json"


def keep_badge(result: AuditResult, loaded: LoadedMetric) -> Path:
    """Keep an audit of a judge for reports, in place of an earlier one, and return its file.

    Raises:
        OutputError: If it cannot be written.
    """
    path = badge_path(_judge(loaded), loaded.metric.name)
    make_folder(path.parent)
    write_text(path, to_json(result) + "\n")
    return path


def read_badge(path: Path) -> AuditResult | None:
    """Return an audit that was kept; None if there is none.

    Raises:
        InputError: If it cannot be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=AuditResult)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: no audit of this version: {error}; audit again") from None


def badge_lines(loaded: LoadedMetric) -> tuple[str, ...]:
    """Return what an audit says of a judge, in sentences; empty of what asks no endpoint."""
    name = loaded.metric.name
    if name not in ASPECTS:
        return ()
    judge = _judge(loaded)
    if loaded.metric.judges != "response":
        return ("Not audited: no conversations that people rated ship for it.",)
    try:
        result = read_badge(badge_path(judge, name))
    except InputError as error:
        return (str(error),)
    if result is None:
        settings = judge.card.settings
        return (
            "This judge was not audited: how far it agrees with people and what deceives it is "
            f"not known. grice audit openai:{settings['model']}@{settings['url']} -m {name}",
        )
    return tuple(_sentences(result, loaded))


def _judge(loaded: LoadedMetric) -> Bundle:
    return next(bundle for bundle in loaded.bundles if bundle.card.kind == "openai-chat")


def _sentences(result: AuditResult, loaded: LoadedMetric) -> Iterator[str]:
    name = loaded.metric.name
    of = next(row for row in result.metrics if row.metric == name)
    beside = [f"{row.metric} {row.spearman.value:.2f}" for row in result.beside if row.spearman]
    if name in result.verdicts:
        yield result.verdicts[name]
    agreement = with_interval(of.spearman, ".2f") if of.spearman else "not known"
    yield (
        f"Audited on {result.items} replies that people rated: Spearman {agreement}"
        + (f"; on the same replies {', '.join(beside)}." if beside else ".")
    )
    rows = [row for row in result.injections if row.metric == name and not row.control]
    raising = [row.injection for row in rows if row.change and row.change.value > 0]
    named = f": {', '.join(raising)}." if 0 < len(raising) <= NAMED else "."
    yield f"{len(raising)} of {len(rows)} injections raise its scores on the whole{named}"
    if of.signature != loaded.signature:
        yield f"The audit is of other options: {of.signature}."
    for order in result.order:
        if order.metric == name and order.same and order.first:
            yield (
                f"Asked which of two replies is better, it answers the same in both orders in "
                f"{with_interval(order.same, '.0%')} of pairs, and for the one shown first in "
                f"{with_interval(order.first, '.0%')}."
            )
    if of.padding:
        yield f"Words that say nothing change its score by {with_interval(of.padding, '+.2f')}."
    for spread in result.repeats:
        if spread.metric == name and spread.changed:
            yield (
                f"Asked {spread.repeats} times, it changes its score of "
                f"{with_interval(spread.changed, '.0%')} of replies."
            )
