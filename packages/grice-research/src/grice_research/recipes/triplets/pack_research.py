"""Puts the research heads of each fold where ``grice bench cider`` looks for them.

python -m grice_research.recipes.triplets.pack_research --model MINILM

MINILM is all-MiniLM-L6-v2 in torch, as for ``joint``. The frozen heads of a fold are averaged, and
the joint networks with them. The level from which on a triplet counts as entailed is the best one
on the dialogues of the training folds that validate.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from ctranslate2.converters import TransformersConverter
from torch import nn
from transformers import BertModel
from transformers.utils import logging

from grice.models.bundle import file_sha256
from grice.models.models import Models
from grice.records import Triple
from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.joint_network import Joint, Settings
from grice_research.recipes.triplets.links import macro_f1
from grice_research.triplets.cider import Cider, load_cider
from grice_research.triplets.models import TaskModels, open_folder
from grice_research.triplets.tasks import answer_tasks

SHARES = (0.85, 0.8, 0.85)
"""What the joint networks count beside the frozen heads: entailed, option, relation."""
COUNTED = (1.0, 1.0)
"""What their options and entailment count beside the log probability of an answer."""
COUNT = {"joint": 0.1, "joint_mpnet": 0.2, "joint_mpnet6": 0.2, "joint_smollm2": 0.5}
"""What joint networks count beside each other, by the names of their files: the fine-tuned MiniLM,
and those on states of each other model, all seeds together."""
RERANK = 0.25
"""What the frozen heads count beside both."""
ANSWER_OVERLAP = (0.2, 0.1)
"""What it counts, for entailed and for option, that the reader's answers have words of the tail."""
EXPECTED = (0.7, 1.0)
"""Answers are chosen for the F1 expected of them; see ``grice_research.triplets.tasks``.

All of these were chosen on the validating part of fold 1."""


def best_level(cider: Cider, held: set[str], models: TaskModels) -> float:
    """Return the log odds from which on triplets of some dialogues are best called entailed."""
    entailed = answer_tasks(cider, held, models).entailed
    labelled = [(item, True) for item in cider.items] + [
        (negative, False) for negative in cider.negatives
    ]
    rows = [
        (triple.dialogue, Triple(triple.head.strip(), triple.relation, triple.tail.strip()), gold)
        for triple, gold in labelled
        if triple.dialogue in held
    ]
    odds = np.array([entailed[name, triple] for name, triple, _ in rows])
    gold = np.array([right for *_, right in rows])
    levels = np.quantile(odds, np.linspace(0.6, 0.95, 36))
    return float(max(levels, key=lambda level: macro_f1(gold, odds > level)))


def export(weights: Path, model: Path, out: Path) -> None:
    """Write the lower layers as a bundle of kind encoder, and the rest as arrays."""
    out.mkdir()
    state = torch.load(weights)
    encoder = BertModel.from_pretrained(model, add_pooling_layer=False)
    net = Joint(encoder.config.hidden_size, encoder, Settings())
    net.load_state_dict(state)
    layers = net.encoder.encoder.layer
    (last,) = layers[-net.settings.again :]
    np.savez_compressed(out / "rereader.npz", **arrays(net, last))
    lower = BertModel.from_pretrained(model)
    lower.load_state_dict(
        {k.removeprefix("encoder."): v for k, v in state.items() if k.startswith("encoder.")},
        strict=False,
    )
    lower.encoder.layer = lower.encoder.layer[: -net.settings.again]
    lower.config.num_hidden_layers = len(lower.encoder.layer)
    bundle = out / "encoder"
    with tempfile.TemporaryDirectory() as folder:
        saved, made = Path(folder) / "saved", Path(folder) / "made"
        lower.save_pretrained(saved)
        for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            shutil.copy(model / name, saved)
        TransformersConverter(str(saved)).convert(str(made), quantization="int8")
        shutil.copytree(made, bundle)
    shutil.copy(model / "tokenizer.json", bundle)
    sums = [f'"{path.name}" = "{file_sha256(path)}"\n' for path in sorted(bundle.iterdir())]
    (bundle / "card.toml").write_text(
        ENCODER.format(fold=weights.name.split("_")[1]) + "".join(sums), "utf-8"
    )


ENCODER = """name = "cider-lower-{fold}"
kind = "encoder"
version = "1"
summary = "All but the last layer of all-MiniLM-L6-v2, fine-tuned on CIDER without fold {fold}."
licence = "research only"
inputs = "a text of up to 512 word pieces"
outputs = "states of its tokens"

[training]
data = ["CIDER, four folds (research)"]
excluded = "fold {fold}"
command = "python -m grice_research.recipes.triplets.joint --fold {fold}"

[settings]
max_tokens = 512
dimensions = 384

[files]
"""


