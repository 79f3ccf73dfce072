"""The published data sets are read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from grice.data import Conversation
from grice.readers import read

pytestmark = pytest.mark.data

COUNTS = {
    "rated/conture_dialogue.jsonl.gz": ("turns", 119),
    "rated/conture_turn.jsonl.gz": ("response", 1_066),
    "rated/dailydialog_gupta.jsonl.gz": ("response", 500),
    "rated/dailydialog_zhao.jsonl.gz": ("response", 900),
    "rated/dstc9_dialogue.jsonl.gz": ("turns", 2_200),
    "rated/fed_dialogue.jsonl.gz": ("turns", 125), "rated/fed_turn.jsonl.gz": ("response", 375),
    "rated/grade_dailydialog.jsonl.gz": ("response", 300),
    "rated/grade_empatheticdialogues.jsonl.gz": ("response", 300),
    "rated/holistic_context.jsonl.gz": ("response", 200),
    "rated/holistic_fluency.jsonl.gz": ("response", 200),
    "rated/predictive_engagement_dd.jsonl.gz": ("response", 600),
    "rated/reliable_dialogue.jsonl.gz": ("turns", 3_510),
    "rated/robust_dialogues.jsonl.gz": ("turns", 2_040),
    "rated/robust_turn_pairs.jsonl.gz": ("response", 13_548),
    "rated/usr_topicalchat.jsonl.gz": ("response", 360),
    "topical_chat/test_freq.jsonl.gz": ("turns", 539),
    "topical_chat/test_rare.jsonl.gz": ("turns", 539),
    "topical_chat/valid_freq.jsonl.gz": ("turns", 539),
    "topical_chat/valid_rare.jsonl.gz": ("turns", 539),
    "dailydialog/test.jsonl.gz": ("turns", 1_000), "accent_deco/deco_test.jsonl": ("deco", 100),
    "accent_deco/deco_train.jsonl": ("deco", 200),
    "accent_deco/conture_subset.jsonl": ("deco", 100),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_published_file_is_read_whole(data_folder: Path, name: str):
    format_, count = COUNTS[name]
    reader = read(data_folder / name)
    conversations = list(reader)
    assert reader.format == format_
    assert len(conversations) == count
    assert {conversation.targets is None for conversation in conversations} == {format_ == "turns"}


def test_a_conversation_nobody_spoke_in_is_reported(data_folder: Path):
    records = list(read(data_folder / "convai2017" / "convai2017.jsonl.gz"))
    bad = [record for record in records if not isinstance(record, Conversation)]
    assert (len(records) - len(bad), len(bad)) == (2_659, 119)
    assert {record.problem for record in bad} == {"no turn"}
