"""Opening inputs: paths, gzip, standard input, directories, and what cannot be read."""

import gzip
import io
import json
import os
import pickle
import random
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from format_page import EXAMPLES
from grice.data import Conversation
from grice.errors import GriceError, InputError, RecordError
from grice.readers import find_formats, from_objects, read
from grice.readers._formats import LONGEST_LINE

GOOD = b'{"id": "x", "turns": [{"speaker": "A", "text": "Hi"}]}\n'


def write(path, data):
    path.write_bytes(data)
    return path


def names(records):
    return [each.id if isinstance(each, Conversation) else str(each.line) for each in records]


def test_gzip_is_known_by_its_content(tmp_path):
    packed = gzip.compress(GOOD) + gzip.compress(GOOD)
    assert names(read(write(tmp_path / "plain.jsonl", packed))) == ["x", "x#2"]
    assert names(read(write(tmp_path / "plain.jsonl.gz", GOOD))) == ["x"]


@pytest.mark.parametrize("given", [None, "turns"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch, given, pack):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(GOOD * 3000 + b'{"turns": ["a"]}'))))
    monkeypatch.setattr(sys, "stdin", stdin)
    with read("-", format=given) as reader:
        assert (reader.format, reader.source) == ("turns", "-")
        ids = names(reader)
    assert (len(ids), ids[-1]) == (3001, "stdin:3001")
    assert not stdin.closed


def test_a_named_format_does_not_wait_for_more_than_a_line(monkeypatch):
    inward, outward = os.pipe()
    with open(inward) as stdin, open(outward, "wb", buffering=0) as pipe:  # noqa: PTH123 - descriptors
        monkeypatch.setattr(sys, "stdin", stdin)
        pipe.write(GOOD)
        reader = read("-", format="turns")
        assert next(reader).id == "x"
        pipe.write(GOOD)
        assert next(reader).id == "x#2"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_like_standard_input(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(GOOD * 3,))
    writer.start()
    reader = read(path)
    writer.join()
    next(reader)
    assert (reader.size, reader.position) == (None, 0)
    assert names(reader) == ["x#2", "x#3"]


def test_a_directory_in_order_each_file_in_its_format(tmp_path):
    files = {"b/2.txt": b"Ann: Hi\nBob: Ho\n", "a.jsonl": GOOD, "c.bin": b"\x00\x01\x02"}
    files["d.gz"] = gzip.compress(GOOD + GOOD)
    for name, content in {**files, ".hidden": GOOD, ".git/x": GOOD}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, content)
    reader = read(tmp_path)
    assert reader.format == "directory"
    first, second, bad, *last = reader
    assert (first.id, second.id) == ("x", "2:1")
    assert isinstance(bad, RecordError)
    assert str(bad).startswith(f"{tmp_path / 'c.bin'}: this is a binary file")
    assert names(last) == ["x#2", "x#3"]
    assert reader.position == reader.size == sum(map(len, files.values()))


