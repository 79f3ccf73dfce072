"""Files to be scored, and a worker's function that notes when it scored each: for benches alone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec

from grice.integrations.shards import score_encoded, shard_of
from grice.records import json_line

ROOT = Path(__file__).parents[1]
CHATS = ROOT / "examples" / "convai.jsonl"


class Noted(msgspec.Struct, frozen=True):
    """When a file was scored, by the clock, and the processor time it took, in seconds."""

    began: float
    ended: float
    cpu: float

    @property
    def wall(self) -> float:
        """Seconds by the clock."""
        return self.ended - self.began


def score_and_note(task: bytes) -> bytes:
    """Score a file as every worker does, and note beside its shard when that was."""
    began, before = time.time(), time.process_time()
    answer = score_encoded(task)
    noted = Noted(began, time.time(), time.process_time() - before)
    Path(f"{shard_of(answer).shard}.noted").write_bytes(json_line(noted))
    return answer


def noted_in(folder: Path) -> list[Noted]:
    """Return what workers noted in a folder of shards, by when they began."""
    notes = [msgspec.json.decode(path.read_bytes(), type=Noted) for path in folder.glob("*.noted")]
    return sorted(notes, key=lambda note: note.began)


def files_of(folder: Path, copies: int, most: int | None = None) -> int:
    """Write the chats into files, each of other texts, and return how many turns they have.

    Args:
        most: Conversations of a file; by default all that ``examples/convai.jsonl`` has.
    """
    folder.mkdir(exist_ok=True)
    records = [json.loads(line) for line in CHATS.read_text("utf-8").splitlines()][:most]
    turns = 0
    for copy in range(copies):
        lines = []
        for record in records:
            messages = [
                {**turn, "content": f"{turn['content']} {copy}"} for turn in record["messages"]
            ]
            turns += len(messages)
            lines.append(json.dumps({**record, "messages": messages}))
        (folder / f"{copy:03}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return turns
