"""Explanation graphs by a language model: a chain of facts, the best of some candidates."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from grice.data import Triple
from grice_tasks.explagraphs.graph import Graph, write_graph
from grice_tasks.explagraphs.samples import STANCES, Prediction
from grice_tasks.explagraphs.wording import LONGEST, NEGATION, STOP_WORDS, fact_text
from grice_tasks.tokens import PLAIN_COMPOUNDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice_tasks.explagraphs.samples import Sample, Stance
    from grice_tasks.writer import Writer

EXAMPLES = """\
A chain leads from a belief over its argument to a benefit or harm, and from there to the belief.

Belief: Zoos should be banned.
Argument: Animals in zoos live in small cages.
The argument supports the belief.
Chain: zoos; at location; small cages; causes; suffering; harm; banned

Belief: Alcohol should be forbidden.
Argument: Alcohol brings friends together.
The argument counters the belief.
Chain: alcohol; causes; friends together; causes; joy; benefit; forbidden

Belief: Wind farms should be built.
Argument: Wind makes power without smoke.
The argument supports the belief.
Chain: wind farms; capable of; makes power; has property; without smoke; causes; clean air; \
benefit; built

Belief: Television is bad for people.
Argument: Television tells lonely people the news.
The argument counters the belief.
Chain: television; used for; news; causes; less boredom; benefit; bad

Belief: Everyone should own a gun.
Argument: A gun in the home leads to accidents.
The argument counters the belief.
Chain: gun; causes; accidents; causes; deaths; harm; own

Belief: Smoking should not be allowed.
Argument: Smoking damages the lungs.
The argument supports the belief.
Chain: smoking; causes; damages the lungs; causes; disease; harm; not be allowed

