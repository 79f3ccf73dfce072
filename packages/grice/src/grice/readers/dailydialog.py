"""One conversation per line, every turn ended by ``__eou__``: the layout of DailyDialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.readers._build import alternate
from grice.readers._format import Bad, Format, Found, Line, stem
from grice.readers._json import parsed_lines
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.errors import RecordError

_END = "__eou__"


def _turns(text: str) -> tuple[Turn, ...]:
    parts = [part.strip() for part in text.split(_END)]
    if len(parts) == 1:
        raise Bad(None, f"expected turns that end in {_END}, found none")
    if not parts[-1]:
        parts.pop()
    if not any(parts):
        raise Bad("turns", "no turn")
    return tuple(Turn(alternate(index), part) for index, part in enumerate(parts))


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    base = stem(name)
    return parsed_lines(
        lines,
        name,
        lambda line: (Conversation(f"{base}:{line.number}", _turns(line.text())),),
    )


def _sniff(prefix: bytes) -> float:
    lines = [line for line in prefix.split(b"\n") if line.strip()][:20]
    marked = sum(b"__eou__" in line and not line.lstrip().startswith(b"{") for line in lines)
    return 0.9 * marked / len(lines) if lines else 0.0


FORMAT = Format(
    name="dailydialog",
    summary="text with one conversation per line, each turn ended by `__eou__` (DailyDialog)",
    description="""\
Speakers are A and B by turns. White space around a turn is left out. A line without `__eou__` is
an error. The id is the name of the file and the line.""",
    example="""\
Is it far ? __eou__ Ten minutes . __eou__ Thank you . __eou__
""",
    sniff=_sniff,
    read=_read,
)
