"""Lines such as ``Name: text``, with or without a time in front."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grice.records import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

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
