"""A tiny decoder of random weights as a model, and models that depend on it."""

import json

import numpy as np
from ctranslate2.specs import transformer_spec
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

import made_metric
from grice.models.folder import write_card

WORDS = ["<unk>", "<s>", "</s>", "A", "B", ":", "i", "eat", "bread", "sleep", "happy", "tired"]
SIZE = 16
SHAPES = {
    "self_attention/linear_0": (3 * SIZE, SIZE), "/attention/linear_1": (2 * SIZE, SIZE),
    "ffn/linear_0": (2 * SIZE, SIZE), "ffn/linear_1": (SIZE, 2 * SIZE),
}  # fmt: skip


def shape_of(name, words, positions):
    if "layer_norm" in name:
        return (SIZE,)
    if "embeddings" in name or "projection" in name:
        return (words, SIZE)
    if "encodings" in name:
        return (positions, SIZE)
    return next((shape for part, shape in SHAPES.items() if part in name), (SIZE, SIZE))


def child(part, step):
    if hasattr(part, step):
        return getattr(part, step)
    name, _, number = step.rpartition("_")
    return getattr(part, name)[int(number)]


def save(folder, spec, tokenizer, words, *, seed, kind, max_tokens, positions=64):
    """Write a network of random weights as a model."""
    rng = np.random.default_rng(seed)
    for name, value in spec.variables(ordered=True):
        if value is None:
            *path, last = name.split("/")
            part = spec
            for step in path:
                part = child(part, step)
            shape = shape_of(name, len(words), positions)
            setattr(part, last, rng.normal(size=shape).astype(np.float32))
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = "<s>", "</s>", "<unk>"
    spec.validate()
    folder.mkdir()
    spec.save(str(folder))
    tokenizer.save(str(folder / "tokenizer.json"))
    facts = {"name": "tiny", "kind": kind, "version": "1", "summary": "-", "licence": "-"}
    files = sorted(path.name for path in folder.iterdir())
    write_card(folder, facts, {}, {"max_tokens": max_tokens}, files=files)
    return folder


def write(folder, max_tokens=40):
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(2, 2)
    spec.register_vocabulary(WORDS)
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, "<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    return save(
        folder, spec, tokenizer, WORDS, seed=7, kind="causal-lm", max_tokens=max_tokens,
        positions=max(64, max_tokens),
    )  # fmt: skip


def write_steered(folder):
    """Write decoders, conversations and a metric as a plug-in: what training of a guide needs."""
    write(folder / "tiny", max_tokens=160)
    write(folder / "other", max_tokens=164)
    named = 'return (Judgement(float("B" in response.text)) for response in responses)'
    made_metric.write(folder / "names_b.py", "names_b", named)
    texts = ["i eat bread", "B happy", "sleep tired A", "bread", "A : i", "tired"]
    talks = [{"id": f"{i}", "turns": ["i sleep", text]} for i, text in enumerate(texts)]
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)), "utf-8")
    return folder


def steer_options(folder, model="tiny"):
    """Return words of a command; in int8 a random decoder depends on the kind of processor."""
    plugin = ["--plugin", str(folder / "names_b.py"), "-m", "names_b", "--mode", "exact"]
    return [*plugin, "--cache", str(folder / f"cache-{model}")]
