"""Properties of every input."""

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from format_page import EXAMPLES
from grice.data import Conversation, Turn, to_json
from grice.errors import InputError, RecordError
from grice.readers import read

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
meta = st.dictionaries(text, json_value, max_size=3)
others = st.lists(text, max_size=2).map(tuple)
turn = st.builds(Turn, word, text, st.none() | text, st.none() | text, others, meta)


@st.composite
def conversations(draw):
    turns = tuple(draw(st.lists(turn, min_size=1, max_size=5)))
    indices = st.lists(st.integers(0, len(turns) - 1), max_size=3).map(tuple)
    return Conversation(draw(word), turns, draw(st.none() | indices), draw(meta))


several = st.lists(conversations(), min_size=1, max_size=5, unique_by=lambda each: each.id)


@given(several, st.booleans())
def test_what_is_written_is_read_back(tmp_path, written, packed):
    path = tmp_path / "file"
    data = "".join(to_json(conversation) + "\n" for conversation in written).encode()
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    reader = read(path)
    assert (reader.format, list(reader)) == ("turns", written)


def everything(path, format):  # noqa: A002
    try:
        records = list(read(path, format=format))
    except InputError:
        return []
    assert all(isinstance(record, (Conversation, RecordError)) for record in records)
    for item in records:
        if isinstance(item, Conversation):
            assert item.turns
            assert all(0 <= target < len(item.turns) for target in item.targets or ())
            to_json(item)
    ids = [record.id for record in records if isinstance(record, Conversation)]
    assert len(ids) == len(set(ids))
    return records


junk = st.binary(max_size=200) | st.sampled_from(
    [b"\x1f\x8b", b"\xef\xbb\xbf", b'"', b"[", b"{", b"]}", b"\\", b"\r", b"A: ", b"a,b", b"\t",
     b'{"turns": [', b"</UTT>", b"__eou__", b"text:", b"# ", b"\n\n", b'{"a": {"content": [']
)  # fmt: skip
mess = st.lists(junk, max_size=6).map(b"".join)


@pytest.mark.parametrize("name", EXAMPLES)
@given(st.data())
def test_damaged_examples_raise_nothing_but_input_errors(tmp_path, name, data):
    example = EXAMPLES[name].encode()
    start = data.draw(st.integers(0, len(example)))
    end, path = data.draw(st.integers(start, len(example))), tmp_path / "file"
    path.write_bytes(example[:start] + data.draw(mess) + example[end:])
    everything(path, None)
    everything(path, name)


GOOD = {
    "turns": b'{"id": "g", "turns": ["good one"]}',
    "messages": b'{"id": "g", "messages": [{"role": "user", "content": "good one"}]}',
    "sharegpt": b'{"id": "g", "conversations": [{"from": "human", "value": "good one"}]}',
    "response": b'{"id": "g", "context": ["a"], "response": "good one"}',
    "deco": b'{"id": "g", "history": "a</UTT>", "response": "good one"}',
    "parlai_log": b'{"id": "g", "dialog": [[{"id": "a", "text": "good one"}]]}',
    "dailydialog": b"good one __eou__",
    "parlai": b"text:good one\tepisode_done:True",
    "table": b"g,a,good one",
}


@pytest.mark.parametrize("name", GOOD)
@given(st.lists(mess.map(lambda data: data.replace(b"\n", b" ")), min_size=1, max_size=4))
def test_no_good_record_is_lost_beside_junk(tmp_path, name, lines):
    good = GOOD[name]
    if name == "parlai":  # a piece of an episode belongs to the episode behind it
        lines = [line for line in lines if b"text:" not in line and b"labels" not in line]
    if name == "table":  # a quote that opens a cell may hold the lines behind it
        lines = [line.replace(b'"', b"") for line in lines]
    head = b"id,context,response\n" if name == "table" else b""
    path = tmp_path / "file"
    path.write_bytes(head + good + b"\n" + b"".join(line + b"\n" + good + b"\n" for line in lines))
    records = everything(path, name)
    kept = [
        record for record in records
        if isinstance(record, Conversation) and record.turns[-1].text == "good one"
    ]  # fmt: skip
    assert len(kept) >= len(lines) + 1


LAYOUTS = {
    "turns": ('{"turns": %s}', "", "\n", ""),
    "json": ('{"turns": %s}', "[", ",", "]"),
    "topical_chat": ('"t_%%d": {"content": %s}', "{", ",", "}"),
}


def peak_of(path, layout, count):
    """Write so many conversations in a layout, and return the peak of reading them, in bytes."""
    record, begin, between, end = LAYOUTS[layout]
    record = record % json.dumps([{"message": "word " * 12, "agent": "a"} for _ in range(10)])
    records = (record % number if "%d" in record else record for number in range(count))
    path.write_text(begin + between.join(records) + end)
    tracemalloc.start()
    try:
        reader = read(path)
        assert reader.format == layout
        assert sum(isinstance(item, Conversation) for item in reader) == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_stays_flat(tmp_path, layout):
    few = peak_of(tmp_path / "few.json", layout, 300)
    many = peak_of(tmp_path / "many.json", layout, 2_000)  # 1.5 MB more; 32 bytes an id are kept
    assert many < few + 300_000
