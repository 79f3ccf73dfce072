"""The generator, on a tiny encoder-decoder of random weights made here."""

import numpy as np
import pytest
from ctranslate2.specs import transformer_spec
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from grice.models.embedded import EmbeddedGenerator
from grice.models.loader import ModelLoader
from tiny_decoder import save

WORDS = ["<unk>", "<s>", "</s>", "to", "sleep", "eat", "bread", "happy", "tired", "run"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    spec = transformer_spec.TransformerSpec.from_config(1, 2)
    spec.register_source_vocabulary(WORDS)
    spec.register_target_vocabulary(WORDS)
    spec.config.decoder_start_token = "<s>"
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, "<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    tokenizer.add_special_tokens(["<s>", "</s>"])
    path = tmp_path_factory.mktemp("tiny") / "generator"
    return save(path, spec, tokenizer, WORDS, seed=4, kind="generator", max_tokens=6)


@pytest.fixture(scope="module")
def opened(folder):
    """Return what opens the generator with an empty cache."""
    return lambda: ModelLoader().load(f"file:{folder}", EmbeddedGenerator)


@pytest.fixture
def generator(opened):
    return opened()


def test_the_most_probable_texts_come_first_and_are_different(generator):
    [texts] = generator.generate(["tired to sleep"], count=4)
    assert (len(texts), len({text.text for text in texts})) == (4, 4)
    probabilities = [text.log_probability for text in texts]
    assert probabilities == sorted(probabilities, reverse=True)
    assert max(probabilities) <= 0
    assert set(" ".join(text.text for text in texts).split()) <= set(WORDS)
    assert all(len(text.text.split()) <= 6 for text in texts)


def test_an_answer_does_not_depend_on_its_neighbours(opened):
    prompts = ["tired", "to run to eat bread", "happy happy", "sleep"]
    together = opened().generate(prompts, count=3)
    assert [opened().generate([prompt], count=3)[0] for prompt in prompts] == together
    assert opened().generate(prompts[::-1], count=3) == together[::-1]
    asked = [("tired", "sleep"), ("run", "eat bread"), ("", "happy happy happy")]
    together = opened().log_probabilities(*map(list, zip(*asked, strict=True)))
    assert all(value <= 0 for value in together)
    assert together == [opened().log_probabilities([p], [t])[0] for p, t in asked]


def test_unknown_words_and_nothing_are_prompts_too(generator):
    for prompt in ("", "zzz", "\x00", "😀"):
        assert len(generator.generate([prompt], count=2)[0]) == 2
    assert generator.generate([], count=2) == generator.log_probabilities([], []) == []
    with pytest.raises(ValueError, match="is shorter"):
        generator.log_probabilities(["a", "b"], ["c"])


def test_scores_are_log_probabilities_of_a_text_and_its_end(generator):
    words = [word for word in WORDS if not word.startswith("<")]
    means = generator.log_probabilities(["tired to sleep"] * len(words), words)
    # Two tokens each, the word and the end: the texts exclude each other.
    assert 0 < sum(np.exp(2 * mean) for mean in means) <= 1
    assert means != generator.log_probabilities(["eat bread"] * len(words), words)
