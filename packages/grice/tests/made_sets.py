"""Small made rated sets, written as the published ones are laid out."""

import gzip
import json
import random
from pathlib import Path

WORDS = (
    "tea", "coffee", "rain", "train", "garden", "sister", "music", "book", "river", "bread",
    "winter", "horse",
)  # fmt: skip
SYSTEMS = ("Meena", "Human", "Mitsuku")


def fed_turn(folder: Path, count: int = 40) -> Path:
    """Write turns whose overall rating rises with their length, two turns per dialogue."""
    rng, lines = random.Random(1), []
    for i in range(count):
        length = 1 + i % 12
        reply = " ".join(rng.choice(WORDS) for _ in range(length))
        quality = length / 3 + rng.random()
        said = [f"Do you like {rng.choice(WORDS)}?", "Yes.", "Why?"]
        turns = [{"speaker": ("user", "system")[j % 2], "text": t} for j, t in enumerate(said)]
        overall = [round(quality), round(quality), None, round(quality + 1)]
        row = {"id": f"fed_turn_{i:04}", "dialogue_id": f"dialogue_{i // 2}", "response": reply}
        row |= {"context": turns[-(1 + 2 * (i % 2)) :], "system": SYSTEMS[i % 3]}
        lines.append(row | {"ratings": {"overall": overall, "fluent": [2, 2, 2, 2]}})
    return write(folder / "rated" / "fed_turn.jsonl", lines)


def fed_dialogue(folder: Path, count: int = 30) -> Path:
    """Write dialogues whose rating rises with the length of the user's turns."""
    rng, lines = random.Random(2), []
    for i in range(count):
        length = 1 + i % 7
        texts = [" ".join(rng.choice(WORDS) for _ in range(n)) for n in (length, 3, length, 3)]
        turns = [{"speaker": ("user", "system")[j % 2], "text": t} for j, t in enumerate(texts)]
        rating = round(length / 2 + rng.random())
        row = {"id": f"fed_dialogue_{i:04}", "turns": turns, "system": SYSTEMS[i % 2]}
        lines.append(row | {"ratings": {"overall": [rating, rating + rng.choice((0, 1))]}})
    return write(folder / "rated" / "fed_dialogue.jsonl", lines)


def write(path: Path, lines: list[dict]) -> Path:
    """Write JSON lines, gzipped as the registry expects them."""
    path = path.with_name(path.name + ".gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def long_replies(rated):
    """Return the replies of a set that are long enough to be compared with training texts."""
    replies = [item.conversation.turns[-1].text for item in rated.items]
    return list(dict.fromkeys(reply for reply in replies if len(reply.split()) >= 5))
