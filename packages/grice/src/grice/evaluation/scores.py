"""Files of scores and labels, read back line by line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import sys
import zlib
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from grice.errors import InputError, RecordError, did_you_mean, os_reason
from grice.metrics.registry import find_metrics
from grice.models.bundle import RENAMED
from grice.readers import files_of, from_file, read, recognise
from grice.records import Score, Status
from grice.scoring.arrow import is_table, lines_of
from grice.stores import files_under, is_folder, is_url, open_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from grice.records import Conversation, Json

TURNS = (1 << 32) - 1
"""Turns of a conversation are numbered below this."""
Row = TypeVar("Row")
Scored = TypeVar("Scored", Score, "ScoreLine")
NAMED = re.compile(r"(?P<file>.+)#(?P<column>[^#/\\]+)", re.DOTALL)
CONVERSATION = ("conversation", "conversation_id", "id", "session_id", "trace_id", "dialogue_id")
TURN = ("turn", "turn_index")
MISSING = object()
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


class Column(NamedTuple):
    """A file and the column with the scores of another tool."""

    file: str
    column: str


class Origin(msgspec.Struct, frozen=True):
    """The one extra field that grice adds itself, where several inputs were scored together."""

    file: str | None = None


class _Sourced(msgspec.Struct, frozen=True):
    meta: Origin = Origin()


class ScoreLine(msgspec.Struct, frozen=True):
    """A :class:`~grice.records.Score` without what only a reader of single scores needs."""

    conversation: str
    turn: int | None
    metric: str
    value: float | None
    status: Status
    signature: str
    meta: Origin = Origin()


def read_score_lines(file: str) -> Iterator[tuple[int, ScoreLine]]:
    """Yield each line of a file of scores with its number, from 1."""
    for number, line in _with_current_signatures(read_rows(file, ScoreLine)):
        if line.turn is not None and not 0 <= line.turn < TURNS:
            problem = f"a turn is counted from 0, found {line.turn}"
            raise RecordError(problem, file=_name(file), line=number, field="turn")
        if line.status == "ok" and line.value is None:
            problem = 'a score with status "ok" needs a value, found null'
            raise RecordError(problem, file=_name(file), line=number, field="value")
        yield number, line


def read_score_groups(file: str) -> Iterator[list[ScoreLine]]:
    """Yield the scores of each conversation of a file in turn; its lines must stand together."""
    seen: set[int] = set()
    group: list[ScoreLine] = []
    current = None
    for number, line in read_score_lines(file):
        # Ids are unique within one input only.
        place = (line.meta.file, line.conversation)
        if place != current:
            if group:
                yield group
            if hash(place) in seen:
                raise InputError(
                    f"{_name(file)}:{number}: conversation {line.conversation!r} began earlier; "
                    "its scores must stand together, as grice score writes them (sort the file "
                    "by conversation, and give each conversation once)"
                )
            seen.add(hash(place))
            group, current = [], place
        group.append(line)
    if group:
        yield group


def read_scores(file: str) -> Iterator[tuple[int, Score]]:
    """Yield each line of a file of scores as a whole score, with its number, from 1."""
    return _with_current_signatures(read_rows(file, Score))


def by_conversation(scores: Iterable[Score]) -> Iterator[list[Score]]:
    """Yield the scores of each conversation of each file, which stand together."""
    for _, group in groupby(scores, key=lambda score: (score.conversation, score.meta.get("file"))):
        yield list(group)


def _with_current_signatures(rows: Iterator[tuple[int, Scored]]) -> Iterator[tuple[int, Scored]]:
    """Yield scores whose signatures have the names that options have now."""
    for number, score in rows:
        signature = current_signature(score.signature)
        if signature == score.signature:
            yield number, score
        else:
            yield number, msgspec.structs.replace(score, signature=signature)


def read_rows(
    file: str, kind: type[Row], expected: str = "a score as grice score writes it"
) -> Iterator[tuple[int, Row]]:
    """Yield each JSON line of a file as a record of a kind, with its number, from 1."""
    if kind in (Score, ScoreLine) and (place := column_of(file)) is not None:
        rows = any_rows(place.file)
        for number, fields in other_scores(place, rows):
            yield number, msgspec.convert(fields, kind)
        return
    decoder = msgspec.json.Decoder(kind)
    number = 0
    some = False
    with _opened(file) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            some = True
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                if number == 1 and (what := _what_else(line, kind)):
                    raise InputError(f"{_name(file)}: {what}") from None
                problem, field = _problem_and_field(error)
                message = f"{problem}; {expected} is expected"
                raise RecordError(message, file=_name(file), line=number, field=field) from None
            yield number, record
    if not some:
        raise InputError(f"{_name(file)}: there is no line in it")


def any_rows(
    file: str, expected: str = "a score as grice score writes it"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row of a table, or each object of JSON lines, with its line."""
    is_table = file.lower().endswith(TABLES)
    return read_table_rows(file) if is_table else read_rows(file, dict, expected)