"""
SIDES = {"support": " supports the belief.", "counter": " counters the belief."}
PROMPT = "{}Belief: {}\nArgument: {}\nThe argument{}\nChain:"
ASKED = 'Someone says: "{}" Does this person think that {}?'
LEANING = 0.5
"""How much ``large`` leans to no (nats): halfway between 16 supports and 16 counters."""
CANDIDATES, MAX_TOKENS = 4, 48
MOST = 3  # links of a chain before its value
LINKS = (
    "causes", "not causes", "capable of", "not capable of", "used for", "has property",
    "at location", "part of", "created by", "receives action", "desires",
)  # fmt: skip
VALUES = ("benefit", "harm")
WISH = re.compile(r"\b(?:should|must|need|needs|ought|have to|has to|let)\b", re.IGNORECASE)
CONCEPT = re.compile(r"[a-z0-9'-]+(?: [a-z0-9'-]+){0,2}")
DENIAL = re.compile(rf"{NEGATION.pattern}|\b(?:hardly|scarcely|barely|few|little|less|lack)\b")


class WrittenGraphs:
    """A :class:`~grice_tasks.explagraphs.samples.GraphPredictor` by a language model."""

    def __init__(self, writer: Writer) -> None:
        self.identity, self._writer = writer.identity, writer

    def stances(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[Stance, float]]:
        """Return the stance of each argument to its belief, with the margin in nats."""
        asked = [
            ASKED.format(argument, belief[:1].lower() + belief[1:].rstrip("."))
            for belief, argument in pairs
        ]
        margins = [value + LEANING for value in self._writer.agrees(asked)]
        return [(STANCES[int(margin < 0)], abs(margin)) for margin in margins]

    def predict(
        self, samples: Sequence[Sample], *, stances: Sequence[Stance] | None = None
    ) -> list[Prediction]:
        """Return a stance and a graph for each sample; gold is not used."""
        pairs = [
            (" ".join(sample.belief.split()), " ".join(sample.argument.split()))
            for sample in samples
        ]
        told = stances or [stance for stance, _ in self.stances(pairs)]
        graphs = [self._graph(*pair, stance) for pair, stance in zip(pairs, told, strict=True)]
        return [
            Prediction(sample.id, stance, graph)
            for sample, stance, graph in zip(samples, told, graphs, strict=True)
        ]

    def _graph(self, belief: str, argument: str, stance: Stance) -> str:
        """Return the candidate whose least likely fact is likeliest true, the last one aside."""
        begins = partial(begins_chain, belief=belief, argument=argument)
        prompt = PROMPT.format(EXAMPLES, belief, argument, SIDES[stance])
        written = self._writer.write(prompt, begins, count=CANDIDATES, max_tokens=MAX_TOKENS)
        chains = [text.lower().split("; ") for text in written if begins(f"{text}\n")]
        graphs = [Graph(tuple(_facts(chain, belief, stance))) for chain in chains]
        facts = list(dict.fromkeys(fact_text(e) for graph in graphs for e in graph.edges[:-1]))
        asked = [f"Is this true? {fact.capitalize()}." for fact in facts]
        agreed = dict(zip(facts, self._writer.agrees(asked), strict=True))

        def least(graph: Graph) -> float:
            return min(agreed[fact_text(edge)] for edge in graph.edges[:-1])

        return write_graph(max(graphs, key=least)) if graphs else ""


def _facts(parts: Sequence[str], belief: str, stance: Stance) -> Iterator[Triple]:
    """Yield the facts of a chain; the last one says what its value means for the belief."""
    *links, value, aim = parts
    yield from (Triple(*links[i : i + 3]) for i in range(0, len(links) - 2, 2))
    yield Triple(links[-1], "is a", value)
    relation = "desires" if WISH.search(belief) else "has property"
    yield Triple(value, relation if stance == "support" else f"not {relation}", aim)


def spans(text: str) -> list[str]:
    """Return the runs of one to three words that end in a content word and leave no denial out.

    >>> spans("Smoking should not be allowed.")
    ['smoking', 'not be allowed']
    """
    words, lowered = PLAIN_COMPOUNDS.findall(text.lower()), text.lower()
    found = [
        " ".join(words[start:end])
        for end in range(1, len(words) + 1)
        for start in range(max(0, end - LONGEST), end)
        if words[end - 1] not in STOP_WORDS
        and not DENIAL.match(words[end - 1])
        and (words[start] not in STOP_WORDS or DENIAL.match(words[start]))
        and not DENIAL.search(" ".join(words[max(0, start - LONGEST + 1) : start]))
    ]
    return [span for span in found if span in lowered]


def begins_chain(text: str, belief: str, argument: str) -> bool:
    """Return whether a text begins a chain, or is a whole one where its line ends.

    From a concept of the belief links lead to one of the argument and on to a value, behind which
    comes another concept of the belief: its graph keeps the rules of structure.

    >>> asked = ("Zoos are bad.", "Zoos have cages.")
    >>> [begins_chain(text, *asked) for text in (" zoos; cau", " zoos; hurt", " homes; ")]
    [True, False, False]
    """
    line, end, _ = text.lower().lstrip(" ").partition("\n")
    *whole, last = line.split("; ")
    parts: list[str] = []
    for part in [*whole, last] if end else whole:
        options = _options(parts, belief, argument)
        if part not in options if options is not None else not _is_new(part, parts):
            return False
        parts.append(part)
    valued = len(parts) > 1 and parts[-2] in VALUES
    if end or valued:
        return bool(end) and valued
    options = _options(parts, belief, argument)
    if options is None:
        return not last or CONCEPT.fullmatch(last.rstrip(" ;")) is not None
    return any(f"{option};".startswith(last) for option in options)


def _options(parts: Sequence[str], belief: str, argument: str) -> list[str] | None:
    """Return what may come after the parts of a chain; None for any new concept."""
    count = len(parts)
    least = 3 if not parts or parts[0] in argument.lower() else 5
    if count > 1 and parts[-1] in VALUES:
        options = spans(belief)
    elif count % 2:
        return [*LINKS[: None if count < 2 * MOST else 0], *VALUES[: None if count >= least else 0]]
    elif count >= least:
        return None
    else:
        options = spans(argument if parts else belief)
    used = parts[::2]
    return [each for each in options if not any(each in part or part in each for part in used)]


def _is_new(part: str, parts: Sequence[str]) -> bool:
    return CONCEPT.fullmatch(part) is not None and part not in (*parts, *VALUES)
