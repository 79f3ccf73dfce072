"""A format in somebody else's package: a conversation a line, its turns behind arrows."""

from grice.data import Conversation, Turn
from grice.errors import RecordError
from grice.readers import Format


def _sniff(prefix):
    return 0.9 if prefix.startswith(b"-> ") else 0.0


def _read(lines, name):
    for line in lines:
        if line.problem:
            yield RecordError(line.problem, file=name, line=line.number)
            continue
        turns = [text.strip() for text in line.data.decode().split("->") if text.strip()]
        if turns:
            speakers = zip("AB" * len(turns), turns, strict=False)
            yield Conversation(f"{name}:{line.number}", tuple(Turn(*turn) for turn in speakers))


SUMMARY = "a conversation a line, its turns behind arrows"
FORMAT = Format(name="arrows", summary=SUMMARY, sniff=_sniff, read=_read)
