import math

import numpy as np
import pytest

import tiny_decoder
from grice.errors import InputError
from grice.models.causal import EmbeddedCausalLM
from grice.models.loader import ModelLoader
from grice_tasks.steering.decoding import Continuation, Sampler, SteerableLM, sample_token

PROMPTS = ["i eat", "A : i sleep", "happy"]


def opened(folder, models):
    return SteerableLM(models.load(f"file:{folder}", EmbeddedCausalLM))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_decoder.write(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def model(folder, exact_models):
    return opened(folder, exact_models)


def third_word(logits):
    """Return the third likeliest token that stands for text."""
    return 3 + int(np.argsort(-logits[3:])[2])


def test_selectors_see_the_logits_that_are_read_back(model):
    seen = []

    def third(logits, before):
        seen.append(logits.copy())
        return third_word(logits)

    (chosen,) = model.decode(["i eat"], [third], stop="~", max_tokens=5)
    (read,) = model.read_logits(["i eat"], [chosen.text], lambda logits, ids: (logits, ids))
    assert (chosen.tokens, np.stack(seen)) == (5, pytest.approx(read[0], abs=1e-3))
    assert read[1] == [third_word(logits) for logits in seen]


def test_a_text_ends_with_the_token_that_stops_it(model):
    end = model.vocabulary.index("sleep")

    def at_last(logits, before):
        return end if len(before) == 2 else 6

    (chosen,) = model.decode(["i eat"], [at_last], stop="sleep", max_tokens=6)
    assert chosen == Continuation("i i", 3, ended=True)


def test_a_prompt_without_a_token_is_not_continued(model):
    assert model.decode([""], [None], max_tokens=4) == [Continuation("", 0, ended=False)]
    (size,) = model.read_logits([""], ["eat"], lambda logits, ids: logits.shape)
    assert size == (0, len(model.vocabulary))


def test_samples_depend_on_seed_and_prompt_alone(model, folder):
    asked = {"count": 3, "temperature": 1.5, "stop": "~", "max_tokens": 5}
    first = model.sample(PROMPTS, seed=1, **asked)
    with ModelLoader(mode="exact", workers=2, cache=None) as others:
        other = opened(folder, others)
        assert other.sample(PROMPTS[::-1], seed=1, **asked)[::-1] == first
        assert other.sample(PROMPTS, seed=2, **asked) != first
    assert len({reply.text for replies in first for reply in replies}) > 3


def test_alternatives_are_greedy_after_each_of_the_likeliest_first_tokens(model):
    logits = model.read_logits(["i eat"], ["you"], lambda logits, ids: logits[0])[0]
    written = model.alternatives("i eat", count=3, max_tokens=5, stop="~")
    [(first, *_)] = model.sample(
        ["i eat"], count=1, seed=0, temperature=1e-6, stop="~", max_tokens=5
    )
    assert written[0] == first.text
    likeliest = [model.text([int(token)]).strip() for token in np.argsort(-logits)[:3]]
    assert all(text.startswith(word) for text, word in zip(written, likeliest, strict=True))
    assert model.alternatives("", count=3, max_tokens=5) == []


def test_samples_are_cached(folder, tmp_path):
    asked = {"count": 2, "seed": 0, "stop": "~", "max_tokens": 4}
    with ModelLoader(mode="exact", workers=1, cache=tmp_path) as models:
        first = opened(folder, models).sample(PROMPTS, **asked)
    with ModelLoader(mode="exact", workers=1, cache=tmp_path) as models:
        again = opened(folder, models)
        again.decode = None
        assert again.sample(PROMPTS, **asked) == first


def test_tokens_are_drawn_by_their_probability():
    logits, choose = np.log(np.array([0.7, 0.2, 0.1], np.float32)), Sampler(1.0, [0])
    counts = np.bincount([choose(logits, ()) for _ in range(4000)], minlength=3) / 4000
    assert counts == pytest.approx([0.7, 0.2, 0.1], abs=0.03)
    quantiles = [sample_token(logits, number) for number in (0.0, 0.69, 0.71, 0.91, 1.0)]
    assert quantiles == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [({"temperature": value}, "above 0") for value in (0.0, -1.0, math.nan, math.inf)]
    + [({name: value}, "of 1 to 20 tokens")
       for name, value in (("count", 0), ("max_tokens", 0), ("max_tokens", 30))],
)  # fmt: skip
def test_an_impossible_temperature_or_number_is_refused(model, asked, problem):
    with pytest.raises(InputError, match=problem):
        model.sample(["i eat"], seed=0, **{"count": 2, "max_tokens": 4, **asked})
