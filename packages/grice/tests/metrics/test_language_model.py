"""A language model of one's own, on a tiny decoder of random weights made here."""

from random import Random

import pytest

from grice.errors import ModelFolderError
from grice.models.loader import ModelLoader
from grice.models.protocols import PromptPart
from tiny_decoder import write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def model(folder, exact_models):
    return exact_models.load(f"file:{folder}")


def prompt(*texts):
    return [PromptPart(text, target=True) for text in texts]


def test_all_turns_of_a_conversation_are_scored_in_one_reading(model):
    whole = model.token_scores([prompt("A:", " i eat", " bread", " happy tired")])[0]
    (alone,) = model.token_scores([prompt("A: i eat bread", " happy")])
    assert [len(tokens) for tokens in whole] == [1, 2, 1, 2]
    assert whole[3][0].log_probability == pytest.approx(alone[1][0].log_probability, abs=1e-5)


def test_offsets_are_those_of_the_part(model):
    text = " i  bread"
    (tokens,) = model.token_scores([[PromptPart("A:"), PromptPart(text, target=True)]])[0]
    assert [text[token.start : token.end] for token in tokens] == ["i", "bread"]


def test_a_prompt_of_any_length_is_read_in_windows_from_the_first_target(model, monkeypatch):
    words = Random(0).choices(["i", "eat", "bread", "sleep", "happy"], k=200)
    tokens = [token for (token,) in model.token_scores([prompt(*words)])[0][1:]]
    assert len(tokens) == len(words) - 1
    read, compute = [], model._window_log_probabilities
    monkeypatch.setattr(model, "_window_log_probabilities", lambda w: read.extend(w) or compute(w))
    for place in (1, 39, 40, 59, 60, 199):
        late = [PromptPart(word, target=i == place) for i, word in enumerate(words[: place + 1])]
        [[[token]]] = model.token_scores([late])
        assert token.log_probability == pytest.approx(tokens[place - 1].log_probability, abs=1e-3)
    assert len(read) == 6
    # Windows overlap by half: before the last token stands at least half a window.
    end = model.token_scores([prompt(*words[-40:])])[0][-1][0]
    assert tokens[-1].log_probability == pytest.approx(end.log_probability, abs=0.5)


def test_of_a_target_the_beginning_is_read_and_of_another_part_the_end(model):
    long = "bread " * 30
    assert len(model.token_scores([prompt("i", long)])[0][1]) == 20
    cut = [PromptPart("eat " * 30 + "i sleep"), PromptPart("bread", target=True)]
    short = [PromptPart("eat " * 18 + "i sleep"), PromptPart("bread", target=True)]
    assert model.token_scores([cut]) == model.token_scores([short])


def test_what_was_read_is_not_read_again(folder, tmp_path):
    readings = [prompt("i", " eat", " bread")]
    first = ModelLoader(mode="exact", workers=1, cache=tmp_path)
    scores = first.load(f"file:{folder}").token_scores(readings)
    first.close()
    second = ModelLoader(mode="exact", workers=1, cache=tmp_path)
    model = second.load(f"file:{folder}")
    model.engine = None  # nothing is left to compute with
    assert model.token_scores(readings) == scores
    second.close()


def test_a_prompt_without_tokens_has_no_scores(model):
    prompts = [[], prompt(""), prompt("i"), [PromptPart("i eat")]]
    assert model.token_scores(prompts) == [[], [[]], [[]], []]


def test_a_text_is_truncated_past_half_a_window_and_half_a_character_is_unknown(model):
    assert model.truncated(["sleep " * 60, "i eat"]) == [True, False]
    half, unknown = model.token_scores([prompt("A:", "\ud83d"), prompt("A:", "\ufffd")])
    assert half == unknown


def test_a_model_that_reads_too_little_is_refused(tmp_path, exact_models):
    folder = write(tmp_path / "model", max_tokens=4)
    with pytest.raises(ModelFolderError, match=">= 16"):
        exact_models.load(f"file:{folder}")
