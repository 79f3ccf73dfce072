"""A causal language model as a source of commonsense: it was taught no triple, only shown some.

A triple is verbalised: "Alex is tired. As a result, Alex wants" is the prompt of the tail "to
sleep". Tails are written after examples of their relation; a tail is plausible if it is likelier
after its head than without one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grice.errors import BundleError
from grice.knowledge.generative import (
    GenerativeKnowledge,
    GenerativeSettings,
    plain_event,
    relation_token,
)
from grice.knowledge.protocols import KnowledgeBase
from grice.knowledge.schema import load_schema
from grice.models.protocols import CausalGenerator
from grice.models.registry import model_kind
from grice.records import Triple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.knowledge.schema import Schema
    from grice.models.bundle import Bundle
    from grice.models.protocols import Generated
    from grice.models.registry import Opener

PERSONS = {"PersonX": "Alex", "PersonY": "Sam", "PersonZ": "Kim"}
"""Names in place of ATOMIC's, which a language model has seldom read."""
LONGEST = 16
"""Tokens of a tail."""
BLANK = re.compile(r"_+")


class LanguageKnowledgeSettings(GenerativeSettings, frozen=True):
    """Of a bundle of kind ``language-model-knowledge``."""

    base: str


class CausalTails:
    """A :class:`~grice.knowledge.generative.TailGenerator` that verbalises what it is asked.

    Args:
        examples: Known triples, which stand before those of their relation that it writes.
    """

    def __init__(self, model: CausalGenerator, schema: Schema, examples: Sequence[Triple]) -> None:
        self.identity = f"verbalised/{model.identity}"
        self._model = model
        self._schema = schema
        self._lines: dict[str, list[str]] = {relation_token(name): [] for name in schema.relations}
        for triple in examples:
            token = relation_token(triple.relation)
            line = f"{verbalised(triple.head, triple.relation, schema)} {_named(triple.tail)}\n"
            self._lines[token].append(line)

    def generate(
        self, prompts: Sequence[str], *, count: int, begin: Sequence[str] | None = None
    ) -> list[tuple[Generated, ...]]:
        """Return tails per head, the most probable first."""
        tokens = list(begin or ())
        written: dict[tuple[str, str], tuple[Generated, ...]] = {}
        for token in dict.fromkeys(tokens):
            # One relation after the other: its examples are read once.
            heads = [head for head, of in zip(prompts, tokens, strict=True) if of == token]
            texts = self._model.generate(
                [self._prompt(head, token) for head in heads],
                count=count,
                shown="".join(self._lines[token]),
                max_tokens=LONGEST,
            )
            written |= {
                (head, token): tuple(text._replace(text=_unnamed(text.text)) for text in each)
                for head, each in zip(heads, texts, strict=True)
            }
        return [written[asked] for asked in zip(prompts, tokens, strict=True)]

    def log_probabilities(
        self, prompts: Sequence[str], texts: Sequence[str], *, begin: Sequence[str] | None = None
    ) -> list[float]:
        """Return mean log probabilities; see :class:`~grice.models.protocols.TextScorer`."""
        tokens = list(begin or ())
        asked = [self._prompt(head, token) for head, token in zip(prompts, tokens, strict=True)]
        return self._model.log_probabilities(asked, [_named(text) for text in texts])

    def _prompt(self, head: str, token: str) -> str:
        return verbalised(head, token.strip("<>"), self._schema)


def verbalised(head: str, relation: str, schema: Schema) -> str:
    """Return what stands before a tail; without a head only the relation.

    >>> from grice.knowledge.schema import load_schema
    >>> verbalised("PersonX is tired", "xWant", load_schema("atomic2020"))
    'Alex is tired. As a result, Alex wants'
    """
    gloss = _named(schema[relation].gloss)
    sentence = _named(plain_event(head))
    if not sentence:
        return gloss[0].upper() + gloss[1:]
    if schema[relation].subject is None:
        return f"{sentence[0].upper()}{sentence[1:]} {gloss}"
    return f"{sentence[0].upper()}{sentence[1:]}. {gloss[0].upper()}{gloss[1:]}"


def _named(text: str) -> str:
    for person, name in PERSONS.items():
        text = text.replace(person, name)
    return BLANK.sub("something", text)


def _unnamed(text: str) -> str:
    for person, name in PERSONS.items():
        text = re.sub(rf"\b{name}\b", person, text)
    return text


@model_kind(
    "language-model-knowledge",
    answers="knowledge",
    protocol=KnowledgeBase,
    settings=LanguageKnowledgeSettings,
)
def language_model_knowledge(
    bundle: Bundle, settings: LanguageKnowledgeSettings, opener: Opener
) -> GenerativeKnowledge:
    """Open what writes and judges tails."""
    model = opener.part(bundle, settings.base, CausalGenerator, "likelihood")
    schema = load_schema(settings.schema)
    examples = _examples(bundle, schema)
    return GenerativeKnowledge(bundle, settings, CausalTails(model, schema, examples))


def _examples(bundle: Bundle, schema: Schema) -> list[Triple]:
    """Return the triples of ``examples.tsv``: head, relation and tail a line."""
    path = bundle.path("examples.tsv")
    triples = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        parts = line.split("\t")
        if len(parts) != 3 or parts[1] not in schema.relations:
            raise BundleError(
                f"{path}: line {number}: head, a relation of {schema.name} and tail are needed, "
                "with tabs between"
            )
        head, relation, tail = parts
        triples.append(Triple(head, relation, tail))
    return triples