def export_upper(weights: Path, out: Path, lower: str) -> None:
    """Write networks on states of a model that stays as it was, and a link to its layers."""
    out.mkdir()
    (out / "lower").symlink_to(Path("../..") / f"lower_{lower}")
    state = torch.load(weights)
    states = len(state["marker"])
    net = Joint(states, None, Settings(whole=state["head.weight"].shape[1] == states))
    net.load_state_dict(state)
    np.savez_compressed(out / "rereader.npz", **arrays(net, None))


def layer_arrays(layer: nn.Module) -> dict[str, torch.Tensor]:
    """Return a layer of BERT as :class:`~grice_research.triplets.layers.Layer` names its arrays."""
    attention, named_arrays = layer.attention, {}
    linear = {
        "query": attention.self.query, "key": attention.self.key, "value": attention.self.value,
        "seen": attention.output.dense, "wide": layer.intermediate.dense,
        "narrow": layer.output.dense,
    }  # fmt: skip
    for name, part in linear.items():
        named_arrays[f"{name}_weight"], named_arrays[f"{name}_bias"] = part.weight.T, part.bias
    for name, part in (("seen", attention.output), ("narrow", layer.output)):
        named_arrays[f"{name}_scale"], named_arrays[f"{name}_shift"] = (
            part.LayerNorm.weight,
            part.LayerNorm.bias,
        )
    return named_arrays


def arrays(net: Joint, layer: nn.Module | None) -> dict[str, np.ndarray]:
    """Return last layer and networks as a ``HeadConditionedLayer`` reads them."""
    named_arrays = {} if layer is None else layer_arrays(layer)
    linear = {
        "head": net.head, "tail": net.tail, "hidden": net.hidden,
        "out": net.out, "token": net.token, "factor": net.factor, "asked": net.query,
        "askedfactor": net.queryfactor, "ends": net.ends, "left": net.left, "right": net.right,
    }  # fmt: skip
    for name, part in linear.items():
        named_arrays[f"{name}_weight"], named_arrays[f"{name}_bias"] = part.weight.T, part.bias
    for name in ("relation", "relationfactor", "distance"):
        named_arrays[f"{name}_weight"] = getattr(net, name).weight
    named_arrays |= {"marker": net.marker, "length": net.length}
    return {name: value.detach().numpy().astype(np.float16) for name, value in named_arrays.items()}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="all-MiniLM-L6-v2 in torch")
    parser.add_argument("--fold", type=int, nargs="+", default=range(1, 6))
    options = parser.parse_args()
    logging.set_verbosity_error()
    cider = load_cider(options.data / "cider")
    names = [str(name) for name in np.load(WORK / "rows.npz")["names"]]
    chosen = np.random.default_rng(7).random(len(names)) < 1 / 8
    validates = {name for name, used in zip(names, chosen, strict=True) if used}
    encoder = Models(mode="exact", workers=1, cache=None).open("bundle:encoder")
    for fold in options.fold:
        out = WORK / f"fold_{fold}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        heads_of_fold = sorted(
            [*WORK.glob(f"links_{fold}_*.npz"), *WORK.glob(f"links_both_{fold}_*.npz")]
        )
        for place, path in enumerate(heads_of_fold):
            shutil.copy(path, out / f"links_{place}.npz")
        shutil.copy(WORK / f"links_alone_{fold}_0.npz", out / "alone.npz")
        weights = {}
        for name, count in COUNT.items():
            paths = sorted(WORK.glob(f"{name}_{fold}_[0-9]_best.pt"))
            for path in paths:
                place = out / f"rereader{name.removeprefix('joint')}_{path.stem.split('_')[-2]}"
                lower = name.removeprefix("joint").lstrip("_")
                if lower:
                    export_upper(path, place, lower)
                else:
                    export(path, options.model, place)
                weights[place.name] = count / len(paths)
        settings = {"level": 0.0, "rerank": RERANK, "shares": SHARES, "counted": COUNTED,
                    "heard": ANSWER_OVERLAP, "expected": EXPECTED,
                    "weights": [weights[name] for name in sorted(weights)]}  # fmt: skip
        (out / "settings.json").write_text(json.dumps(settings))
        held = {name for name in validates if cider.folds[name] != fold}
        settings["level"] = best_level(cider, held, open_folder(out, encoder))
        (out / "settings.json").write_text(json.dumps(settings))
        print(
            fold, len(heads_of_fold), "frozen heads, level", round(settings["level"], 3), flush=True
        )


if __name__ == "__main__":
    main()
