"""Writes the bundle of a trained generator: engine files, calibration, card, fingerprint of texts.

python -m grice_research.recipes.generator.bundle [--data ../shared/data]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn

from grice.knowledge.generative import END_OF_TEXT, START, UNKNOWN, GenerativeKnowledge
from grice.models.loader import ModelLoader
from grice_research.places import MODELS
from grice_research.recipes.common import parser_of, update_card
from grice_research.recipes.generator.data import Material, material
from grice_research.recipes.generator.model import Attention, Inner, Shape, TailModel
from grice_research.recipes.generator.train import WORK
from grice_research.recipes.plausibility.data import learned, read_population, training_examples
from grice_research.training.logistic import fit_logistic
from grice_research.training_texts import record_texts


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


FILES = ("config.json", "model.bin", "shared_vocabulary.json", "tokenizer.json")


Calibration = dict[str, float]
"""Plausibility is a logistic function: weights of both likelihoods, and what is added."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=MODELS / "comet")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    run = WORK / "seed0"
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    shape = Shape(tokenizer.get_vocab_size())
    model = TailModel(shape, 0.0)
    model.load_state_dict(torch.load(run / "model.pt", weights_only=True))
    write_engine(model, tokenizer, arguments.out)
    heads = material(arguments.data)
    describe(arguments.out, heads, {"given": 1.0, "usual": 0.0, "bias": 0.0})
    knowledge = ModelLoader().load(f"file:{arguments.out}", GenerativeKnowledge)
    calibration = calibrated(arguments.data, knowledge)
    describe(arguments.out, heads, calibration)
    record_texts(arguments.out, seen(arguments.data, heads))
    chose = read_population(arguments.data, "dev")[0]
    sides = (side for triple in chose for side in (triple.head, triple.tail))
    record_texts(arguments.out, sides, kind="chosen")
    for name in FILES:
        print(f"{name}: {(arguments.out / name).stat().st_size / 1e6:.2f} MB")


def calibrated(data: Path, knowledge: GenerativeKnowledge) -> Calibration:
    """Fit the weights within relations: how plausible a relation is as such is left out of it."""
    triples, labels, names = read_population(data, "dev")
    likelihoods = knowledge.likelihoods(triples)
    kept = np.array([likelihood is not None for likelihood in likelihoods])
    values = np.array([likelihood for likelihood in likelihoods if likelihood is not None])
    labels, names = labels[kept], names[kept]
    levels = (names[:, None] == np.unique(names)[1:]).astype(float)
    columns = np.concatenate([values, levels], axis=1)
    given, usual, *_ = fit_logistic(columns, labels, penalties=0.0, tolerance=1e-7).weights
    scores = values @ np.array([given, usual])
    fitted = {"given": given, "usual": usual, "bias": -np.median(scores)}
    return {name: round(float(value), 4) for name, value in fitted.items()}


def seen(data: Path, heads: Material) -> Iterator[str]:
    """Yield every text of both parts of the training, the held-out ones included."""
    for head in (*heads.training, *heads.validation):
        yield head.text
        for _, tail in head.tails:
            yield tail
    yield from learned(training_examples(data)[0])


def describe(out: Path, heads: Material, calibration: Calibration) -> None:
    reasons = "; ".join(f"{reason}: {count}" for reason, count in sorted(heads.dropped.items()))
    settings = {
        "schema": "atomic2020",
        # In int8 a text's bits do not depend on its neighbours in the batch.
        "arithmetic": "int8",
        "max_tokens": 12,
        "max_prompt_tokens": Shape(0).source_length,
        "max_scored_tokens": Shape(0).target_length - 2,
        **calibration,
    }
    excluded = (
        "heads (in a crude lemma form) and texts of CSKB Population, of the tests of ATOMIC and "
        f"ATOMIC-2020, of human DECO triples, DECO and ConTurE turns; rows dropped: {reasons}"
    )
    update_card(out, "comet", files=FILES, settings=settings, excluded=excluded)


if __name__ == "__main__":
    main()
