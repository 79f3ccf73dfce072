"""Score files and other rows of numbers, read line by line."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grice.data import Conversation, Json, Score, Status
from grice.errors import InputError, RecordError, did_you_mean, os_reason, redacted
from grice.files import files_under, is_folder, is_url, open_url
from grice.readers import files_of, from_file, read, recognise
from grice.scoring.arrow import MAGIC, lines_of

TURNS = (1 << 32) - 1  # turns of a conversation are numbered below this
SCORE = "a score as grice score writes it"
CONVERSATION = ("conversation", "conversation_id", "id", "session_id", "trace_id", "dialogue_id")
TURN = ("turn", "turn_index")
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
MISSING = object()
Row = TypeVar("Row")
Scored = TypeVar("Scored", Score, "ScoreLine")


class Origin(msgspec.Struct, frozen=True):
    """The extra field of scores of several inputs."""

    file: str | None = None


class ScoreLine(msgspec.Struct, frozen=True):
    """A :class:`~grice.data.Score` without reason, flags and evidence."""

    conversation: str
    turn: int | None
    metric: str
    value: float | None
    status: Status
    signature: str
    meta: Origin = Origin()


def read_score_lines(file: str) -> Iterator[tuple[int, ScoreLine]]:
    """Yield each score of a file without its evidence, with its line number from 1."""
    return _read(file, ScoreLine)


def read_scores(file: str) -> Iterator[tuple[int, Score]]:
    """Yield each score of a file with its line number from 1."""
    return _read(file, Score)


def _read(file: str, kind: type[Scored]) -> Iterator[tuple[int, Scored]]:
    """Yield checked scores; ``FILE#COLUMN`` is a column of another tool's file."""
    column = re.fullmatch(r"(.+)#([^#/\\]+)", file, re.DOTALL)
    if column is None or is_url(file) or Path(file).exists():
        scores = _json_rows(file, kind, SCORE)
    else:
        scores = ((n, msgspec.convert(row, kind)) for n, row in _other_scores(*column.groups()))
    for number, score in scores:
        problem = field = ""
        if score.turn is not None and not 0 <= score.turn < TURNS:
            problem, field = f"a turn is counted from 0, found {score.turn}", "turn"
        elif score.status == "ok" and score.value is None:
            problem, field = 'a score with status "ok" needs a value, found null', "value"
        if problem:
            raise RecordError(problem, file=_name(file), line=number, field=field)
        yield number, score


def _other_scores(file: str, column: str) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the fields of a score for each row of another tool's file, with its line number."""
    known = False
    for line, row in any_rows(file):
        cell: Any = row
        for part in [column] if column in row else column.split("."):
            cell = cell.get(part, MISSING) if isinstance(cell, dict) else MISSING
        if cell is MISSING and not known:
            names = [name for name in row if isinstance(name, str)]
            raise InputError(
                f"{file}: no column {column!r}{did_you_mean(column, names)}; "
                f"there are {', '.join(names[:12])}"
            )
        known = True
        conversation, turn = item_of(row, file, line)
        value = math.nan
        if cell not in (None, MISSING) and not (isinstance(cell, str) and not cell.strip()):
            try:
                value = float(cell)
            except (TypeError, ValueError):
                value = math.inf
            if math.isinf(value):
                problem = f"expected a finite number, found {cell!r:.60}"
                raise RecordError(problem, file=file, line=line, field=column)
        missing, signature = math.isnan(value), f"column:{column}"
        yield (
            line,
            {
                "conversation": conversation, "turn": turn, "metric": column,
                "value": None if missing else value, "status": "abstained" if missing else "ok",
                "reason": None, "flags": [], "evidence": [], "signature": signature,
            },
        )  # fmt: skip


def item_of(row: Mapping[str, Any], file: str, line: int) -> tuple[str, int | None]:
    """Return the conversation and the turn that a row of a table or of JSON lines names."""
    conversation, turn = (
        next((row[name] for name in names if row.get(name) not in (None, "")), None)
        for names in (CONVERSATION, TURN)
    )
    if isinstance(conversation, bool) or not isinstance(conversation, str | int):
        problem = (
            f"no conversation is named; one of {', '.join(CONVERSATION)} is needed, found "
            f"{', '.join(row) or 'no field'}"
        )
        raise RecordError(problem, file=file, line=line, field="conversation")
    if turn is None:
        return str(conversation), None
    digits = str(turn).strip().removesuffix(".0")
    if isinstance(turn, bool) or not re.fullmatch("[0-9]{1,10}", digits):
        problem = f"expected the number of a turn, counted from 0, found {turn!r:.60}"
        raise RecordError(problem, file=file, line=line, field="turn")
    return str(conversation), int(digits)


