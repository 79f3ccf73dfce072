"""Writes ``examples/convai*.jsonl``: chats with bots, every message of which a person rated.

    python docs/examples.py --data DATA

DATA holds ``convai2017/convai2017.jsonl.gz``. Taken are short chats of one person with one bot of
which no model of the relevance metric was trained on a word, and of which every message of the bot
was rated, good (1) or bad (0). The fifty ratings are drawn at random from all.
``convai-next.jsonl`` has a planted flaw: each third message of the bot is one stock phrase.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grice.files import write_lines
from grice.records import json_line
from grice_research.recipes.relevance.corpora import is_held_out

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[1] / "examples"
SAMPLE = 50
STOCK, EACH = "Sorry, I did not get that.", 3
FEWEST_REPLIES, MOST_TURNS, LONGEST = 4, 16, 200
GOOD = 2
"""How the corpus writes that a message was good; 1 is bad, 0 is not rated."""
ROLES = {"Human": "user", "Bot": "assistant"}
UNFIT = re.compile(
    r"https?:|@|\bsex|fuck|shit|\bbitch|\bdick\b|\bporn|\bgay\b|stupid|idiot|rape|nazi|hitler|kill",
    re.IGNORECASE,
)
"""What is not passed on: addresses, and chats that are not fit for a tutorial."""


def main() -> None:
    """Write the chats, their ratings, and fifty of these."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chats = list(chosen(parser.parse_args().data / "convai2017/convai2017.jsonl.gz"))
    ratings = [rating for chat in chats for rating in rated(chat)]
    drawn = sorted(random.Random(0).sample(range(len(ratings)), SAMPLE))
    write("convai.jsonl", [as_messages(chat) for chat in chats])
    write("convai-next.jsonl", [with_stock_phrases(as_messages(chat)) for chat in chats])
    write("convai-ratings.jsonl", ratings)
    write("convai-50-ratings.jsonl", [ratings[place] for place in drawn])


def chosen(corpus: Path) -> Iterator[dict[str, Any]]:
    """Yield the chats that are taken."""
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        for chat in map(json.loads, lines):
            turns, users = chat["turns"], chat["meta"]["users"]
            fit = (
                sorted(users.values()) == sorted(ROLES)
                and not chat["meta"]["amt50"]
                and is_held_out("convai2017", chat["id"])
                and len(turns) <= MOST_TURNS
                and all(turn["text"].isascii() and len(turn["text"]) <= LONGEST for turn in turns)
                and not any(UNFIT.search(turn["text"]) for turn in turns)
            )
            if fit and FEWEST_REPLIES <= len(rated(chat)) == replies(chat):
                yield chat


def replies(chat: dict[str, Any]) -> int:
    """Return how many messages are the bot's."""
    return sum(chat["meta"]["users"][turn["speaker"]] == "Bot" for turn in chat["turns"])


def rated(chat: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the ratings of the bot's messages: good 1, bad 0."""
    users, values = chat["meta"]["users"], chat["meta"]["utt_eval"]
    return [
        {"conversation": name_of(chat), "turn": place, "rating": int(value == GOOD)}
        for place, (turn, value) in enumerate(zip(chat["turns"], values, strict=True))
        if value and users[turn["speaker"]] == "Bot"
    ]


def name_of(chat: dict[str, Any]) -> str:
    """Return the id that a chat has here: one with a dash in front would look like an option."""
    return f"convai-{chat['id'].lstrip('-')}"


def as_messages(chat: dict[str, Any]) -> dict[str, Any]:
    """Return a chat as chat interfaces keep it."""
    users = chat["meta"]["users"]
    messages = [
        {"role": ROLES[users[turn["speaker"]]], "content": turn["text"].strip()}
        for turn in chat["turns"]
    ]
    return {"id": name_of(chat), "messages": messages}


def with_stock_phrases(chat: dict[str, Any]) -> dict[str, Any]:
    """Return a chat in which each third message of the bot is a stock phrase."""
    places = [i for i, message in enumerate(chat["messages"]) if message["role"] == "assistant"]
    stock = set(places[EACH - 1 :: EACH])
    messages = [
        {**message, "content": STOCK} if place in stock else message
        for place, message in enumerate(chat["messages"])
    ]
    return {**chat, "messages": messages}


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Write rows as JSON lines."""
    write_lines(EXAMPLES / name, (json_line(row) + b"\n" for row in rows))


if __name__ == "__main__":
    main()
