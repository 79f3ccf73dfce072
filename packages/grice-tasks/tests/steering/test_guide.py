import numpy as np
import pytest
from msgspec.structs import replace
from toy_model import GIVEN_LABEL, Toy, drawn_replies

from grice.errors import InputError, ModelFolderError
from grice.models.folder import shipped_models
from grice_tasks.steering.decoding import sample_token
from grice_tasks.steering.guide import GuideLogitsProcessor, load_guide
from grice_tasks.steering.guide_training import Fitting, Sampling, save_guide, train_guide

SAMPLING = Sampling(temperature=1.0, replies=1)
FITTING = Fitting(components=2, hidden=16, epochs=20, rate=5e-3, decay=0.0)
PREFIXES = {0: [], 1: [1]}
"""Tokens after which the toy is in each of its states."""


@pytest.fixture(scope="module")
def samples():
    return drawn_replies(1500)


@pytest.fixture(scope="module")
def trained(samples):
    return train_guide(samples, Toy(), ["b"], SAMPLING, FITTING)


def next_tokens(guide, before, strength):
    weights = np.exp(guide.adjusted_logits(Toy().logits(before), before, strength).astype(float))
    return weights / weights.sum()


@pytest.mark.parametrize("consistency", [0.0, 0.5, 0.9])
def test_the_learned_guide_is_the_closed_form(samples, trained, consistency):
    guide = trained[0]
    if consistency:
        fitting = replace(FITTING, consistency=consistency)
        guide, _ = train_guide(samples, Toy(), ["b"], SAMPLING, fitting)
    for state, before in PREFIXES.items():
        assert next_tokens(guide, before, 1.0) == pytest.approx(GIVEN_LABEL[state], abs=0.06)


class Tensor(np.ndarray):
    """An array with the methods of a tensor of torch that a logits processor calls."""

    detach = float = cpu = lambda self: self
    numpy = new_tensor = lambda self, values=None: np.asarray(self if values is None else values)


def processed(guide, strength, scores, prompts=((2, 0), (0, 1))):
    """Return scores after a prompt of one token, by a processor for transformers."""
    process = GuideLogitsProcessor(guide, prompt_length=1, strength=strength)
    return np.asarray(process(np.array(prompts), scores.astype(np.float32).view(Tensor)))


@pytest.mark.parametrize(("strength", "least", "most"), [(0.0, 0.4, 0.6), (1.0, 0.93, 1.0)])
def test_guided_replies_satisfy_the_label(trained, strength, least, most):
    random = np.random.default_rng(1).random

    def drawn(logits, before):
        return sample_token(
            processed(trained[0], strength, logits[None], [[0, *before]])[0], random()
        )

    written = Toy().decode([""] * 300, [drawn] * 300)
    assert least <= np.mean(["b" in reply.text for reply in written]) <= most


def test_strength_zero_is_the_base_exactly(trained):
    logits = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    assert (trained[0].adjusted_logits(logits[0], [0], 0.0) == logits[0]).all()
    assert (processed(trained[0], 0.0, logits) == logits).all()


def test_a_logits_processor_weighs_each_row_and_keeps_what_is_forbidden(trained):
    scores = np.stack([Toy().logits([0]), Toy().logits([1])])
    guided = [trained[0].adjusted_logits(row, [i], 2.0) for i, row in enumerate(scores)]
    assert processed(trained[0], 2.0, scores) == pytest.approx(np.stack(guided), abs=1e-5)
    scores[0, 1] = -np.inf
    assert np.isneginf(processed(trained[0], 2.0, scores)).tolist() == [[False, True, False],
                                                                      [False] * 3]  # fmt: skip
    with pytest.raises(InputError, match=r"toy@1, which has 3 tokens; this model has 4"):
        processed(trained[0], 1.0, np.zeros((2, 4)))


def test_the_losses_fall_and_the_report_counts(trained):
    _, report = trained
    assert report.training_loss[-1] < report.training_loss[0]
    assert min(report.validation_loss) < report.prior_loss
    assert report.validation_loss[report.epoch - 1] == min(report.validation_loss)
    assert report.satisfied == {"b": pytest.approx(0.5, abs=0.05), "all": report.satisfied["b"]}
    assert report.replies == 1500
    assert report.auc["last third"] > 0.7


def test_the_same_samples_give_the_same_guide(samples):
    few = samples[:100]
    first, second = (train_guide(few, Toy(), ["b"], SAMPLING, FITTING)[1] for _ in range(2))
    assert first == second


def test_a_guide_of_another_vocabulary_or_model_names_both(trained):
    other = Toy()
    other.vocabulary = ("x", "y", "z")
    with pytest.raises(InputError, match=r"toy@1 .*another vocabulary"):
        trained[0].check(other)
    later = Toy()
    later.identity = "later@2/fast"
    with pytest.raises(InputError, match="trained for toy@1, not for later@2"):
        trained[0].check(later)
    trained[0].check(Toy())
    with pytest.raises(ModelFolderError, match="where a guide is needed"):
        load_guide(shipped_models()["engagement"])


def test_a_guide_that_was_saved_writes_the_same(trained, tmp_path):
    guide, report = trained
    save_guide(tmp_path / "guide", guide, report, ["grice train guide"], seed=0)
    opened = load_guide(tmp_path / "guide")
    assert opened.settings == guide.settings
    for before in PREFIXES.values():
        ours, theirs = (next_tokens(each, before, 1.0) for each in (guide, opened))
        assert ours == pytest.approx(theirs, abs=2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"labels": {"b": True}}, "every reply .* there is nothing to learn"),
     ({"labels": {"b": False}}, "no reply .* there is nothing to learn"),
     ({"context": 0}, "two at least")],
)  # fmt: skip
def test_replies_of_one_kind_or_context_teach_nothing(samples, change, message):
    alike = [sample._replace(**change) for sample in samples[:10]]
    with pytest.raises(InputError, match=message):
        train_guide(alike, Toy(), ["b"], SAMPLING, FITTING)
