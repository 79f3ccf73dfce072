"""Triples written by a generator, one prompt for each relation, as ACCENT's T5 writes them.

Prompts, output and parsing are those of the released code (Ghazarian et al., Findings of ACL
2023), so that a checkpoint of that form can stand in the place of our own extractor: all it takes
is a :class:`~grice.models.protocols.Generator`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import InputError, ModelError, did_you_mean
from grice.knowledge.extraction.protocol import (
    KINDS,
    RELATIONS,
    ExtractedTriple,
    Extraction,
    check_kinds,
)
from grice.knowledge.schema import load_schema
from grice.text.script import unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.extraction.protocol import Exchange, Kind
    from grice.models.protocols import Generated, Generator

__all__ = ["BEAMS", "TURNS", "PromptedExtractor", "Written", "parsed", "prompt"]

BEAMS = 10
"""Width of the released beam search; its best text is read."""

TURNS = 4
"""Turns before the reply that the released code shows; missing ones are empty, in front."""

ASKS = "Extract event1 and event2 from the text where"
TURN_END = "</UTT>"
NONE = "None"
HEAD, TAIL = "event1:", "event2:"
MARK = len("event1: ")
"""Characters that the released code drops from the front of either part."""


class Written(NamedTuple):
    """The two events of an output."""

    head: str
    tail: str


def prompt(exchange: Exchange, relation: str) -> str:
    """Return what the extractor is asked for a relation.

    The history is shown whole, as the released code does; the paper says the last turn only.

    >>> from grice.knowledge.extraction.protocol import Exchange
    >>> prompt(Exchange(("Why ?",), "I was tired ."), "xAttr")[-54:]
    ' Utterance: </UTT></UTT></UTT>Why ?</UTT>I was tired .'

    Raises:
        InputError: For a relation that is none of ACCENT's.
    """
    if relation not in RELATIONS:
        raise InputError(f"ACCENT has no relation {relation!r}{did_you_mean(relation, RELATIONS)}")
    turns = exchange.history[-TURNS:]
    shown = ("",) * (TURNS - len(turns)) + turns
    history = "".join(turn + TURN_END for turn in shown)
    asked = load_schema("atomic2020")[relation].prompt
    return f"{ASKS} {asked} Utterance: {history}{exchange.reply}"


def parsed(output: str) -> Written | None:
    """Return the events of an output; None where it gives none.

    >>> parsed("event1: PersonX looks anemic; event2: PersonY takes PersonX's blood pressure")
    Written(head='PersonX looks anemic', tail="PersonY takes PersonX's blood pressure")
    >>> parsed("None")
    """
    if output == NONE or HEAD not in output or TAIL not in output:
        return None
    place = output.index(TAIL)
    head = output[:place].removesuffix(" ").removesuffix(";")[MARK:]
    tail = output[place:][MARK:]
    return Written(head, tail) if head and tail else None


class PromptedExtractor:
    """A :class:`~grice.knowledge.extraction.protocol.TripleExtractor` that asks a generator.

    The model points at no places, and what it writes is not checked against the text. A triple
    counts as ``pair`` if one of its events shares more words with the turn before than with the
    reply. Its confidence is the probability of the text per piece: the geometric mean.

    Args:
        generator: Writes ``event1: …; event2: …`` or ``None`` for a prompt.
        beams: Width of its search; the best text is read.
    """

    def __init__(self, generator: Generator, *, beams: int = BEAMS) -> None:
        if beams < 1:
            raise ModelError(f"{beams} beams: at least one is needed")
        self.identity = f"prompted/{beams}/{generator.identity}"
        self._generator = generator
        self._beams = beams

    def extract(
        self,
        exchanges: Sequence[Exchange],
        *,
        kinds: Sequence[Kind] = KINDS,
        least: float | None = None,
    ) -> list[Extraction]:
        """Return what each reply holds, all relations of all replies in one call."""
        check_kinds(kinds)
        reasons = [unreadable(exchange.reply) for exchange in exchanges]
        asked = [exchange for exchange, why in zip(exchanges, reasons, strict=True) if why is None]
        prompts = [prompt(exchange, relation) for exchange in asked for relation in RELATIONS]
        answers = self._generator.generate(prompts, count=self._beams) if prompts else []
        if len(answers) != len(prompts):
            raise ModelError(
                f"{self._generator.identity} answered {len(answers)} of {len(prompts)} prompts"
            )
        size = len(RELATIONS)
        rows = iter([answers[i : i + size] for i in range(0, len(answers), size)])
        return [
            Extraction(reason=f"the reply {why}")
            if why is not None
            else _extraction(exchange, next(rows), kinds, least or 0.0)
            for exchange, why in zip(exchanges, reasons, strict=True)
        ]


def _extraction(
    exchange: Exchange,
    answers: Sequence[tuple[Generated, ...]],
    kinds: Sequence[Kind],
    least: float,
) -> Extraction:
    triples = []
    for relation, texts in zip(RELATIONS, answers, strict=True):
        written = parsed(texts[0].text) if texts else None
        if written is None:
            continue
        kind = _kind(written, exchange)
        confidence = math.exp(min(0.0, texts[0].log_probability))
        if kind in kinds and confidence >= least:
            triples.append(
                ExtractedTriple(
                    head=written.head,
                    relation=relation,
                    tail=written.tail,
                    confidence=confidence,
                    kind=kind,
                )
            )
    triples.sort(key=lambda triple: -triple.confidence)
    events = {event for triple in triples for event in (triple.head, triple.tail)}
    reason = "" if triples else "the model found no triple"
    return Extraction(tuple(triples), len(events), reason=reason)


def _kind(written: Written, exchange: Exchange) -> Kind:
    reply, previous = _words(exchange.reply), _words(exchange.previous)
    earlier = any(len(_words(event) & previous) > len(_words(event) & reply) for event in written)
    return "pair" if earlier else "single"


def _words(text: str) -> set[str]:
    # The first five letters stand for a word, so that "wants" is found in "wanted".
    return {word[:5] for word in re.findall(r"[a-z]{3,}", text.lower())} - {"perso"}
