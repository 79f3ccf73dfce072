"""Plain transcripts: ``Name: text``, one turn after the other."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from grice.errors import RecordError, excerpt
from grice.readers._format import Bad, Format, Found, Line, stem
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grice.records import Json

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}"
_TIME = rf"(?:{_DATE}(?:,?[ T])[ ]?)?{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_SPEECH = re.compile(
    rf"[ \t]*(?:[\[(](?P<boxed>{_TIME})[\])][ \t]*(?:-[ \t]*)?"
    rf"|(?P<bare>{_TIME})[ \t]+(?:-[ \t]+)?)?"
    r"(?P<name>[^\W_](?:[\w.'’&#@()/-]| (?! )){0,39}?)[ \t]?:(?:[ \t]+|$)(?P<text>.*)",
    re.DOTALL,
)
_MOST_WORDS = 4
_LOOK_AT = 500
_MARKS = "=-*_~#"
_SHORTEST_RULE = 3


class Speech(NamedTuple):
    """One line that says who speaks."""

    time: str | None
    speaker: str
    text: str


def speech(line: str) -> Speech | None:
    """Return who says what in a line, or None if the line does not say who speaks.

    >>> speech("[12:30] Ann: Hello")
    Speech(time='12:30', speaker='Ann', text='Hello')
    >>> speech("see http://example.org") is None
    True
    """
    match = _SPEECH.match(line)
    if match is None or match["name"].count(" ") >= _MOST_WORDS:
        return None
    return Speech(match["boxed"] or match["bare"], match["name"], match["text"])


def prefixed(texts: Sequence[str]) -> list[Turn] | None:
    """Return turns if there are several texts and each opens with ``Name: ``, else None."""
    speeches = [speech(text) for text in texts] if len(texts) > 1 else []
    if not speeches or not all(speeches):
        return None
    return [Turn(spoken.speaker, spoken.text, time=spoken.time) for spoken in speeches if spoken]


class _Open:
    """The conversation that is being read."""

    def __init__(self, line: int, name: str | None = None) -> None:
        self.line = line
        self.id = name
        self.head: list[str] = []
        self.turns: list[tuple[Speech, list[str]]] = []
        self.bad: Bad | None = None
        self.bad_line = 0

    def add(self, text: str, *, blanks: int) -> None:
        spoken = speech(text)
        if spoken is not None:
            self.turns.append((spoken, [spoken.text]))
        elif self.turns:
            self.turns[-1][1].extend([""] * blanks + [text])
        else:
            self.head.append(text)

    def close(self, file: str) -> Found | None:
        """Return the conversation; None if nothing stands between two separators."""
        if self.bad is not None:
            return self.bad.at(file, self.bad_line)
        if not self.turns:
            if not self.head:
                return None
            shown = excerpt(self.head[0], 40)
            return RecordError(f"expected 'Name: text', found {shown!r}", file=file, line=self.line)
        turns = tuple(
            Turn(spoken.speaker, "\n".join(lines).rstrip(), time=spoken.time)
            for spoken, lines in self.turns
        )
        meta: dict[str, Json] = {"heading": "\n".join(self.head)} if self.head else {}
        return Conversation(self.id or f"{stem(file)}:{self.line}", turns, meta=meta)


def _separator(text: str) -> str | None:
    """Return the id in a line that parts conversations, empty if it has none; else None."""
    text = text.strip()
    mark = text[:1]
    if mark not in _MARKS or not mark:
        return None
    if mark == "#":
        name = text.lstrip("#")
        if name[:1].isspace() and name.strip(" \t#"):
            return name.strip()
    name = text.strip(mark).strip()
    if not name:
        return "" if len(text) >= _SHORTEST_RULE else None
    rule = mark * _SHORTEST_RULE
    return name if text.startswith(rule) and text.endswith(rule) else None


def _blank_parts(lines: list[Line | RecordError]) -> bool:
    """Return whether a blank line parts conversations.

    It does not if other separators are used, or if every turn stands alone between blank lines.
    """
    turns = 0
    several = False
    for line in lines:
        text = "" if isinstance(line, RecordError) else line.data.decode("utf-8", "replace")
        if not text.strip():
            turns = 0
        elif _separator(text) is not None:
            return False
        elif speech(text):
            turns += 1
            several = several or turns > 1
    return several


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    ahead = iter(lines)
    first = list(islice(ahead, _LOOK_AT))
    blank_parts = _blank_parts(first)
    now = _Open(1)
    blanks = 0
    for number, line in enumerate(chain(first, ahead), 1):
        if isinstance(line, RecordError):
            now.bad, now.bad_line = Bad(line.field, line.problem), line.line or number
            continue
        try:
            text = line.text()
        except Bad as bad:
            if blanks and blank_parts and now.turns:
                yield from _closed(now, name)
                now = _Open(line.number)
            if now.bad is None:
                now.bad, now.bad_line = bad, line.number
            continue
        if not text.strip():
            blanks += 1
            continue
        parted = _separator(text)
        if parted is not None or (
            blanks and blank_parts and (now.turns or now.bad) and speech(text)
        ):
            yield from _closed(now, name)
            now = _Open(line.number, parted or None)
        elif not now.turns and not now.head and not now.id:
            now.line = line.number
        if parted is None:
            now.add(text, blanks=blanks)
        blanks = 0
    yield from _closed(now, name)


def _closed(now: _Open, name: str) -> Iterator[Found]:
    record = now.close(name)
    if record is not None:
        yield record


def _sniff(prefix: bytes) -> float:
    text = prefix.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line.strip()][:200]
    plain = [line for line in lines if _separator(line) is None]
    speeches = [spoken for line in plain if (spoken := speech(line)) and spoken.text]
    if not speeches or not any(speech(line) for line in plain[:2]):
        return 0.0
    speakers = len({spoken.speaker for spoken in speeches})
    # Many names that come once each are a list of fields, and few names in much text are prose.
    if speakers > max(6, len(speeches) // 2) or 4 * len(speeches) < len(plain):
        return 0.0
    return 0.3 + 0.5 * len(speeches) / len(plain)


FORMAT = Format(
    name="transcript",
    summary="plain text with lines such as `Name: text`, with or without a time",
    description="""\
A time may stand in front: `[12:30] Name: text` or `12:30 - Name: text`, with a date or without;
it becomes the time of the turn. A line without a name belongs to the turn before it. A line such
as `# id`, `===` or `=== id ===` begins a new conversation; in a file without such lines a blank
line before a name does, unless every turn stands between blank lines. Text before the first turn
is kept as `heading` in the meta. Which of these holds is decided by the first 500 lines. A file is
recognised as a transcript if one of its first two lines, and a quarter of the lines seen, name a
speaker.""",
    example="""\
# walk
[12:30] Ann: Is it far?
[12:31] Bob: Ten minutes.
Or a little more.

# talk
Ann: Hello!
Bob: Hi.
""",
    sniff=_sniff,
    read=_read,
)
