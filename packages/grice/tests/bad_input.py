"""Records that are wrong in two ways at once, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any

__all__ = ["GOOD", "HOSTILE", "KINDS", "lines", "pairs"]

GOOD = (
    "Do you have any pets?",
    "Yes, two cats and a parrot, because I like company.",
    "Lucky you!",
)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
DEEP = 500

Change = Callable[[dict[str, Any], int], object]
ByteChange = Callable[[bytes], bytes]


def _texts(text: Callable[[int], str]) -> Change:
    def change(record: dict[str, Any], size: int) -> None:
        if isinstance(record["turns"], list):
            for turn in record["turns"]:
                turn["text"] = text(size)

    return change


def _last(field: str, value: object) -> Change:
    def change(record: dict[str, Any], size: int) -> None:
        if isinstance(record["turns"], list) and record["turns"]:
            record["turns"][-1][field] = value

    return change


def _field(field: str, value: Callable[[int], object]) -> Change:
    return lambda record, size: record.update({field: value(size)})


def _many_turns(record: dict[str, Any], size: int) -> None:
    if isinstance(record["turns"], list):
        record["turns"] *= max(1, size // 5000)


def _nested(size: int = DEEP) -> object:
    value: object = []
    for level in range(size):
        value = [value] if level % 2 else {"in": value}
    return value


RECORD: dict[str, Change] = {
    "no turns": _field("turns", lambda _: []),
    "turns are a number": _field("turns", lambda _: 5),
    "empty texts": _texts(lambda _: ""),
    "blank texts": _texts(lambda _: " \n\t\u200b"),
    "no letters": _texts(lambda _: "?! … 😀 123"),
    "another script": _texts(lambda _: "日本語を話しますか。"),
    "a huge text": _texts(lambda size: "word " * (size // 5)),
    "a huge word": _texts(lambda size: "x" * size),
    "many turns": _many_turns,
    "no text": _last("text", None),
    "text is a list": _last("text", ["a"]),
    "speaker is an object": _last("speaker", {"a": [1]}),
    "a huge speaker": _field("speaker", lambda size: "s" * size),
    "a huge key": lambda record, size: record.update({"k" * size: 1}),
    "a huge id": _field("id", lambda size: "i" * size),
    "id is a list": _field("id", lambda _: [1]),
    "a huge number": _field("n", lambda _: 10**400),
    "targets of no turn": _field("targets", lambda _: ["x", -1, 10**9]),
    "many targets": _field("targets", lambda size: [0] * (size // 10)),
    "nested deeply": _field("extra", lambda _: _nested()),
    "turn nested deeply": _last("extra", _nested()),
    "scripts": _texts(lambda _: HOSTILE),
    "a hostile id": _field("id", lambda _: HOSTILE),
    "a hostile key": lambda record, _: record.update({HOSTILE: HOSTILE}),
    "steering": _texts(lambda _: "red \x1b[31m bell \x07 turned \u202e back"),
    "a steering id": _field("id", lambda _: "\x1b]0;x\x07\u202e"),
    "a formula": _texts(lambda _: '=HYPERLINK("http://example.org")'),
    "templates": _texts(lambda _: "{{ 7 * 7 }} %s %n ${x} {0} $(true)"),
    "tags": _texts(lambda _: "purple<br>monkey<p class='x'>dishwasher"),
    "instructions": _last("role", "system"),
}  # fmt: skip
"""Changes of a decoded record; the second argument says how large the huge ones are."""

LINE: dict[str, ByteChange] = {
    "cut off": lambda line: line[: len(line) // 2],
    "not UTF-8": lambda line: line.replace(b"a", b"\xe9", 1),
    "UTF-16": lambda line: line.decode("utf-8", "replace").encode("utf-16-le"),
    "a NUL": lambda line: line.replace(b"a", b"\x00", 1),
    "half a character": lambda line: line.replace(b": \"", b": \"\\ud800", 1),
    "not a number": lambda line: line.replace(b"{", b'{"v": NaN, ', 1),
    "a key twice": lambda line: line.replace(b"{", b'{"turns": [], "id": 7, ', 1),
    "garbage": lambda line: b"\x1b[31m garbage " + line[:40],
}  # fmt: skip
"""Changes of the bytes of a record."""

KINDS = (*RECORD, *LINE)


def pairs() -> list[tuple[str, str]]:
    """Return every pair of kinds, each kind with itself too."""
    return list(combinations_with_replacement(KINDS, 2))


def lines(kind: str, size: int) -> Iterator[bytes]:
    """Yield the record of each pair with a kind, a good record behind each."""
    yield _good("first")
    for number, (first, second) in enumerate(pairs()):
        if first == kind:
            yield _bad(f"bad {number}", (first, second), size)
            yield _good(f"good {number}")


def _good(name: str) -> bytes:
    turns = [{"speaker": "AB"[i % 2], "text": text} for i, text in enumerate(GOOD)]
    return json.dumps({"id": name, "turns": turns}).encode() + b"\n"


def _bad(name: str, kinds: tuple[str, str], size: int) -> bytes:
    record = json.loads(_good(name))
    for kind in kinds:
        if kind in RECORD:
            RECORD[kind](record, size)
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for kind in kinds:
        if kind in LINE:
            line = LINE[kind](line)
    return line.replace(b"\n", b" ") + b"\n"
