"""A GGUF file as the folder that trainings start from.

    python -m grice_research.recipes.published.gguf MODEL.gguf FOLDER

Written are ``config.json``, ``model.safetensors`` in float32 and ``tokenizer.json``. What a file in
few bits has lost stays lost: the weights are those that it holds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from grice.files import make_folder, write_text
from grice.models.conversion.gguf import PARTS, WHOLE, read_gguf

if TYPE_CHECKING:
    from grice.models.conversion.checkpoint import Checkpoint, Tensor


def write_folder(source: Path, folder: Path) -> None:
    """Write the decoder that a GGUF file holds in the layout of Hugging Face.

    Raises:
        BundleError: If the file cannot be read.
        OutputError: If the folder cannot be written.
    """
    from safetensors.numpy import save_file

    checkpoint = read_gguf(source)
    weights = _weights(checkpoint)
    make_folder(folder)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_text(folder / "tokenizer.json", checkpoint.tokenizer)
    write_text(folder / "config.json", json.dumps(_config(checkpoint, weights), indent=1) + "\n")


def _weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    names = [
        *WHOLE,
        *(
            f"model.layers.{layer}.{part}.{kind}"
            for layer in range(checkpoint.shape.layers)
            for part in PARTS
            for kind in ("weight", "bias")
        ),
    ]
    given = {name: checkpoint.tensor(name) for name in names}
    return {name: values.copy() for name, values in given.items() if values is not None}


def _config(checkpoint: Checkpoint, weights: dict[str, Tensor]) -> dict[str, object]:
    shape = checkpoint.shape
    return {
        "architectures": [f"{shape.family.capitalize()}ForCausalLM"],
        "model_type": shape.family,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.key_heads,
        "head_dim": shape.head_size,
        "hidden_size": shape.hidden,
        "intermediate_size": len(weights["model.layers.0.mlp.gate_proj.weight"]),
        "vocab_size": shape.vocabulary,
        "rope_theta": shape.rope_base,
        "rms_norm_eps": shape.epsilon,
        "max_position_embeddings": shape.positions,
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "bos_token_id": checkpoint.tokens.index(checkpoint.begin),
        "eos_token_id": checkpoint.tokens.index(checkpoint.end),
    }


def main() -> None:
    """Read the arguments and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    write_folder(options.source, options.folder)


if __name__ == "__main__":
    main()
