"""The page of errata is what its generator writes, and what independent counts say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from grice.errors import InputError
from grice_research.convai import pairs_of, read_chats, split_of

DOCS = Path(__file__).parents[3] / "docs"

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def page(data_folder):
    spec = importlib.util.spec_from_file_location("errata", DOCS / "errata.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page(data_folder)


def test_it_is_current(page):
    assert (DOCS / "errata.md").read_text("utf-8") == page, "run python docs/errata.py"


def test_the_eight_cells_of_table_3_5(page):
    assert "predictive_engagement, table 3.5: 8 of 36 printed cells differ." in page


def test_overlap_is_that_of_an_independent_count(page, golden):
    counts = golden("dailydialog_contamination")["dailydialog_internal"]["test_in_train"]
    assert f"- {counts['conversations_identical']} of 1,000 test conversations" in page
    assert f"- {counts['adjacent_pairs']:,} of 6,688 distinct pairs" in page
    assert "300 rated queries of RUBER and predictive engagement 82 occur there, 41" in page


def test_conversations_and_pairs_of_table_3_1(data_folder, golden):
    chats = read_chats(data_folder)
    expected = golden("predeng_convai_tables")["results"]
    for rating, count in expected["table_3_1_conversations"].items():
        assert sum(chat.published == int(rating) for chat in chats) == count
    for rating, count in expected["table_3_1_pairs"].items():
        rated = [chat for chat in chats if chat.published == int(rating)]
        assert sum(len(pairs_of(chat, "published")) for chat in rated) == count
    corrected = expected["label_defect"]["corrected_conversations_2049"]
    for rating, count in corrected.items():
        assert sum(chat.corrected == int(rating) for chat in chats) == count


def test_the_split_in_the_order_of_the_file(data_folder, golden):
    split = golden("predeng_convai_tables")["results"]["split_in_file_order_of_convai2017.jsonl.gz"]
    for part, counts in split_of(read_chats(data_folder)).items():
        for label, count in enumerate(counts):
            assert split[f"{part}_label{label}"]["pairs"] == count


def test_a_missing_file_is_named_with_its_source(tmp_path):
    with pytest.raises(InputError, match="turing-data"):
        read_chats(tmp_path)
