"""Published decoders in the run-time format, against the definition of the model in numpy."""

import json
import os
import re
import struct
from functools import partial

import ctranslate2
import numpy as np
import pytest
from gguf import GGMLQuantizationType
from tokenizers import Tokenizer

from decoders import (
    FEED,
    HIDDEN,
    log_probabilities,
    tokenizer,
    weights,
    write_folder,
    write_gguf,
    write_safetensors,
)
from grice.errors import ModelFolderError
from grice.models import conversion
from grice.models.conversion import convert

TEXT = "we bread a bird, 42 times"


def scored(folder, tensors):
    """Return what the converted model says of a text, and what the definition says."""
    encoding = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT)
    engine = ctranslate2.Generator(str(folder), compute_type="float32")
    (result,) = engine.score_batch([encoding.tokens])
    return np.array(result.log_probs), log_probabilities(tensors, np.array(encoding.ids))


def converted(source, target, **options):
    target.mkdir()
    convert(source, target, **options)
    return target


ROTARY = {"rope_theta": 1.0, "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}


@pytest.mark.parametrize(("family", "own_head", "config"), [
    ("llama", False, {}), ("qwen2", False, {}), ("qwen3", False, {}), ("llama", True, {}),
    ("llama", False, ROTARY),
])  # fmt: skip
def test_each_family_gives_the_numbers_of_its_definition(tmp_path, family, own_head, config):
    tensors = weights(family)
    if own_head:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"][::-1].copy()
    source = write_folder(tmp_path / "source", family, tensors, **config)
    folder = converted(source, tmp_path / "model", quantization="float32")
    np.testing.assert_allclose(*scored(folder, tensors), atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "kind", "error"), [(1, "F16", 0.01), (1, "BF16", 0.1), (2, "F32", 1e-5)]
)
def test_weights_of_half_precision_and_in_several_files_are_read(tmp_path, parts, kind, error):
    tensors = weights()
    source = write_folder(tmp_path / "source", "llama", tensors)
    (source / "model.safetensors").unlink()
    names = sorted(tensors)
    for part in range(parts):
        chosen = {name: tensors[name] for name in names[part::parts]}
        write_safetensors(source / f"{part}.safetensors", chosen, kind)
    folder = converted(source, tmp_path / "model", quantization="float32")
    np.testing.assert_allclose(*scored(folder, tensors), atol=error)


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("F32", 0, 1e-5), ("Q8_0", 1e-5, 0.1), ("Q4_1", 1e-5, 1.5)]
)
def test_a_gguf_file_is_the_same_model_and_tokenizer(tmp_path, kind, least, most):
    tensors = weights()
    source = write_gguf(tmp_path / "model.gguf", tensors, GGMLQuantizationType[kind])
    folder = converted(source, tmp_path / "model", quantization="float32")
    ours, theirs = scored(folder, tensors)
    assert least <= np.abs(ours - theirs).max() < most
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert made.encode(TEXT).ids == tokenizer().encode(TEXT).ids
    assert made.decode(made.encode(TEXT).ids) == TEXT


def refused(source, target, message):
    """Check that a source makes no model, and that the error names it."""
    target.mkdir(exist_ok=True)
    with pytest.raises(ModelFolderError, match=message) as raised:
        convert(source, target)
    assert source.name in str(raised.value)
    assert not list(target.iterdir())


@pytest.mark.parametrize("kept", [0, 3, 100, 5000, -1])
def test_a_cut_gguf_file_is_refused_before_anything_is_written(tmp_path, kept):
    source = write_gguf(tmp_path / "model.gguf", weights())
    source.write_bytes(source.read_bytes()[:kept])
    refused(source, tmp_path / "model", r"model\.gguf: ")


@pytest.mark.parametrize(("changed", "message"), [
    ({"general.architecture": "mamba"}, "not 'mamba'"),
    ({"tokenizer.ggml.model": "llama"}, "byte-pair vocabularies"),
    ({"tokenizer.ggml.pre": "klingon"}, "'klingon'"), ({"general.alignment": 0}, "alignment"),
    ({"llama.attention.head_count": 0}, "num_attention_heads"),
    ({"llama.block_count": 1025}, "num_hidden_layers"),
    ({"llama.context_length": (1 << 24) + 1}, "max_position_embeddings"),
    ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "rms_norm_eps"),
    ({"llama.rope.freq_base": float("inf")}, "rope_theta"),
    ({"tokenizer.ggml.merges": ["zz yy"]}, "out of vocabulary"),
    ({"tokenizer.ggml.token_type": [1]}, "shorter"), (None, "No such file"),
])  # fmt: skip
def test_a_gguf_file_of_another_kind_is_refused(tmp_path, changed, message):
    source = tmp_path / "model.gguf"
    if changed:
        write_gguf(source, weights(), **changed)
    refused(source, tmp_path / "model", message)


def test_the_header_of_a_gguf_file_is_bounded(tmp_path, monkeypatch):
    source = tmp_path / "model.gguf"  # with one field: a list of bytes, of which four are there
    for count, message in ((2**62, "buffer is smaller"), (4, "general.architecture")):
        source.write_bytes(b"GGUF" + struct.pack("<IQQQsIIQI", 3, 0, 1, 1, b"x", 9, 0, count, 0))
        refused(source, tmp_path / "model", message)
    for most, message in ((12, "general.architecture"), (11, "more than 11 values")):
        monkeypatch.setattr(conversion, "MOST_VALUES", most)
        refused(source, tmp_path / "model", message)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_long_description_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    source = write_folder(tmp_path / "source")
    read, content = partial(conversion.read_config, name=name), (source / name).read_bytes()
    length = len(content)
    if name == "model.safetensors":
        read, length = conversion.read_tensors, int.from_bytes(content[:8], "little")
    monkeypatch.setattr(conversion, "MOST_BYTES", length)
    assert read(source)
    monkeypatch.setattr(conversion, "MOST_BYTES", length - 1)
    with pytest.raises(ModelFolderError, match=f"{name}: {length:,} bytes, where at most"):
        read(source)


