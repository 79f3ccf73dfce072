"""A tiny decoder of random weights as a model, and models that depend on it."""

from __future__ import annotations

import numpy as np
from ctranslate2.specs import transformer_spec
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from grice.models.folder import file_sha256

WORDS = ["<unk>", "<s>", "</s>", "A", "B", ":", "i", "eat", "bread", "sleep", "happy", "tired"]
SIZE = 16
SHAPES = {
    "self_attention/linear_0": (3 * SIZE, SIZE),
    "ffn/linear_0": (2 * SIZE, SIZE),
    "ffn/linear_1": (SIZE, 2 * SIZE),
}


def shape_of(name, positions):
    if "layer_norm" in name:
        return (SIZE,)
    if "embeddings" in name or "projection" in name:
        return (len(WORDS), SIZE)
    if "encodings" in name:
        return (positions, SIZE)
    return next((shape for part, shape in SHAPES.items() if part in name), (SIZE, SIZE))


def child(part, step):
    if hasattr(part, step):
        return getattr(part, step)
    name, _, number = step.rpartition("_")
    return getattr(part, name)[int(number)]


def write(folder, max_tokens=40):
    positions = max(64, max_tokens)
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(2, 2)
    rng = np.random.default_rng(7)
    for name, value in spec.variables(ordered=True):
        if value is None:
            *path, last = name.split("/")
            part = spec
            for step in path:
                part = child(part, step)
            setattr(part, last, rng.normal(size=shape_of(name, positions)).astype(np.float32))
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
        'name = "tiny"\nkind = "causal-lm"\nversion = "1"\nsummary = "-"\nlicence = "-"\n'
        f"[settings]\nmax_tokens = {max_tokens}\n[files]\n{sums}\n"
    )
    return folder
