"""Made-up conversations, and the scores that a reference processor gave for them.

``python -m grice_research.recipes.reference_scores`` records the scores again, wherever it is run.
"""

from __future__ import annotations

from importlib import resources

import msgspec

from grice.records import Conversation, Turn

__all__ = ["FILE", "Recorded", "ReferenceScores", "conversations", "reference_scores"]

FILE = "reference_scores.json"

_TALKS = (
    # Turns of many lengths, and several of each, so that batches hold padding and company.
    (
        "Did you sleep well?",
        "Not really. The baby next door cried until four in the morning.",
        "Oh no, you must be tired. Shall I make some coffee?",
        "Yes, please. I have to drive to Leeds today, and I can hardly keep my eyes open.",
        "Then take the train. You shouldn't drive when you are this tired.",
    ),
    (
        "I lost my keys somewhere between the gym and the office.",
        "Bananas are rich in potassium.",
        "What? I asked whether you can help me look for them.",
        "Sure. Did you check the pockets of your coat?",
    ),
    ("Hi", "Hello! How are you?", "Fine, thanks.", "Good.", "Good.", "Good.", "Bye"),
    (
        "My sister is getting married in June, and she asked me to bake the cake.",
        "That's wonderful! Have you ever baked a wedding cake before?",
        "Never. I burned the last cake that I made, so my mother is quite worried. I bought a "
        "book, watched a dozen videos and practised with my neighbour, who used to work in a "
        "bakery until she hurt her back. We made three small ones: the first fell apart when we "
        "took it out of the oven, the second tasted of salt because I mixed up the jars, and "
        "the third was actually lovely, so we ate all of it before anybody else came home.",
        "Then you are ready. Bring me a slice!",
    ),
    (
        "Where do you live?",
        "I live in Norway with my two dogs.",
        "I have never been there. Is it cold?",
        "I don't have any dogs, I live in Brazil.",
    ),
    (
        "The doctor says I broke my arm.",
        "Congratulations! You should celebrate and play tennis tonight.",
        "Are you serious? It hurts, and I need an operation.",
        "I'm sorry, that was thoughtless. Can I drive you to the hospital?",
    ),
    ("It rained all week.", "It rained all week.", "We stayed inside and played cards."),
    (
        "can u recommend a good book??",
        "What do you like to read? Crime, history, science fiction?",
        "idk... something short :)",
        "Try a novella, then: you can finish it in an evening, and it costs about £5.99.",
        "ok thx!!! i will order it 2morrow",
        "You're welcome. Tell me how you liked it when you have read it.",
    ),
)


class Recorded(msgspec.Struct, frozen=True):
    """The scores of one metric.

    Attributes:
        signature: What was computed; other scores compare only if theirs is the same.
        values: In the order of the conversations and their turns; None where one failed.
    """

    signature: str
    values: tuple[float | None, ...]


class ReferenceScores(msgspec.Struct, frozen=True):
    """The scores of :func:`conversations` on one processor.

    Attributes:
        kernels: What multiplied matrices there.
    """

    command: str
    processor: str
    instructions: tuple[str, ...]
    kernels: dict[str, str]
    versions: dict[str, str]
    scores: dict[str, dict[str, Recorded]]


def conversations() -> list[Conversation]:
    """Return the conversations that a machine is tried by."""
    return [
        Conversation(
            f"reference-{i:02}", tuple(Turn("AB"[j % 2], text) for j, text in enumerate(talk))
        )
        for i, talk in enumerate(_TALKS)
    ]


def reference_scores() -> ReferenceScores:
    """Return the recorded scores."""
    file = resources.files("grice") / "data" / FILE
    return msgspec.json.decode(file.read_bytes(), type=ReferenceScores)
