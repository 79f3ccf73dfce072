"""Text files of ParlAI: one exchange per line, its fields parted by tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import RecordError
from grice.readers._format import Bad, Format, Found, Line, stem
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grice.records import Json

_LABELS = ("labels", "eval_labels")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "__PIPE__": "|"}


def _plain(value: str) -> str:
    for escape, character in _ESCAPES.items():
        value = value.replace(escape, character)
    return value


def _fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for place, cell in enumerate(text.split("\t")):
        name, colon, value = cell.partition(":")
        if not colon or not name.replace("_", "").isalnum():
            raise Bad(None, f"expected name:value in tab-parted cell {place + 1}")
        fields[name] = value
    if "text" not in fields and not any(name in fields for name in _LABELS):
        raise Bad("text", f"missing; found {', '.join(fields)}")
    return fields


def _exchange(fields: dict[str, str]) -> tuple[list[Turn], bool]:
    """Return the one or two turns of a line, and whether the episode ends with it."""
    done = fields.pop("episode_done", "").strip().lower() == "true"
    text = fields.pop("text", None)
    labels: list[str] = []
    for name in _LABELS:
        if name in fields:
            labels = [_plain(label) for label in fields.pop(name).split("|")]
            break
    meta: dict[str, Json] = {}
    for name, value in fields.items():
        if name == "label_candidates":
            meta[name] = [_plain(part) for part in value.split("|")]
        else:
            meta[name] = _plain(value)
    turns = [] if text is None else [Turn("A", _plain(text), meta=meta)]
    if labels:
        turns.append(Turn("B", labels[0], references=tuple(labels[1:]), meta={} if turns else meta))
    return turns, done


def _read(lines: Iterable[Line | RecordError], name: str) -> Iterator[Found]:
    base = stem(name)
    turns: list[Turn] = []
    first = 0
    broken = False
    for line in lines:
        if not isinstance(line, RecordError) and not line.data.strip():
            continue
        try:
            if isinstance(line, RecordError):
                raise Bad(line.field, line.problem)
            exchange, done = _exchange(_fields(line.text()))
        except Bad as bad:
            # Between two episodes a bad line harms none of them; inside one it takes a turn away.
            broken = bool(turns)
            number = line.line or first if isinstance(line, RecordError) else line.number
            yield bad.at(name, number)
            continue
        first = first if turns else line.number
        turns += exchange
        if done:
            yield _episode(turns, name, base, first, broken=broken)
            turns, broken = [], False
    if turns:
        yield _episode(turns, name, base, first, broken=broken)


def _episode(turns: list[Turn], name: str, base: str, first: int, *, broken: bool) -> Found:
    if broken:
        return RecordError(
            "the episode that begins here is left out: a line of it cannot be read",
            file=name,
            line=first,
        )
    return Conversation(f"{base}:{first}", tuple(turns))


def _sniff(prefix: bytes) -> float:
    lines = [line for line in prefix.split(b"\n") if line.strip()][:20]
    fits = sum(
        line.startswith((b"text:", b"labels:", b"eval_labels:", b"id:"))
        and (b"\tlabels:" in line or b"\teval_labels:" in line or b"\tepisode_done:" in line)
        for line in lines
    )
    return 0.95 * fits / len(lines) if lines else 0.0


FORMAT = Format(
    name="parlai",
    summary="ParlAI text: `text:…` and `labels:…` parted by tabs, `episode_done:True` at the end",
    description="""\
A line gives a turn by A (`text`) and a turn by B (the first of `labels` or `eval_labels`; the
others become its references). Lines up to `episode_done:True` are one conversation. `\\n`, `\\t`
and `__PIPE__` stand for a line end, a tab and `|`. Other fields become meta of the turn. A broken
line inside an episode leaves the episode out.""",
    example="""\
text:Is it far?\tlabels:Ten minutes.|No.
text:Thank you.\tlabels:You are welcome.\tepisode_done:True
""",
    sniff=_sniff,
    read=_read,
)
