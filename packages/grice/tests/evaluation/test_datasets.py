import json

import pytest

import made_sets
from grice.errors import InputError
from grice.evaluation.datasets import data_folder, known_sets, load_rated, wanted_sets


def test_a_rating_is_the_mean_over_judges_without_those_who_gave_none(tmp_path):
    lines = [
        {"context": ["Hi."], "response": "Hello.", "ratings": {"overall": ratings}}
        for ratings in ([1, None, 4], [None, None], 2.5)
    ]
    rated = load_rated(made_sets.write(tmp_path / "own.jsonl", lines), None)
    assert rated.human("overall") == [2.5, None, 2.5]


def test_only_the_last_turn_of_a_reply_is_judged_and_only_system_turns_of_a_dialogue(tmp_path):
    made_sets.fed_turn(tmp_path)
    made_sets.fed_dialogue(tmp_path)
    turn = load_rated(known_sets()["fed_turn"], tmp_path).items[1].conversation
    dialogue = load_rated(known_sets()["fed_dialogue"], tmp_path).items[0].conversation
    assert turn.targets == (len(turn.turns) - 1,)
    assert [dialogue.turns[i].speaker for i in dialogue.targets] == ["system", "system"]


def test_records_of_other_kinds_do_not_count_and_means_of_aspects_need_all_of_them(tmp_path):
    sliders = ["robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"]
    turns = [{"speaker": "user", "text": "Hi"}, {"speaker": "system", "text": "Hello"}]
    full = {name: [float(10 * i)] for i, name in enumerate(sliders)}
    lines = [
        {"id": name, "turns": turns, "system": system, "ratings": ratings}
        for name, system, ratings in (
            ("a", "A", full), ("b", "B", {**full, "fun": [None]}), ("c", "QualityControl", full)
        )
    ]  # fmt: skip
    made_sets.write(tmp_path / "rated" / "reliable_dialogue.jsonl", lines)
    rated = load_rated(known_sets()["reliable_dialogue"], tmp_path)
    assert [item.conversation.id for item in rated.items] == ["a", "b"]
    assert rated.human("mean_of_7") == [30.0, None]


def test_a_missing_set_is_named_with_source_licence_and_layout(tmp_path):
    with pytest.raises(InputError) as caught:
        load_rated(known_sets()["grade_dailydialog"], tmp_path)
    for part in ("grade_dailydialog", "github.com/li3cmz/GRADE", "none stated", "ratings",
                 "coherence", "--data", "GRICE_DATA", str(tmp_path)):  # fmt: skip
        assert part in str(caught.value)


def test_an_unknown_set_or_aspect_names_the_nearest(tmp_path):
    with pytest.raises(InputError, match="did you mean 'fed_turn'"):
        wanted_sets(["fed_turns"])
    with pytest.raises(InputError, match="did you mean 'relevant'"):
        wanted_sets(["fed_turn:relevent"])


def test_a_file_of_ones_own_says_its_level_by_its_targets(tmp_path):
    turns = [{"speaker": "A", "text": "Hi"}, {"speaker": "B", "text": "Hello"}]
    for targets, level in ({}, "dialogue"), ({"targets": [1]}, "turn"):
        lines = [{"turns": turns, "ratings": 3, **targets}]
        path = made_sets.write(tmp_path / f"{level}.jsonl", lines)
        assert load_rated(path, None).set.level == level


def test_a_broken_record_is_told_and_the_others_count(tmp_path):
    path = tmp_path / "own.jsonl"
    good = json.dumps({"context": ["Hi"], "response": "Hello", "ratings": 3})
    path.write_text(f"{good}\n{{broken\n{good}\n")
    rated = load_rated(path, None)
    assert len(rated.items) == 2
    assert "own.jsonl:2" in rated.problems[0]


def test_the_data_folder_is_the_stated_one_before_that_of_the_variable(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("GRICE_DATA", str(other))
    assert (data_folder(tmp_path), data_folder()) == (tmp_path, other)
    with pytest.raises(InputError, match="not a folder"):
        data_folder(tmp_path / "nowhere")


@pytest.mark.data
def test_every_known_set_can_be_read(data_folder):
    sizes = {"fed_turn": 375, "fed_dialogue": 125, "conture_turn": 1066, "usr_topicalchat": 360,
             "deco_test": 100, "replies_human": 300, "dailydialog_gupta": 500}  # fmt: skip
    for name, size in sizes.items():
        rated = load_rated(known_sets()[name], data_folder)
        assert len(rated.items) == size
        assert not rated.problems
        assert all(value is not None for value in rated.human(rated.set.default))