@pytest.mark.parametrize(("config", "message"), [
    ({"model_type": "bert"}, "not 'bert'"), ({"rope_scaling": {"factor": 8.0}}, "rope_scaling"),
    ({"rope_parameters": {"rope_type": "yarn", "factor": 8.0}}, "rope_scaling"),
    ({"num_attention_heads": 0}, "num_attention_heads"),
    ({"num_attention_heads": 3}, "not a multiple of num_key_value_heads"),
    ({"hidden_size": None}, "fetch it again"), ({"vocab_size": (1 << 20) + 1}, "vocab_size"),
    ({"vocab_size": 5}, r"embed_tokens.weight has shape \[260, 64\], where \[5, 64\]"),
    ({"intermediate_size": FEED + 1}, r"mlp.gate_proj.weight has shape \[96, 64\], .*\[97, 64"),
    ({"rms_norm_eps": 0}, "rms_norm_eps"), ({"bos_token_id": [-1]}, "bos_token_id"),
])  # fmt: skip
def test_a_folder_of_another_kind_is_refused(tmp_path, config, message):
    refused(write_folder(tmp_path / "source", **config), tmp_path / "model", message)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_or_cuts_a_file_is_refused(tmp_path, name):
    source = write_folder(tmp_path / "source")
    whole = (source / name).read_bytes()
    for kept in (len(whole) // 2, 5, 0):
        (source / name).write_bytes(whole[:kept])
        refused(source, tmp_path / "model", name.replace(".", r"\."))
    (source / name).unlink()
    refused(source, tmp_path / "model", r"safetensors is missing|No such file")


def test_a_weight_that_cannot_be_used_is_named(tmp_path):
    tensors, target = weights(), tmp_path / "model"
    name = "model.layers.1.mlp.up_proj.weight"
    source = write_folder(tmp_path / "source", "llama", tensors)
    write_safetensors(source / "model.safetensors", weights(), "F64")
    refused(source, target, "F64")
    tensors[name][0, 0] = np.inf
    write_safetensors(source / "model.safetensors", tensors)
    refused(source, target, f"{name} holds values")
    del tensors[name]
    write_safetensors(source / "model.safetensors", tensors)
    refused(source, target, f"{name} is missing")
    beyond = {"dtype": "F32", "shape": [1], "data_offsets": [2**70, 2**70 + 4]}
    for header in ([], {"model.embed_tokens.weight": beyond}):
        packed = json.dumps(header).encode()
        (source / "model.safetensors").write_bytes(struct.pack("<Q", len(packed)) + packed)
        refused(source, target, r"model\.safetensors: cannot be used")
    (source / "tokenizer.json").write_text('{"model": {"vocab": {"a": 1.5}}}')
    refused(source, target, "data did not match")


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_a_weight_that_does_not_fit_the_configuration_is_named_with_both_shapes(tmp_path, family):
    whole = weights(family)
    whole["lm_head.weight"] = whole["model.embed_tokens.weight"]
    source, target = write_folder(tmp_path / "source", family, whole), tmp_path / "model"
    for name, values in whole.items():
        if ".0." in name:  # as in the other layer
            continue
        for other in (values[2:], np.concatenate([values, values]), values[..., 2:], values[None]):
            changed = {**whole, name: np.ascontiguousarray(other)}
            found, expected = (re.escape(str([*each.shape])) for each in (other, values))
            says = f"weight {name} has shape {found}, where {expected} is expected"
            write_safetensors(source / "model.safetensors", changed)
            refused(source, target, says)
            if family == "llama" and other.ndim == values.ndim:
                refused(write_gguf(tmp_path / "model.gguf", changed), target, says)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "a.gguf"])
@pytest.mark.usefixtures("time_limit")
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused_at_once(tmp_path, name):
    source = write_folder(tmp_path / "source")
    (source / name).unlink(missing_ok=True)
    for make in (os.mkfifo, partial(os.symlink, os.devnull)):
        make(source / name)
        given = source / name if name == "a.gguf" else source
        refused(given, tmp_path / "model", f"{name}: no regular file")
        (source / name).unlink()


@pytest.mark.parametrize(("layers", "is_made"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_model_has_the_layers_that_are_kept(tmp_path, layers, is_made):
    source = write_folder(tmp_path / "source")
    if is_made:
        converted(source, tmp_path / "model", layers=layers, exponents=[0] * HIDDEN)
        return
    with pytest.raises(ModelFolderError, match="the model has 2 layers"):
        convert(source, tmp_path / "model", layers=layers, exponents=[0] * HIDDEN)


def test_int8_weights_move_the_numbers_a_little_and_rows_without_a_token_get_a_name(tmp_path):
    tensors = weights()
    table = tensors["model.embed_tokens.weight"]
    tensors["model.embed_tokens.weight"] = np.concatenate([table, table[:3]])
    source = write_folder(tmp_path / "source", "llama", tensors, vocab_size=len(table) + 3)
    folder = converted(source, tmp_path / "model")
    assert len(set(json.loads((folder / "vocabulary.json").read_text()))) == len(table) + 3
    ours, theirs = scored(folder, tensors)
    assert 0 < np.abs(ours - theirs).max() < 0.3
