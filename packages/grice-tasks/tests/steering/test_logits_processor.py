"""A guide as a logits processor of transformers: tried where torch is there."""

from __future__ import annotations

import numpy as np
import pytest
from toy_model import Toy, drawn_replies

from grice.errors import InputError
from grice_tasks.steering.guide import GuidedChoice
from grice_tasks.steering.guide_training import Fitting, train_guide
from grice_tasks.steering.logits_processor import GuideLogitsProcessor
from grice_tasks.steering.samples import Sampling

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def guide():
    fitting = Fitting(components=2, hidden=8, epochs=5, rate=5e-3)
    return train_guide(drawn_replies(200), Toy(), ["b"], Sampling(temperature=0.7), fitting)[0]


PROMPT = [0, 0]
WRITTEN = [[0, 0], [0, 1]]


def processed(guide, strength, scores):
    processor = GuideLogitsProcessor(guide, prompt_length=len(PROMPT), strength=strength)
    return processor(torch.tensor([PROMPT + ids for ids in WRITTEN]), torch.tensor(scores))


def test_each_row_of_a_batch_is_weighed_as_by_our_own_decoding(guide):
    scores = np.stack([Toy().logits(ids) for ids in WRITTEN])
    given = processed(guide, 2.0, scores).numpy() / np.float32(0.7)
    ours = [guide.weighed(row, ids, 2.0) for row, ids in zip(scores, WRITTEN, strict=True)]
    assert given == pytest.approx(np.stack(ours), abs=1e-5)
    choices = [GuidedChoice(guide, 2.0)(row, ids) for row, ids in zip(scores, WRITTEN, strict=True)]
    assert given.argmax(axis=1).tolist() == choices


def test_strength_zero_leaves_the_scores_as_they_are(guide):
    scores = np.stack([Toy().logits(ids) for ids in WRITTEN])
    assert (processed(guide, 0.0, scores).numpy() == scores).all()


def test_generate_takes_it(guide):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=3, n_positions=32, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=2
    )
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.tensor([PROMPT])
    processor = GuideLogitsProcessor(guide, prompt_length=len(PROMPT), strength=50.0)
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 2}
    steered = model.generate(prompt, logits_processor=[processor], **options)
    assert 1 in steered[0, len(PROMPT) :].tolist()


def test_a_model_of_another_vocabulary_is_refused(guide):
    with pytest.raises(InputError, match=r"toy@1, a model of 3 tokens, and this one has 4"):
        processed(guide, 1.0, np.zeros((2, 4), np.float32))
