"""A language model of one's own, on a tiny decoder of random weights made here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ctranslate2.specs import transformer_spec
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from grice.errors import BundleError, InputError
from grice.metrics.relevance.language_model import LanguageModel, LanguageSettings
from grice.runtime.bundle import file_sha256, open_bundle
from grice.runtime.models import Models
from grice.runtime.protocols import Pair, PairClassifier, TextScorer
from grice.runtime.registry import read_settings

WORDS = ["<unk>", "<s>", "</s>", "A", "B", ":", "i", "eat", "bread", "sleep", "happy", "tired"]
SIZE = 16
SHAPES = {
    "self_attention/linear_0": (3 * SIZE, SIZE),
    "ffn/linear_0": (2 * SIZE, SIZE),
    "ffn/linear_1": (SIZE, 2 * SIZE),
}
SETTINGS = "max_tokens = 40\nweight_after = 1.0\nweight_gain = 2.0\nweight_shift = 0.5\n"


def shape_of(name):
    if "layer_norm" in name:
        return (SIZE,)
    if "embeddings" in name or "projection" in name:
        return (len(WORDS), SIZE)
    if "encodings" in name:
        return (64, SIZE)
    return next((shape for part, shape in SHAPES.items() if part in name), (SIZE, SIZE))


def child(part, step):
    if hasattr(part, step):
        return getattr(part, step)
    name, _, number = step.rpartition("_")
    return getattr(part, name)[int(number)]


def write(folder, settings=SETTINGS):
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(2, 2)
    rng = np.random.default_rng(7)
    for name, value in spec.variables(ordered=True):
        if value is None:
            *path, last = name.split("/")
            part = spec
            for step in path:
                part = child(part, step)
            setattr(part, last, rng.normal(size=shape_of(name)).astype(np.float32))
    spec.register_vocabulary(WORDS)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.validate()
    folder.mkdir()
    spec.save(str(folder))
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, "<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    sums = "\n".join(f'"{p.name}" = "{file_sha256(p)}"' for p in sorted(folder.iterdir()))
    (folder / "card.toml").write_text(
        'name = "tiny"\nkind = "language-model"\nversion = "1"\nsummary = "-"\nlicence = "-"\n'
        f"[settings]\n{settings}[files]\n{sums}\n"
    )
    return folder


def opened(bundle):
    return LanguageModel(bundle, read_settings(bundle, LanguageSettings), threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="module")
def model(folder):
    return opened(open_bundle(folder))


def test_it_scores_texts_and_judges_pairs(model):
    assert isinstance(model, TextScorer)
    assert isinstance(model, PairClassifier)


def test_a_probability_is_that_of_the_text_alone_after_its_prompt(model):
    one, other = model.log_probabilities(["A: i eat", "A: i sleep"], ["bread", "bread"])
    assert one < 0
    assert one != other


def test_what_is_known_of_one_token_after_another_adds_up(model):
    both = model.log_probabilities(["A:"], ["bread happy"])[0]
    first = model.log_probabilities(["A:"], ["bread"])[0]
    second = model.log_probabilities(["A: bread"], ["happy"])[0]
    assert both == pytest.approx((first + second) / 2, rel=1e-5)


def test_neighbours_change_no_bit(model):
    pairs = [
        Pair(("i eat bread",), "happy"),
        Pair(("i", "eat", "sleep happy tired i eat"), "bread i sleep"),
        Pair(("tired",), "i i i i i i"),
    ]
    assert model.classify(pairs) == [model.classify([pair])[0] for pair in pairs]


def test_odds_are_the_weighed_sum_of_likelihood_and_gain(model):
    pair = Pair(("i eat bread",), "happy")
    (after, gain), (value,) = model.likely([pair])[0], model.classify([pair])
    assert math.log(value / (1 - value)) == pytest.approx(after + 2 * gain + 0.5, abs=1e-4)
    alone = model.log_probabilities(["A:"], ["happy"])[0]
    assert gain == pytest.approx(after - alone)


@pytest.mark.parametrize("pair", [Pair((), "happy"), Pair(("…", " "), "happy"), Pair(("i",), " !")])
def test_where_a_side_has_no_word_there_is_nothing_to_judge(model, pair):
    assert model.classify([pair]) == [0.5]


def test_of_a_long_history_the_end_is_read(model):
    short = Pair(("sleep " * 60 + "i eat bread",), "happy")
    long = Pair(("happy " * 900 + "sleep " * 60 + "i eat bread",), "happy")
    assert model.classify([short]) == model.classify([long])
    assert model.truncated([short.left[0], "i eat"]) == [True, False]


def test_half_a_character_is_read_as_an_unknown_one(model):
    assert model.log_probabilities(["A:"], ["\ud83d"]) == model.log_probabilities(
        ["A:"], ["\ufffd"]
    )


def test_nothing_asked_nothing_answered(model):
    assert model.classify([]) == []
    assert model.log_probabilities([], []) == []


def test_as_many_prompts_as_texts(model):
    with pytest.raises(InputError, match="1 prompts and 2 texts"):
        model.log_probabilities(["A:"], ["i", "eat"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (SETTINGS.replace("weight_gain = 2.0\n", ""), "weight_gain"),
        (SETTINGS.replace("weight_gain = 2.0", "weight_gain = nan"), "weight_gain"),
        (SETTINGS.replace("40", "4"), "found 4"),
    ],
)
def test_a_card_without_its_numbers_is_refused(tmp_path, settings, said):
    with pytest.raises(BundleError, match=said):
        opened(open_bundle(write(tmp_path / "model", settings)))


def test_it_opens_where_the_models_of_the_package_do(folder):
    models = Models(mode="exact", workers=1, cache=None)
    assert isinstance(models.open(f"file:{folder}"), LanguageModel)
    models.close()
