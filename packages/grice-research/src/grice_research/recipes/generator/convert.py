"""Writes a trained model as an int8 folder for the run-time engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from grice.knowledge.generative import END_OF_TEXT, START, UNKNOWN

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

    from grice_research.recipes.generator.model import Attention, Inner, TailModel


def write_engine(model: TailModel, tokenizer: Tokenizer, folder: Path) -> None:
    """Write ``model.bin``, ``config.json``, ``shared_vocabulary.json`` and ``tokenizer.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = model.shape
    spec = TransformerSpec.from_config(
        (shape.encoder_layers, shape.decoder_layers), shape.heads, activation=Activation.RELU
    )
    pieces = _array(model.pieces.weight)
    spec.encoder.embeddings[0].weight = pieces
    spec.decoder.embeddings.weight = pieces
    spec.decoder.projection.weight = pieces
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = False
    spec.encoder.position_encodings.encodings = _array(model.source_places.weight)
    spec.decoder.position_encodings.encodings = _array(model.target_places.weight)
    _norm(spec.encoder.layer_norm, model.encoder_norm)
    _norm(spec.decoder.layer_norm, model.decoder_norm)
    for made, layer in zip(spec.encoder.layer, model.encoder, strict=True):
        _attention(made.self_attention, layer.own)
        _inner(made.ffn, layer.inner)
    for made, layer in zip(spec.decoder.layer, model.decoder, strict=True):
        _attention(made.self_attention, layer.own)
        _attention(made.attention, layer.cross)
        _inner(made.ffn, layer.inner)
    names = [tokenizer.id_to_token(i) for i in range(shape.pieces)]
    spec.config.bos_token, spec.config.eos_token = START, END_OF_TEXT
    spec.config.unk_token = UNKNOWN
    spec.config.decoder_start_token = None
    spec.config.layer_norm_epsilon = 1e-5
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.validate()
    spec.optimize(quantization="int8")
    spec.save(str(folder))
    ended = Tokenizer.from_str(tokenizer.to_str())
    end = (END_OF_TEXT, tokenizer.token_to_id(END_OF_TEXT))
    ended.post_processor = TemplateProcessing(single=f"$A {END_OF_TEXT}", special_tokens=[end])
    ended.save(str(folder / "tokenizer.json"), pretty=False)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config, sort_keys=True) + "\n", "utf-8")


def _array(values: Tensor) -> np.ndarray:
    # A copy: the engine quantises in place, and an array of torch shares its memory.
    return np.array(values.detach().float().numpy(), order="C")


def _norm(made: object, module: nn.LayerNorm) -> None:
    made.gamma = _array(module.weight)
    made.beta = _array(module.bias)


def _linear(made: object, module: nn.Linear) -> None:
    made.weight = _array(module.weight)
    made.bias = _array(module.bias)


def _attention(made: object, module: Attention) -> None:
    _norm(made.layer_norm, module.norm)
    inputs = (module.query, module.memory) if module.crossed else (module.joint,)
    for target, part in zip(made.linear, (*inputs, module.out), strict=True):
        _linear(target, part)


def _inner(made: object, module: Inner) -> None:
    _norm(made.layer_norm, module.norm)
    _linear(made.linear_0, module.wide)
    _linear(made.linear_1, module.out)
