"""Small random decoders: as files of Hugging Face and of llama.cpp, and computed with numpy."""

import json
import struct

import numpy as np
from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFWriter, get_tensor_name_map
from gguf.quants import quantize
from tokenizers import Tokenizer, models, pre_tokenizers

HIDDEN, HEADS, KEY_HEADS, SIZE, FEED, LAYERS = 64, 4, 2, 16, 96, 2
BASE, EPSILON = 10_000.0, 1e-5


def vocabulary():
    return ["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġb", "re", "ad"]


MERGES = ["Ġ b", "r e", "a d"]


def weights(family="llama", seed=0):
    rng = np.random.default_rng(seed)

    def drawn(*shape):
        return rng.normal(0, 0.4 / np.sqrt(shape[-1]), shape).astype(np.float32)

    tensors = {
        "model.embed_tokens.weight": rng.normal(0, 0.15, (len(vocabulary()), HIDDEN)).astype("f"),
        "model.norm.weight": 1 + drawn(HIDDEN),
    }
    for i in range(LAYERS):
        name = f"model.layers.{i}"
        shapes = {
            "self_attn.q_proj": (HEADS * SIZE, HIDDEN),
            "self_attn.k_proj": (KEY_HEADS * SIZE, HIDDEN),
            "self_attn.v_proj": (KEY_HEADS * SIZE, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HEADS * SIZE), "mlp.gate_proj": (FEED, HIDDEN),
            "mlp.up_proj": (FEED, HIDDEN), "mlp.down_proj": (HIDDEN, FEED),
        }  # fmt: skip
        for part, shape in shapes.items():
            tensors[f"{name}.{part}.weight"] = 3 * drawn(*shape)
            if family == "qwen2" and part[-6] in "qkv":
                tensors[f"{name}.{part}.bias"] = drawn(shape[0])
        for part in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{name}.{part}.weight"] = 1 + drawn(HIDDEN)
        if family == "qwen3":
            for part in ("q_norm", "k_norm"):
                tensors[f"{name}.self_attn.{part}.weight"] = 1 + drawn(SIZE)
    return tensors


def states_after(tensors, ids, layers=LAYERS):
    """Return the state of each token after some layers, by the definition of the model."""
    states = tensors["model.embed_tokens.weight"][ids].astype(float)
    for i in range(layers):
        part = {
            name.removeprefix(f"model.layers.{i}."): value.astype(float)
            for name, value in tensors.items()
            if name.startswith(f"model.layers.{i}.")
        }
        states = states + attention(part, norm(states, part["input_layernorm.weight"]))
        read = norm(states, part["post_attention_layernorm.weight"])
        gate, up = read @ part["mlp.gate_proj.weight"].T, read @ part["mlp.up_proj.weight"].T
        states = states + (gate / (1 + np.exp(-gate)) * up) @ part["mlp.down_proj.weight"].T
    return states


def log_probabilities(tensors, ids):
    """Return the log probability of each token but the first, by the definition of the model."""
    states = norm(states_after(tensors, ids), tensors["model.norm.weight"])
    odds = states @ tensors.get("lm_head.weight", tensors["model.embed_tokens.weight"]).T
    odds -= odds.max(1, keepdims=True)
    values = odds - np.log(np.exp(odds).sum(1, keepdims=True))
    return values[np.arange(len(ids) - 1), ids[1:]]


def norm(states, weight):
    return states / np.sqrt((states**2).mean(-1, keepdims=True) + EPSILON) * weight


def attention(part, states):
    def heads(letter, count):
        bias = part.get(f"self_attn.{letter}_proj.bias", 0.0)
        split = (states @ part[f"self_attn.{letter}_proj.weight"].T + bias).reshape(-1, count, SIZE)
        if f"self_attn.{letter}_norm.weight" in part:
            split = norm(split, part[f"self_attn.{letter}_norm.weight"])
        return split.swapaxes(0, 1)

    queries, keys, values = heads("q", HEADS), heads("k", KEY_HEADS), heads("v", KEY_HEADS)
    keys, values = (np.repeat(x, HEADS // KEY_HEADS, axis=0) for x in (keys, values))
    weight = rotated(queries) @ rotated(keys).swapaxes(1, 2) / np.sqrt(SIZE)
    weight = np.where(np.tril(np.ones(weight.shape[1:], bool)), weight, -np.inf)
    weight = np.exp(weight - weight.max(-1, keepdims=True))
    mixed = weight / weight.sum(-1, keepdims=True) @ values
    return mixed.swapaxes(0, 1).reshape(len(states), -1) @ part["self_attn.o_proj.weight"].T


def rotated(heads):
    angles = np.arange(heads.shape[1])[:, None] / BASE ** (np.arange(0, SIZE, 2) / SIZE)
    first, second = heads[..., : SIZE // 2], heads[..., SIZE // 2 :]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def tokenizer():
    made = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(vocabulary())},
            merges=[tuple(pair.split()) for pair in MERGES],
        )
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def write_folder(folder, family="llama", tensors=None, **config):
    folder.mkdir(exist_ok=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    write_safetensors(folder / "model.safetensors", tensors or weights(family))
    facts = {
        "model_type": family, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS, "head_dim": SIZE, "hidden_size": HIDDEN,
        "intermediate_size": FEED, "vocab_size": len(vocabulary()), "rope_theta": BASE,
        "rms_norm_eps": EPSILON, "max_position_embeddings": 64, "eos_token_id": 0,
        "bos_token_id": None,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(facts | config))
    return folder


def write_safetensors(path, tensors, kind="F32"):
    header, content = {}, b""
    for name, values in tensors.items():
        raw = as_bytes(values, kind)
        header[name] = {
            "dtype": kind,
            "shape": values.shape,
            "data_offsets": [len(content), len(content) + len(raw)],
        }
        content += raw
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + content)


def as_bytes(values, kind):
    if kind == "BF16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return values.astype({"F32": np.float32, "F16": np.float16, "F64": np.float64}[kind]).tobytes()


def write_gguf(path, tensors, kind=GGMLQuantizationType.F32, **changed):
    """Write a Llama as llama.cpp does; its matrices are stored as a kind of GGUF."""
    facts = {
        "llama.block_count": LAYERS, "llama.context_length": 64, "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": FEED, "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS, "llama.rope.freq_base": BASE,
        "llama.attention.layer_norm_rms_epsilon": EPSILON, "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": vocabulary(),
        "tokenizer.ggml.token_type": [3] + [1] * (len(vocabulary()) - 1),
        "tokenizer.ggml.merges": MERGES, "tokenizer.ggml.eos_token_id": 0,
    } | changed  # fmt: skip
    writer = GGUFWriter(path, facts.pop("general.architecture", "llama"))
    adders = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}
    for name, content in facts.items():
        adders.get(type(content), writer.add_array)(name, content)
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, LAYERS)
    for name, values in tensors.items():
        stored = kind if values.ndim == 2 else GGMLQuantizationType.F32
        values, place = interleaved(name, values), names.get_name(name, try_suffixes=(".weight",))
        writer.add_tensor(place, quantize(values, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def interleaved(name, values):
    """Return queries and keys with the halves of a head interleaved, as llama.cpp stores them."""
    count = {"q_proj": HEADS, "k_proj": KEY_HEADS}.get(name.split(".")[-2])
    if count is None:
        return values
    halves = values.reshape(count, 2, SIZE // 2, -1)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(values.shape))
