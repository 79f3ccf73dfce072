"""Text files: transcripts (``Name: text``), lines of DailyDialog, exchanges of ParlAI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from grice.data import Conversation, Json, Turn
from grice.errors import RecordError, excerpt
from grice.readers._formats import FieldError, Format, Found, Line, stem

if TYPE_CHECKING:
    from grice.readers.table import Row

Item = TypeVar("Item", "Line", "Row")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}"
_TIME = rf"(?:{_DATE}(?:,?[ T])[ ]?)?{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_SPEECH = re.compile(
    rf"[ \t]*(?:[\[(](?P<boxed>{_TIME})[\])][ \t]*(?:-[ \t]*)?"
    rf"|(?P<bare>{_TIME})[ \t]+(?:-[ \t]+)?)?"
    r"(?P<name>[^\W_](?:[\w.'’&#@()/-]| (?! )){0,39}?)[ \t]?:(?:[ \t]+|$)(?P<text>.*)",
    re.DOTALL,
)


def speech(line: str) -> Turn | None:
    """Return the turn of a line such as ``[12:30] Ann: Hello``; None if it names no speaker.

    >>> speech("see http://example.org") is None
    True
    """
    match = _SPEECH.match(line) if ":" in line else None
    if match is None or match["name"].count(" ") > 3:
        return None
    return Turn(match["name"], match["text"], time=match["boxed"] or match["bare"])


def prefixed(texts: Sequence[str]) -> list[Turn] | None:
    """Return turns if there are several texts and each opens with ``Name: ``, else None."""
    turns = []
    for text in texts if len(texts) > 1 else ():
        if (turn := speech(text)) is None:
            return None
        turns.append(turn)
    return turns or None


class _Transcript:
    """The conversation that is being read: text before its first turn, and turns."""

    def __init__(self, line: int, name: str | None = None) -> None:
        self.line, self.id = line, name
        self.head: list[str] = []
        self.turns: list[tuple[Turn, list[str]]] = []  # with its further lines
        self.error: RecordError | None = None

    def records(self, file: str) -> Iterator[Found]:
        """Yield the conversation, or its error; nothing between two separators."""
        if self.error is not None:
            yield self.error
        elif self.turns:
            turns = tuple(
                replace(turn, text="\n".join([turn.text, *lines]).rstrip())
                for turn, lines in self.turns
            )
            meta: dict[str, Json] = {"heading": "\n".join(self.head)} if self.head else {}
            yield Conversation(self.id or f"{stem(file)}:{self.line}", turns, meta=meta)
        elif self.head:
            problem = f"expected 'Name: text', found {excerpt(self.head[0], 40)!r}"
            yield RecordError(problem, file=file, line=self.line)


def _separator(text: str) -> str | None:
    """Return the id in a line between conversations, empty if it has none; else None."""
    text = text.strip()
    mark = text[:1]
    if not mark or mark not in "=-*_~#":
        return None
    rule, name = 3 * mark, text.strip(mark).strip()
    heading = text.lstrip("#")
    if mark == "#" and name and heading[:1].isspace():
        return heading.strip()
    if not name and len(text) >= len(rule):
        return ""
    return name if text.startswith(rule) and text.endswith(rule) else None


def _blank_separates(lines: Sequence[Line]) -> bool:
    """Return whether blank lines separate conversations, and neither rules nor single turns."""
    turns = most = 0
    for line in lines:
        text = line.data.decode("utf-8", "replace")
        if _separator(text) is not None:
            return False
        turns = turns + bool(speech(text)) if text.strip() else 0
        most = max(most, turns)
    return most > 1


def _read_transcript(lines: Iterable[Line], name: str) -> Iterator[Found]:
    ahead = iter(lines)
    first = list(islice(ahead, 500))
    blank_separates = _blank_separates(first)
    now = _Transcript(1)
    blanks = 0
    for line in chain(first, ahead):
        separator, spoken, error = None, None, None
        try:
            text = line.text()
            if not text.strip():
                blanks += 1
                continue
            separator = _separator(text)
            spoken = speech(text) if separator is None else None
        except FieldError as bad:
            error = bad.at(name, line.number)
        parted = bool(blanks and blank_separates and (now.turns or now.error))
        if separator is not None or (parted and (spoken or error)):
            yield from now.records(name)
            now = _Transcript(line.number, separator or None)
        elif not (now.turns or now.head or now.id or now.error):
            now.line = line.number
        if error is not None:
            now.error = now.error or error
        elif spoken is not None:
            now.turns.append((spoken, []))
        elif separator is None and now.turns:
            now.turns[-1][1].extend([""] * blanks + [text])
        elif separator is None:
            now.head.append(text)
        blanks = 0
    yield from now.records(name)


def _sniff_transcript(prefix: bytes) -> float:
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


class Part(NamedTuple):
    """Turns that a line adds to the conversation of an id; A and B are those without a speaker."""

    id: str | None
    turns: Sequence[Turn]
    ends: bool = False


def grouped(items: Iterable[Item], name: str, parse: Callable[[Item], Part]) -> Iterator[Found]:
    """Yield the conversations of parts that stand together; of one with a broken part its error."""
    turns: list[Turn] = []
    group: str | None = None
    first = 0
    bad = broken = 0  # lines: a bad one may belong to this conversation, a broken one does

    def ended() -> Found:
        if not broken:
            return Conversation(group or f"{stem(name)}:{first}", tuple(turns))
        problem = f"line {broken} inside it cannot be read"
        whole = f"the conversation that begins here is skipped: {problem}"
        return RecordError(whole, file=name, line=first)

    for item in items:
        if isinstance(item, Line) and item.is_blank():
            continue
        try:
            part = parse(item)
        except FieldError as error:
            bad = item.number
            yield error.at(name, bad)
            continue
        if turns and part.id != group:
            yield ended()
            turns = []
        if not turns:
            group, first, broken = part.id, item.number, 0
        elif bad:
            broken = bad
        bad = 0
        for turn in part.turns:
            turns.append(turn if turn.speaker else replace(turn, speaker="AB"[len(turns) % 2]))
        if part.ends:
            yield ended()
            turns = []
    if turns:
        yield ended()


def _share(prefix: bytes, fits: Callable[[bytes], bool]) -> float:
    """Return the share of the first twenty lines that fit."""
    lines = [line for line in prefix.split(b"\n") if line.strip()][:20]
    return sum(map(fits, lines)) / len(lines) if lines else 0.0


def _dailydialog_part(line: Line) -> Part:
    parts = [part.strip() for part in line.text().split("__eou__")]
    if len(parts) == 1:
        raise FieldError(None, "expected turns that end in __eou__, found none")
    if not parts[-1]:
        parts.pop()
    if not any(parts):
        raise FieldError("turns", "no turn")
    turns = [Turn("AB"[index % 2], part) for index, part in enumerate(parts)]
    return Part(None, turns, ends=True)


def _unescaped(value: str) -> str:
    return value.replace("\\n", "\n").replace("\\t", "\t").replace("__PIPE__", "|")


def _parlai_part(line: Line) -> Part:
    """Return the one or two turns of a line."""
    fields: dict[str, str] = {}
    for place, cell in enumerate(line.text().split("\t")):
        name, colon, value = cell.partition(":")
        if not colon or not name.replace("_", "").isalnum():
            raise FieldError(None, f"expected name:value in tab-parted cell {place + 1}")
        fields[name] = value
    if fields.keys().isdisjoint(("text", "labels", "eval_labels")):
        raise FieldError("text", f"missing; found {', '.join(fields)}")
    done = fields.pop("episode_done", "").strip().lower() == "true"
    said = fields.pop("text", None)
    stated = fields.pop("labels" if "labels" in fields else "eval_labels", None)
    meta: dict[str, Json] = {
        name: [_unescaped(part) for part in value.split("|")]
        if name == "label_candidates"
        else _unescaped(value)
        for name, value in fields.items()
    }
    turns = [] if said is None else [Turn("A", _unescaped(said), meta=meta)]
    if stated is not None:
        label, *others = map(_unescaped, stated.split("|"))
        turns.append(Turn("B", label, references=tuple(others), meta={} if turns else meta))
    return Part(None, turns, done)


def _is_parlai(line: bytes) -> bool:
    return line.startswith((b"text:", b"labels:", b"eval_labels:", b"id:")) and any(
        mark in line for mark in (b"\tlabels:", b"\teval_labels:", b"\tepisode_done:")
    )


FORMATS = (
    Format("transcript", "lines such as `Name: text`", _sniff_transcript, _read_transcript),
    Format(
        "dailydialog",
        "DailyDialog: a conversation per line, each turn ended by `__eou__`",
        lambda prefix: (
            0.9 * _share(prefix, lambda line: b"__eou__" in line and line.lstrip()[:1] != b"{")
        ),
        partial(grouped, parse=_dailydialog_part),
    ),
    Format(
        "parlai",
        "ParlAI: `text:…` and `labels:…` with tabs",
        lambda prefix: 0.95 * _share(prefix, _is_parlai),
        partial(grouped, parse=_parlai_part),
    ),
)
