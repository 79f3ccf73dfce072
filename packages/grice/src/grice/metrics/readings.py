"""Conversations as passages that a language model reads once for all their replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grice.models.protocols import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from grice.models.protocols import Passage
    from grice.records import Response


class Reading(NamedTuple):
    """Turns that are read at once, and which of them are judged.

    Attributes:
        turns: Speaker and text of each turn.
        replies: Number of the judged reply by the index of its turn.
    """

    turns: list[tuple[str, str]]
    replies: dict[int, int]

    def numbers(self) -> list[int]:
        """Return the numbers of the judged replies in the order of their turns."""
        return [self.replies[turn] for turn in sorted(self.replies)]

    def passage(self, first: str, rest: str = "") -> Passage:
        """Return the turns as lines of speakers A, B, …; the judged ones are scored.

        Args:
            first: The speaker that is called A; the others are named in order of appearance.
            rest: What of the end of its line a judged turn is scored with.
        """
        names = {first: "A"}
        segments = []
        for place, (speaker, text) in enumerate(self.turns):
            name = names.setdefault(speaker, chr(ord("A") + len(names) % 26))
            line = f" {text.strip()}"
            segments.append(Segment(f"{name}:"))
            if place in self.replies:
                segments += [Segment(line + rest, scored=True), Segment("\n"[len(rest) :])]
            else:
                segments.append(Segment(f"{line}\n"))
        return segments


def readings(
    responses: Sequence[Response], course: Callable[[Response], Hashable] = lambda _: None
) -> Iterator[Reading]:
    """Join each reply to the reading before it, if that is the beginning of its history.

    Args:
        responses: Replies with their histories.
        course: Replies of one course may share a reading.
    """
    open_readings: dict[Hashable, Reading] = {}
    for number, response in enumerate(responses):
        turns = [(turn.speaker, turn.text) for turn in response.history]
        turns.append((response.speaker, response.text))
        key = course(response)
        reading = open_readings.get(key)
        begun = len(reading.turns) if reading else 0
        # A reply that comes once more is a reading of its own, so that both are judged.
        if reading and begun < len(turns) and turns[:begun] == reading.turns:
            reading.turns.extend(turns[begun:])
            reading.replies[len(turns) - 1] = number
            continue
        if reading:
            yield reading
        open_readings[key] = Reading(turns, {len(turns) - 1: number})
    yield from open_readings.values()
