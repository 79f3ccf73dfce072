from __future__ import annotations

import numpy as np
import pytest

from grice.errors import BundleError
from grice_research.triplets.layers import HEADS, MOST, Layer, Tower

SIZE, WIDE = 24, 48
WORDS = ["<s>", "</s>", "<unk>", "the", "bus", "is", "late"]


def arrays(count=3, seed=0):
    draw = np.random.default_rng(seed)
    weights = {
        "words": draw.normal(size=(len(WORDS), SIZE)),
        "places": draw.normal(size=(MOST, SIZE)),
        "first_scale": draw.normal(1, 0.1, SIZE), "first_shift": draw.normal(size=SIZE),
        "near": draw.normal(size=(2 * MOST - 1, HEADS)), "tiny": np.array(1e-5),
        "reads": np.array([1, count]),
    }  # fmt: skip
    for number in range(count):
        shapes = {**dict.fromkeys(("query", "key", "value", "seen"), (SIZE, SIZE)),
                  "wide": (SIZE, WIDE), "narrow": (WIDE, SIZE)}  # fmt: skip
        for name, shape in shapes.items():
            weights[f"{number}_{name}_weight"] = draw.normal(size=shape) / shape[0] ** 0.5
            weights[f"{number}_{name}_bias"] = draw.normal(size=shape[1]) / 10
        for name in ("seen", "narrow"):
            weights[f"{number}_{name}_scale"] = draw.normal(1, 0.1, SIZE)
            weights[f"{number}_{name}_shift"] = draw.normal(size=SIZE) / 10
    return {name: value.astype(np.float32) for name, value in weights.items()}


def write(folder, weights):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    np.savez(folder / "lower.npz", **weights)
    return folder


def test_a_tower_gives_the_states_behind_the_layers_it_names(tmp_path):
    (reading,) = Tower(write(tmp_path, arrays()))(["The bus is late"])
    assert reading.offsets == [(0, 0), (0, 3), (4, 7), (8, 10), (11, 15), (0, 0)]
    assert reading.states.shape == (6, 2 * SIZE)
    (first,) = Tower(write(tmp_path, arrays() | {"reads": np.array([1])}))(["The bus is late"])
    assert reading.states[:, :SIZE] == pytest.approx(first.states, abs=1e-6)
    second = Layer(arrays(), "1_")(first.states)
    third = Layer(arrays(), "2_")(second)
    assert reading.states[:, SIZE:] == pytest.approx(third, abs=1e-5)


def test_a_text_is_read_alike_among_others_and_keeps_its_beginning_when_long(tmp_path):
    tower = Tower(write(tmp_path, arrays()))
    both = tower(["the bus", "late " * 600])
    assert both[0].states == pytest.approx(tower(["the bus"])[0].states, abs=1e-6)
    assert both[1].states.shape == (MOST, 2 * SIZE)
    assert both[1].offsets[-1] == (5 * (MOST - 2), 5 * (MOST - 2) + 4)


def test_where_a_word_stands_matters_to_what_is_added_to_attention():
    weights = arrays()
    states = np.random.default_rng(1).normal(size=(5, SIZE)).astype(np.float32)
    turned = Layer(weights, "0_")(states[::-1])[::-1]
    assert not np.allclose(Layer(weights, "0_")(states), turned, atol=1e-2)
    del weights["near"]
    turned = Layer(weights, "0_")(states[::-1])[::-1]
    assert Layer(weights, "0_")(states) == pytest.approx(turned, abs=1e-5)


def test_a_tower_is_that_of_mpnet(tmp_path):
    torch = pytest.importorskip("torch")
    pack = pytest.importorskip("transformers.models.mpnet.modeling_mpnet")
    from transformers import MPNetConfig

    config = MPNetConfig(
        vocab_size=len(WORDS), hidden_size=SIZE, num_attention_heads=12, num_hidden_layers=3,
        intermediate_size=WIDE, max_position_embeddings=MOST + 2, pad_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    model = pack.MPNetModel(config, add_pooling_layer=False).eval()
    near = model.encoder.relative_attention_bias
    near.weight.data.normal_()
    weights = arrays()
    state = model.state_dict()
    names = {"words": "word_embeddings.weight", "first_scale": "LayerNorm.weight",
             "first_shift": "LayerNorm.bias"}  # fmt: skip
    for name, other in names.items():
        state[f"embeddings.{other}"] = torch.tensor(weights[name])
    state["embeddings.position_embeddings.weight"][2:] = torch.tensor(weights["places"])
    parts = {"query": "attention.attn.q", "key": "attention.attn.k", "value": "attention.attn.v",
             "seen": "attention.attn.o", "wide": "intermediate.dense",
             "narrow": "output.dense"}  # fmt: skip
    for number in range(3):
        for name, other in parts.items():
            place = f"encoder.layer.{number}.{other}"
            state[f"{place}.weight"] = torch.tensor(weights[f"{number}_{name}_weight"].T)
            state[f"{place}.bias"] = torch.tensor(weights[f"{number}_{name}_bias"])
        for name, other in (("seen", "attention"), ("narrow", "output")):
            place = f"encoder.layer.{number}.{other}.LayerNorm"
            state[f"{place}.weight"] = torch.tensor(weights[f"{number}_{name}_scale"])
            state[f"{place}.bias"] = torch.tensor(weights[f"{number}_{name}_shift"])
    model.load_state_dict(state)
    bias = model.encoder.compute_position_bias(torch.zeros(1, MOST, 1))[0].detach()
    weights["near"] = torch.cat([bias[:, -1], bias[:, 0, 1:]], dim=1).T.numpy()
    (reading,) = Tower(write(tmp_path, weights))(["The bus the is late"])
    with torch.no_grad():
        wanted = model(
            input_ids=torch.tensor([[0, 3, 4, 3, 5, 6, 1]]), position_ids=torch.arange(2, 9)[None],
            output_hidden_states=True,
        ).hidden_states  # fmt: skip
    both = torch.cat([wanted[1], wanted[3]], dim=2)[0].numpy()
    assert reading.states == pytest.approx(both, abs=2e-4)


def test_arrays_and_layers_that_are_missing_are_named(tmp_path):
    kept = arrays()
    write(tmp_path, kept | {"reads": np.array([4])})
    with pytest.raises(BundleError, match="layers that are not there"):
        Tower(tmp_path)
    del kept["places"]
    write(tmp_path, kept)
    with pytest.raises(BundleError, match="no array 'places'"):
        Tower(tmp_path)