@pytest.mark.parametrize(("data", "says"), [
    *((data, "the file is empty") for data in (b"", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf")),
    (b" \n\t\r\n", "only white space"),
    (gzip.compress(gzip.compress(GOOD, mtime=0), mtime=0), "binary file"),
    ("Ann: Hi\n".encode("utf-16"), "UTF-16"), (b"abc\x00\x01\x02", "binary file"),
    (b"Ann: Hi\rBob: Hello\r", "end in CR alone"), (b"\x1f\x8b\x08", "truncated"),
    (b"\x1f\x8b\x00 broken header", "damaged"),
    (b"Hello, world\nIt rained all day.\n", "no format recognised"),
    (b"Once upon a time.\n" * 9, "text that begins 'Once.*; name its format .--format NAME, in"),
    *((b'{%b"stem": 1, "choices": []}\n' % blank, "JSON objects with the fields choices, stem")
      for blank in (b"", b"\n ")),
    (b"\xff" * 100, "no format recognised"),
])  # fmt: skip
def test_what_is_no_conversation_is_refused_at_once(tmp_path, data, says):
    path = write(tmp_path / "file", data)
    with pytest.raises(InputError, match=says) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert not isinstance(caught.value, RecordError)


def test_what_cannot_be_opened_is_refused(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    for name, problem in (
        ("none.jsonl", "cannot be read: No such file or directory"),
        ("a\0b", "cannot be read"),
        ("empty", "this directory contains no files to read"),
    ):
        with pytest.raises(InputError, match=problem):
            read(tmp_path / name)
    path = write(tmp_path / "file", GOOD)
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match=r"file: cannot be read: Permission denied"):
        read(path)


def test_the_file_is_closed_however_reading_ends(tmp_path):
    path = write(tmp_path / "file.jsonl", GOOD * 100)
    with read(path) as reader:
        next(reader)
    assert list(reader) == []
    next(read(path))  # an open file that is forgotten warns, and warnings are errors


def test_a_truncated_gzip_gives_what_stood_before_the_break(tmp_path):
    records = [json.dumps({"id": str(n), "turns": [os.urandom(40).hex()]}) for n in range(5000)]
    whole = gzip.compress("\n".join(records).encode())
    *good, bad = read(write(tmp_path / "file.gz", whole[: len(whole) // 2]))
    assert names(good) == [str(n) for n in range(len(good))]
    assert 2300 < len(good) < 2600
    assert isinstance(bad, RecordError)
    assert (bad.line, "truncated" in bad.problem) == (len(good) + 1, True)


@pytest.mark.parametrize("cut", [0, 4, 8, 12])
def test_a_gzip_with_a_broken_end_is_not_taken_for_whole(tmp_path, cut):
    packed = bytearray(gzip.compress(GOOD * 3))
    packed[-8] ^= 1  # the check sum
    records = list(read(write(tmp_path / "file.gz", packed[: len(packed) - cut])))
    assert isinstance(records[-1], RecordError)
    if not cut:
        assert names(records) == ["x", "x#2", "x#3", "4"]
        assert "damaged" in records[-1].problem


def test_a_line_over_the_limit_is_skipped(tmp_path):
    long = b'{"turns": ["' + b"x" * (LONGEST_LINE + (3 << 20)) + b'"]}\n'
    first, bad, last = read(write(tmp_path / "file.jsonl", GOOD + long + GOOD))
    assert names([first, last]) == ["x", "x#2"]
    assert (bad.line, "longer than 64 MiB" in bad.problem) == (2, True)


def test_a_long_line_under_the_limit_is_recognised_and_read(tmp_path):
    turns = [{"speaker": "A", "text": "é" * 1000}] * 1000
    path = write(tmp_path / "file.jsonl", json.dumps({"turns": turns}).encode() + b"\n" + GOOD)
    first, second = read(path)
    assert (len(first.turns), second.id) == (1000, "x")


def test_ids_of_the_same_name_are_told_apart(tmp_path):
    ids = ["x", "x#2", "x", "x", "x#2", "y", *("z" * 20_000)]
    data = "".join(f'{{"id": "{name}", "turns": ["a"]}}\n' for name in ids)
    found = names(read(write(tmp_path / "file.jsonl", data.encode())))
    assert found[:6] == ["x", "x#2", "x#3", "x#4", "x#2#2", "y"]
    assert len(set(found)) == len(ids)
    assert found[-1] == "z#20000"


@pytest.mark.parametrize(("line", "says"), [
    (b'{"turns": ["\xc3\x28"]}', "not UTF-8: byte 0xc3 at byte 12"),
    (b'{"turns": ["a"], "\xff": 1}', "byte 18"),
    (b'{"turns": ["a\x00"]}', "not JSON: invalid character"),
    *((rb'{"turns": ["%b"]}' % text, "a lone surrogate") for text in (rb"\ud83d", rb"\udc00 x")),
    (b'{"turns": ["a"], "n": NaN}', "(byte 22): 'NaN}'"),
    (b'{"turns": ["a"], "n": -Infinity}', "'Infinity}'"), (b"{'turns': ['a']}", "(byte 1)"),
    (b'{"turns": None}', "'None}'"), (b'{"turns": ["a"], "n": 1e999}', "out of range"),
    (b'{"turns": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    (b'{"turns": ["a"]', "truncated"),
    (b'{"turns": ["a"]} {"turns": ["b"]}', "trailing characters"), (b"[1]", "found a list"),
    (b"17", "found the number 17"), (b"hello", "expected an object"), (b"\x89PNG", "not UTF-8"),
])  # fmt: skip
def test_a_broken_line_costs_itself_only(tmp_path, line, says):
    first, bad, last = read(write(tmp_path / "file.jsonl", GOOD + line + b"\n" + GOOD))
    assert names([first, last]) == ["x", "x#2"]
    assert isinstance(bad, RecordError)
    assert bad.line == 2
    assert says in bad.problem
    assert str(pickle.loads(pickle.dumps(bad))) == str(bad)


@pytest.mark.parametrize("name", ["transcript", "dailydialog", "parlai", "table"])
def test_text_with_nul_or_latin1_bytes_is_said(tmp_path, name):
    example = EXAMPLES[name].encode()
    for junk, says in ((b"A: \x00\n", "NUL byte"), (b"A: \xe9\n", "not UTF-8")):
        records = list(read(write(tmp_path / "file", example + junk), format=name))
        assert any(isinstance(record, RecordError) and says in record.problem for record in records)


@pytest.mark.parametrize("items", [["Hello."], [{"role": "user", "content": "Hi"}, 3]])
def test_objects_that_are_no_turns(items):
    with pytest.raises(InputError, match="pass a list of messages with role and content"):
        from_objects(items, "chat")


LINE = b'{"id": "%d", "turns": [{"speaker": "A", "text": "It is late, and I am tired."}]}\n'


@pytest.mark.parametrize("pack", [lambda data: data, lambda data: gzip.compress(data, mtime=0)])
def test_position_grows_to_the_size_of_the_file(tmp_path, pack):
    path, rng = tmp_path / "chats.jsonl", random.Random(1)
    path.write_bytes(pack(b"".join(LINE % rng.getrandbits(200) for _ in range(10_000))))
    reading = read(path)
    positions = [reading.position for _ in reading]
    assert (reading.size, positions) == (path.stat().st_size, sorted(positions))
    assert positions[0] < reading.size / 2
    assert positions[-1] == reading.size


KEPT = sorted((Path(__file__).parent / "fuzz").glob("*.bin"))


@pytest.mark.parametrize("file", KEPT, ids=lambda path: path.stem)
def test_what_broke_a_reader_is_read_or_named(file):
    for form in (None, *find_formats().formats):
        try:
            records = list(read(file, format=form))
        except GriceError:
            continue
        assert all(isinstance(record, (Conversation, RecordError)) for record in records)
