"""Writes the lower layers of a published model where the joint networks read them.

python -m grice_research.recipes.triplets.lower --model MPNET --reads 8 --name mpnet
... --model SMOLLM2 --reads 20 --name smollm2 --tokens MINILM

MPNET is all-mpnet-base-v2, SMOLLM2 SmolLM2-135M-Instruct, MINILM all-MiniLM-L6-v2, in torch. A
language model has tokens of its own: it is read by those of ``--tokens``. Its states are
standardised by clean conversations, none of CIDER.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, PreTrainedModel
from transformers.utils import logging

from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.weak import conversations
from grice_research.triplets.decoder import Decoder
from grice_research.triplets.layers import MOST
from grice_tasks.cider.span_candidates import join_turns

EVERY = 5
"""Of the conversations, one in so many is read for mean and spread of states."""


def encoder_arrays(encoder: PreTrainedModel, reads: int) -> dict[str, torch.Tensor]:
    """Return embeddings and lower layers of an MPNet as ``triplets.layers.Tower`` reads them.

    Args:
        encoder: The model.
        reads: Behind how many layers states are taken.
    """
    first = encoder.embeddings
    near = encoder.encoder.compute_position_bias(torch.zeros(1, MOST, 1))[0]
    # By how far behind a token another stands: its last row sees those before, its first those
    # behind.
    arrays = {
        "words": first.word_embeddings.weight,
        "places": first.position_embeddings.weight[first.padding_idx + 1 :],
        "first_scale": first.LayerNorm.weight, "first_shift": first.LayerNorm.bias,
        "near": torch.cat([near[:, -1], near[:, 0, 1:]], dim=1).T,
    }  # fmt: skip
    for number, layer in enumerate(encoder.encoder.layer[:reads]):
        attention = layer.attention.attn
        linear = {
            "query": attention.q, "key": attention.k, "value": attention.v, "seen": attention.o,
            "wide": layer.intermediate.dense, "narrow": layer.output.dense,
        }  # fmt: skip
        for name, part in linear.items():
            arrays[f"{number}_{name}_weight"] = part.weight.T
            arrays[f"{number}_{name}_bias"] = part.bias
        for name, part in (("seen", layer.attention), ("narrow", layer.output)):
            arrays[f"{number}_{name}_scale"] = part.LayerNorm.weight
            arrays[f"{number}_{name}_shift"] = part.LayerNorm.bias
    return arrays


def decoder_arrays(decoder: PreTrainedModel, reads: int) -> dict[str, torch.Tensor]:
    """Return the same of a language model of Llama's shape, for ``triplets.decoder``."""
    arrays = {"words": decoder.embed_tokens.weight}
    for number, layer in enumerate(decoder.layers[:reads]):
        attention, inner = layer.self_attn, layer.mlp
        linear = {
            "query": attention.q_proj, "key": attention.k_proj, "value": attention.v_proj,
            "seen": attention.o_proj, "gate": inner.gate_proj, "wide": inner.up_proj,
            "narrow": inner.down_proj,
        }  # fmt: skip
        arrays |= {f"{number}_{name}": part.weight.T for name, part in linear.items()}
        arrays[f"{number}_before"] = layer.input_layernorm.weight
        arrays[f"{number}_between"] = layer.post_attention_layernorm.weight
    return arrays


def standardised(folder: Path, arrays: dict[str, np.ndarray], data: Path) -> dict[str, np.ndarray]:
    """Return arrays with mean and spread of states on clean conversations."""
    size = arrays["words"].shape[1]
    raw = {"centre": np.zeros(size), "spread": np.full(size, 1e6)}  # nothing is cut off
    np.savez(folder / "lower.npz", **arrays, **raw)
    read = Decoder(folder)
    texts = [join_turns(talk)[0] for talk in conversations(data, held=True)[::EVERY]]
    states = np.concatenate([hidden_states.states[1:-1] for hidden_states in read(texts)]) * 1e6
    return {"centre": states.mean(axis=0), "spread": states.std(axis=0) + 1e-6}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="in torch")
    parser.add_argument("--reads", type=int, required=True, help="layers")
    parser.add_argument("--name", required=True, help="work/lower_NAME is written")
    parser.add_argument("--tokens", type=Path, help="whose tokens a language model is read by")
    options = parser.parse_args()
    logging.set_verbosity_error()
    out = WORK / f"lower_{options.name}"
    out.mkdir(exist_ok=True)
    model = AutoModel.from_pretrained(options.model, dtype=torch.float32)
    shutil.copy((options.tokens or options.model) / "tokenizer.json", out)
    with torch.no_grad():
        kind = decoder_arrays if options.tokens else encoder_arrays
        arrays = {name: tensor.numpy().astype(np.float16)
                 for name, tensor in kind(model, options.reads).items()}  # fmt: skip
    if options.tokens:
        shutil.copy(options.model / "tokenizer.json", out / "pieces.json")
        arrays["turns"] = model.rotary_emb.inv_freq.numpy()
        arrays["tiny"] = np.float32(model.config.rms_norm_eps)
        arrays |= standardised(out, arrays, options.data)
    else:
        arrays["reads"] = np.array([options.reads])
        arrays["tiny"] = np.float32(model.config.layer_norm_eps)
    np.savez(out / "lower.npz", **arrays)


if __name__ == "__main__":
    main()
