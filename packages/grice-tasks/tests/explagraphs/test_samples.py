from __future__ import annotations

import gzip

import pytest

from grice.errors import InputError
from grice_tasks.explagraphs.samples import Prediction, Sample, read_predictions, read_samples

GRAPH = "(a; is a; b)"


def test_json_lines_and_the_released_table_say_the_same(tmp_path):
    lines, table = tmp_path / "gold.jsonl.gz", tmp_path / "gold.tsv"
    lines.write_bytes(gzip.compress(
        b'{"id":"0","belief":"B.","argument":"A.","stance":"support",'
        b'"graph":["(a; is a; b)","(c; is a; d)"]}\n'
    ))  # fmt: skip
    table.write_text(f"\ufeffB.\tA.\tsupport\t{GRAPH}\t(c; is a; d)\n", "utf-8")
    expected = [Sample("0", "B.", "A.", "support", (GRAPH, "(c; is a; d)"))]
    assert read_samples(lines) == read_samples(table) == expected


def test_predictions_keep_the_graph_as_it_came(tmp_path):
    table, lines = tmp_path / "out.tsv", tmp_path / "out.jsonl"
    table.write_text(f"counter\t{GRAPH} \r\n", "utf-8")
    lines.write_text('{"id":"0","given_stance":"counter","graph":"(a; is a; b) "}', "utf-8")
    assert read_predictions(table) == read_predictions(lines)
    assert read_predictions(table) == [Prediction("0", "counter", f"{GRAPH} ")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "maybe\tg", "x.tsv:1: stance 'maybe', expected support or counter"),
        ("x.tsv", "support", "x.tsv:1: 1 column,"),
        ("x.jsonl", "{}", "x.jsonl:1: Object missing required field `id`"),
        ("x.jsonl", '{"id":"1","graph":"g"}', "x.jsonl:1: stance: missing"),
        ("x.jsonl", '{"id":"1","stance":"support","graph":"g"}\n' * 2, "'1' comes twice"),
        ("x.jsonl", "[", "x.jsonl:1: "),
    ],
)
def test_a_broken_line_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / name)
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read: No such file"):
        read_samples(tmp_path / "none.jsonl")


def test_a_file_that_is_not_utf8_is_named_with_what_to_do(tmp_path):
    (tmp_path / "latin.jsonl").write_bytes("café".encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8: byte 0xe9 at byte 3; convert .* iconv"):
        read_samples(tmp_path / "latin.jsonl")