def any_rows(file: str, expected: str = SCORE) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each row of a table, or each object of JSON lines, with its line number."""
    if file.lower().endswith(TABLES):
        return _table_rows(file)
    return _json_rows(file, dict[str, Any], expected)


def _json_rows(file: str, kind: type[Row], expected: str) -> Iterator[tuple[int, Row]]:
    decoder = msgspec.json.Decoder(kind)
    some = False
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            some = True
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                if number == 1 and expected == SCORE:
                    _refuse_conversations(line, file)
                problem, field = str(error), None
                if not isinstance(error, msgspec.ValidationError):
                    problem = f"not a JSON object on one line ({problem})"
                elif place := re.fullmatch(r"(.*) - at `\$\.?(.*)`", problem, re.DOTALL):
                    problem, field = place[1], place[2] or None
                message = f"{problem}; {expected} is expected"
                raise RecordError(message, file=_name(file), line=number, field=field) from None
            yield number, record
    if not some:
        raise InputError(f"{_name(file)}: contains no lines")


def _refuse_conversations(line: bytes, file: str) -> None:
    """Refuse a file whose first line holds a conversation instead of a score."""
    try:
        form = recognise(line, "").name
    except InputError:
        return
    raise InputError(
        f"{_name(file)}: contains conversations (format {form}) instead of scores; "
        "grice score FILE -o OUT.jsonl writes them"
    ) from None


def _table_rows(file: str) -> Iterator[tuple[int, dict[str, str]]]:
    some = False
    with _opened(file) as lines:
        tabs = file.removesuffix(".gz").lower().endswith(".tsv")
        texts = codecs.iterdecode(lines, "utf-8-sig")
        table = csv.DictReader(texts, delimiter="\t" if tabs else ",", restval="")
        try:
            for row in table:
                if None in row:
                    problem = f"{len(row[None])} more cells than the header"
                    raise RecordError(problem, file=_name(file), line=table.line_num)
                some = True
                yield table.line_num, row
        except UnicodeDecodeError as error:
            problem = f"not UTF-8: {error.reason}"
            raise RecordError(problem, file=_name(file), line=table.line_num + 1) from None
        except csv.Error as error:
            raise RecordError(str(error), file=_name(file), line=table.line_num) from None
    if not some:
        raise InputError(f"{_name(file)}: contains no rows")


@contextmanager
def _opened(file: str) -> Iterator[Iterable[bytes]]:
    """Open a file, standard input, a URL, or a folder of shards as lines."""

    def plain(place: str) -> io.BufferedReader:
        return open_url(place) if is_url(place) else Path(place).open("rb")

    def rows(shard: str) -> Iterator[bytes]:
        with plain(shard) as table:
            yield from lines_of(table, shard)

    def source(shard: str) -> tuple[str, str]:
        first: dict[str, Any] = msgspec.json.decode(next(rows(shard), b"{}"))
        return (first.get("meta") or {}).get("file") or "", shard

    try:
        if file == "-":
            yield sys.stdin.buffer
        elif _is_folder(file):
            names = files_under(file) if is_url(file) else map(str, Path(file).glob("[!.]*"))
            shards = [name for name in names if name.endswith(".parquet")]
            if not shards:
                raise InputError(
                    f"{file}: contains no table of scores; grice score --engine writes such folders"
                )
            yield chain.from_iterable(map(rows, sorted(shards, key=source)))
        elif file.endswith(".gz"):
            with gzip.open(file, "rb") as packed:
                yield packed
        else:
            with plain(file) as opened:
                yield lines_of(opened, file) if opened.peek(6).startswith(MAGIC) else opened
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{_name(file)}: cannot be read: {os_reason(error)}") from None


def _is_folder(file: str) -> bool:
    return is_folder(file) if is_url(file) else Path(file).is_dir()


def _name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def by_conversation(scores: Iterable[Score]) -> Iterator[list[Score]]:
    """Yield the adjacent scores of each conversation of each file."""
    for _, group in groupby(scores, key=lambda score: (score.conversation, score.meta.get("file"))):
        yield list(group)


def joined(
    scores: str,
    files: Sequence[str | Path],
    *,
    format: str | None = None,  # noqa: A002 - the reader's name for it
    columns: Mapping[str, str] | None = None,
) -> Iterator[tuple[Conversation | RecordError, list[Score]]]:
    """Yield every record of files with its scores, which come in the same order within a file.

    Memory holds one conversation; a record without scores has an empty list.
    """

    def read_records() -> Iterator[Conversation | RecordError]:
        # The scores of a folder of shards are ordered within each file.
        places: Sequence[str | Path] = files
        if _is_folder(scores):
            places = sorted(file for place in files for file in files_of(str(place)))
        elif len(files) > 1 and scores != "-":
            # Scores of several files name them, in the order in which they were scored.
            named = dict.fromkeys(line.meta.file for _, line in read_score_lines(scores))
            order = {name: place for place, name in enumerate(named)}
            places = sorted(files, key=lambda file: order.get(redacted(str(file)), len(order)))
        for place in places:
            with read(place, format=format, columns=columns) as reading:
                yield from reading if len(places) == 1 else from_file(reading)

    records = read_records()
    for group in by_conversation(score for _, score in read_scores(scores)):
        for record in records:
            if not isinstance(record, RecordError) and record.id == group[0].conversation:
                yield record, group
                break
            yield record, []
        else:
            raise InputError(
                f"{scores}: conversation {group[0].conversation!r} is not in the files given, "
                "or not in the order of its scores; give the files as they were when they were "
                "scored, by the names that grice score got"
            )
    yield from ((record, []) for record in records)
