from __future__ import annotations

import numpy as np
import pytest

from grice.errors import BundleError
from grice_research.triplets.decoder import FAR, Decoder
from grice_research.triplets.layers import MOST

SIZE, WIDE, HEADS, SHARED = 16, 40, 4, 2
HEAD = SIZE // HEADS
WORDS = ["<s>", "</s>", "<unk>", "the", "bus", "##es", "are", "late"]
LETTERS = ["<unk>", *"thebusaril "]
LAYER = {
    "query": (SIZE, SIZE), "key": (SIZE, SHARED * HEAD), "value": (SIZE, SHARED * HEAD),
    "seen": (SIZE, SIZE), "gate": (SIZE, WIDE), "wide": (SIZE, WIDE), "narrow": (WIDE, SIZE),
}  # fmt: skip


def arrays(count=2):
    draw = np.random.default_rng(0)
    weights = {
        "words": draw.normal(size=(len(LETTERS), SIZE)),
        "turns": 10000.0 ** -(np.arange(0, HEAD, 2) / HEAD), "tiny": np.array(1e-5),
        "centre": np.zeros(SIZE), "spread": np.ones(SIZE),
    }  # fmt: skip
    for number in range(count):
        for name, shape in LAYER.items():
            weights[f"{number}_{name}"] = draw.normal(size=shape) / shape[0] ** 0.5
        for name in ("before", "between"):
            weights[f"{number}_{name}"] = draw.normal(1, 0.1, SIZE)
    return {name: value.astype(np.float32) for name, value in weights.items()}


def write(folder, weights):
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokens = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    tokens.normalizer = normalizers.Lowercase()
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokens.save(str(folder / "tokenizer.json"))
    pieces = Tokenizer(
        models.WordLevel({letter: i for i, letter in enumerate(LETTERS)}, unk_token="<unk>")
    )
    pieces.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    pieces.save(str(folder / "pieces.json"))
    np.savez(folder / "lower.npz", **weights)
    return folder


def test_a_token_has_the_mean_state_of_the_pieces_it_is_made_of(tmp_path):
    read = Decoder(write(tmp_path, arrays()))
    (reading,) = read(["the buses"])
    assert reading.offsets == [(0, 0), (0, 3), (4, 7), (7, 9), (0, 0)]
    (letters,) = read([" ".join("the buses".replace(" ", ""))])
    assert reading.states.shape == (5, SIZE)
    assert letters.states.shape == (10, SIZE)
    # Nothing stands before the first letter: its state is its own, whatever follows.
    assert reading.states[0] == pytest.approx(letters.states[1], abs=1e-5)


def test_what_follows_a_token_does_not_change_it(tmp_path):
    read = Decoder(write(tmp_path, arrays()))
    short, long = read(["the bus are", "the bus are late"])
    assert short.states[:4] == pytest.approx(long.states[:4], abs=1e-5)
    other, same = read(["bus the are", "the bus are"])
    assert not np.allclose(other.states[3], same.states[3], atol=1e-2)


def test_states_are_standardised_and_none_is_far_out(tmp_path):
    plain = Decoder(write(tmp_path, arrays()))(["the bus"])[0].states
    moved = {"centre": np.full(SIZE, 0.5), "spread": np.full(SIZE, 2.0)}
    (tmp_path / "moved").mkdir()
    states = Decoder(write(tmp_path / "moved", arrays() | moved))(["the bus"])[0].states
    assert states == pytest.approx((plain - 0.5) / 2, abs=1e-6)
    far = {"centre": np.full(SIZE, 1e6)}
    (tmp_path / "far").mkdir()
    states = Decoder(write(tmp_path / "far", arrays() | far))(["the bus"])[0].states
    assert (states == -FAR).all()


def test_a_long_text_keeps_its_beginning_and_an_empty_one_has_states_of_nothing(tmp_path):
    long, empty = Decoder(write(tmp_path, arrays()))(["late " * 600, ""])
    assert long.states.shape == (MOST, SIZE)
    assert np.isfinite(long.states).all()
    assert empty.states.shape == (2, SIZE)
    assert not empty.states.any()


def test_a_decoder_is_that_of_llama(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=len(LETTERS), hidden_size=SIZE, intermediate_size=WIDE, num_hidden_layers=2,
        num_attention_heads=HEADS, num_key_value_heads=SHARED, rms_norm_eps=1e-5,
        max_position_embeddings=64, tie_word_embeddings=True,
    )  # fmt: skip
    model, weights = transformers.LlamaModel(config).eval(), arrays()
    model.norm = torch.nn.Identity()
    state = {"embed_tokens.weight": weights["words"]}
    names = {
        "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
        "seen": "self_attn.o_proj", "gate": "mlp.gate_proj", "wide": "mlp.up_proj",
        "narrow": "mlp.down_proj", "before": "input_layernorm",
        "between": "post_attention_layernorm",
    }  # fmt: skip
    for number in range(2):
        state |= {f"layers.{number}.{other}.weight": weights[f"{number}_{name}"].T
                  for name, other in names.items()}  # fmt: skip
    model.load_state_dict({name: torch.tensor(tensor) for name, tensor in state.items()})
    text = "the bus are late"
    (reading,) = Decoder(write(tmp_path, weights))([text])
    with torch.no_grad():
        wanted = model(
            torch.tensor([[LETTERS.index(letter) for letter in text]])
        ).last_hidden_state[0]
    means = [wanted[a:b].mean(0).numpy() for a, b in reading.offsets[1:-1]]
    assert reading.states[1:-1] == pytest.approx(np.stack(means), abs=2e-4)


@pytest.mark.parametrize("name", ["turns", "1_gate"])
def test_arrays_that_are_missing_are_named(tmp_path, name):
    kept = arrays()
    del kept[name]
    with pytest.raises(BundleError, match=f"no array '{name}'"):
        Decoder(write(tmp_path, kept))