def _what_else(line: bytes, kind: type[object]) -> str:
    """Return what a file is whose line is no score, if it is one that another command takes."""
    if kind not in (Score, ScoreLine):
        return ""
    try:
        form = recognise(line, "")
    except InputError:
        return ""
    return (
        f"holds conversations (format {form.name}), where scores are expected; grice score FILE "
        "-o OUT.jsonl writes them"
    )


def read_table_rows(file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row of a table with a header, commas or tabs between, with its line, from 1."""
    with _opened(file) as lines:
        texts = (_text(line, file, number) for number, line in enumerate(lines, 1))
        tabs = file.removesuffix(".gz").lower().endswith(".tsv")
        table = csv.DictReader(texts, delimiter="\t" if tabs else ",", restval="")
        some = False
        try:
            for row in table:
                if None in row:
                    problem = f"{len(row[None])} cells more than the header has"
                    raise RecordError(problem, file=_name(file), line=table.line_num)
                some = True
                yield table.line_num, row
        except csv.Error as error:
            raise RecordError(str(error), file=_name(file), line=table.line_num) from None
    if not some:
        raise InputError(f"{_name(file)}: there is no row in it")


def _text(line: bytes, file: str, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8: {error.reason}", file=_name(file), line=number) from None


@contextmanager
def _opened(file: str) -> Iterator[Iterable[bytes]]:
    try:
        if file == "-":
            yield sys.stdin.buffer
        elif is_folder(file) if is_url(file) else Path(file).is_dir():
            yield chain.from_iterable(map(_of_shard, _shards(file)))
        elif file.endswith(".gz"):
            with gzip.open(file, "rb") as packed:
                yield packed
        else:
            with _open(file) as plain:
                yield lines_of(plain, file) if is_table(plain.peek(6)) else plain
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{_name(file)}: cannot be read: {os_reason(error)}") from None


def _shards(folder: str) -> list[str]:
    """Return the shards of ``grice score --engine`` in a folder, sorted by their source."""
    files = files_under(folder) if is_url(folder) else map(str, Path(folder).glob("[!.]*"))
    if shards := [file for file in files if file.endswith(".parquet")]:
        return sorted(shards, key=lambda shard: (_source(shard), shard))
    raise InputError(
        f"{folder}: holds no table of scores; grice score --engine writes a folder of them"
    )


def _of_shard(shard: str) -> Iterator[bytes]:
    with _open(shard) as file:
        yield from lines_of(file, shard)


def _source(shard: str) -> str:
    with _open(shard) as file:
        first = next(lines_of(file, shard), b"{}")
    return msgspec.json.decode(first, type=_Sourced).meta.file or ""


def _open(file: str) -> io.BufferedReader:
    return open_url(file) if is_url(file) else Path(file).open("rb")


def _name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _problem_and_field(error: Exception) -> tuple[str, str | None]:
    """Return the problem and the field that an error of msgspec names."""
    parts = re.fullmatch(r"(.*?)(?: - at `\$\.?(.*)`)?", str(error), re.DOTALL)
    problem, place = (parts[1], parts[2]) if parts else (str(error), None)
    if isinstance(error, msgspec.ValidationError):
        return problem, place or None
    return f"not a JSON object on one line ({problem})", None


@lru_cache(maxsize=256)
def current_signature(signature: str) -> str:
    """Return a signature with the names that options and shipped models have now.

    >>> current_signature("commonsense:5|most:3|mode:fast")
    'commonsense:5|max_triples:3|mode:fast'
    """
    renamed = _renamed().get(signature.partition(":")[0], {})
    parts = (part.partition(":") for part in signature.split("|"))
    return "|".join(
        f"{renamed.get(name, name)}{colon}{_current_models(value)}" for name, colon, value in parts
    )


def _current_models(fingerprint: str) -> str:
    name, at, rest = fingerprint.partition("@")
    return f"{RENAMED.get(name, name)}{at}{rest}" if at else fingerprint


@lru_cache(maxsize=1)
def _renamed() -> dict[str, dict[str, str]]:
    return {name: metric.renamed for name, metric in find_metrics().metrics.items()}


def column_of(name: str) -> Column | None:
    """Return the file and the column that a name means; None for a file that has that very name."""
    match = NAMED.fullmatch(name)
    if match is None or is_url(name) or Path(name).exists():
        return None
    return Column(match["file"], match["column"])


def other_scores(
    place: Column, rows: Iterable[tuple[int, Mapping[str, Any]]]
) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the fields of a score for each row, with its line.

    The metric is called as the column is; a cell that is empty, null or NaN is an abstention.
    """
    known = False
    for line, row in rows:
        cell = _cell(row, place.column)
        if cell is MISSING and not known:
            names = [name for name in row if isinstance(name, str)]
            raise InputError(
                f"{place.file}: no column {place.column!r}{did_you_mean(place.column, names)}; "
                f"there are {', '.join(names[:12])}"
            )
        known = True
        conversation = next((row[name] for name in CONVERSATION if row.get(name)), None)
        if conversation is None:
            problem = f"no conversation is named; one of {', '.join(CONVERSATION)} is needed"
            raise RecordError(problem, file=place.file, line=line)
        value = _number(cell, place, line)
        yield (
            line,
            {
                "conversation": str(conversation),
                "turn": _turn(row, place, line),
                "metric": place.column,
                "value": value,
                "status": "abstained" if value is None else "ok",
                "reason": None,
                "flags": [],
                "evidence": [],
                "signature": f"column:{place.column}",
            },
        )


def _cell(row: Mapping[str, Any], column: str) -> object:
    """Return what a row has in a column, into which dots lead; :data:`MISSING` if nothing."""
    if column in row:
        return row[column]
    inner: object = row
    for part in column.split("."):
        inner = inner.get(part, MISSING) if isinstance(inner, dict) else MISSING
    return inner


def _number(value: object, place: Column, line: int) -> float | None:
    if value in (None, MISSING) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(value)  # type: ignore[arg-type] # whatever is no number raises
    except (TypeError, ValueError):
        problem = f"expected a number, found {value!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field=place.column) from None
    if math.isinf(number):
        problem = f"expected a finite number, found {value!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field=place.column)
    return None if math.isnan(number) else number


def _turn(row: Mapping[str, Any], place: Column, line: int) -> int | None:
    given = next((row[name] for name in TURN if row.get(name) not in (None, "")), None)
    if given is None:
        return None
    try:
        return int(given)
    except (TypeError, ValueError):
        problem = f"expected the number of a turn, found {given!r:.60}"
        raise RecordError(problem, file=place.file, line=line, field="turn") from None


def joined(
    scores: str, files: Sequence[str | Path]
) -> Iterator[tuple[Conversation | RecordError, list[Score]]]:
    """Yield every record of files with its scores; none where nothing of it was judged.

    Memory holds one conversation. Scores and records come in the same order; a folder of shards is
    read by the names of the files that they are of.
    """
    records = _records(scores, files)
    for group in by_conversation(score for _, score in read_scores(scores)):
        for record in records:
            if not isinstance(record, RecordError) and record.id == group[0].conversation:
                yield record, group
                break
            yield record, []
        else:
            raise InputError(
                f"{scores}: conversation {group[0].conversation!r} is not in the files given, "
                "or not in the order of its scores; give the files that were scored as grice "
                "score was given them"
            )
    yield from ((record, []) for record in records)


def _records(scores: str, files: Sequence[str | Path]) -> Iterator[Conversation | RecordError]:
    """Yield records as whoever scored them read them: of a folder each file by itself."""
    apart = is_folder(scores) if is_url(scores) else Path(scores).is_dir()
    places = sorted(file for place in files for file in files_of(str(place))) if apart else files
    for place in places:
        with read(place) as reading:
            yield from reading if len(places) == 1 else from_file(reading)
