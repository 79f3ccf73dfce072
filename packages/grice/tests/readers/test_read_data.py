"""The published data sets are read whole."""

import pytest

from grice.data import Conversation
from grice.readers import read

pytestmark = pytest.mark.data

COUNTS = {
    "rated/conture_dialogue": ("turns", 119), "rated/conture_turn": ("response", 1_066),
    "rated/dailydialog_gupta": ("response", 500), "rated/dailydialog_zhao": ("response", 900),
    "rated/dstc9_dialogue": ("turns", 2_200), "rated/fed_dialogue": ("turns", 125),
    "rated/fed_turn": ("response", 375), "rated/grade_dailydialog": ("response", 300),
    "rated/grade_empatheticdialogues": ("response", 300),
    "rated/holistic_context": ("response", 200), "rated/holistic_fluency": ("response", 200),
    "rated/predictive_engagement_dd": ("response", 600),
    "rated/reliable_dialogue": ("turns", 3_510), "rated/robust_dialogues": ("turns", 2_040),
    "rated/robust_turn_pairs": ("response", 13_548), "rated/usr_topicalchat": ("response", 360),
    "topical_chat/test_freq": ("turns", 539), "topical_chat/test_rare": ("turns", 539),
    "topical_chat/valid_freq": ("turns", 539), "topical_chat/valid_rare": ("turns", 539),
    "dailydialog/test": ("turns", 1_000), "accent_deco/deco_test": ("deco", 100),
    "accent_deco/deco_train": ("deco", 200), "accent_deco/conture_subset": ("deco", 100),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_published_file_is_read_whole(data_folder, name):
    format_, count = COUNTS[name]
    [path] = data_folder.glob(f"{name}.jsonl*")
    reader = read(path)
    conversations = list(reader)
    assert (reader.format, len(conversations)) == (format_, count)
    assert {conversation.targets is None for conversation in conversations} == {format_ == "turns"}


def test_a_conversation_nobody_spoke_in_is_reported(data_folder):
    records = list(read(data_folder / "convai2017" / "convai2017.jsonl.gz"))
    bad = [record for record in records if not isinstance(record, Conversation)]
    assert (len(records) - len(bad), len(bad)) == (2_659, 119)
    assert {record.problem for record in bad} == {"no turn"}
