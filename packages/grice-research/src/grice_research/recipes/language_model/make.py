"""Makes of a published language model a folder that grice opens, and weighs what it says.

    python -m grice_research.recipes.language_model.make --model DIR_OR_GGUF \\
        --name smollm2-135m-instruct --licence Apache-2.0 --data ../shared/data

The weights of likelihood and gain are fitted on replies of held-out conversations with a known
answer: true ones against random and against damaged ones, each conversation on one side only.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import ctranslate2
import numpy as np
import torch
from scipy.optimize import minimize
from transformers import AutoModelForCausalLM, AutoTokenizer

from grice.metrics.relevance.language_model import LanguageModel, LanguageSettings
from grice.models.bundle import open_bundle, write_card
from grice.models.protocols import Pair
from grice.models.registry import read_settings
from grice_research.places import work_folder
from grice_research.recipes.dialogue.trials import Trial, trials
from grice_research.recipes.dialogue.weigh import AREA, ON, interval, tasks_of
from grice_research.recipes.options import parser_of

WORK = work_folder("language_model")
FILES = ("config.json", "model.bin", "tokenizer.json", "vocabulary.json")
LONGEST = 1024
"""Tokens of a history and its reply that are read."""
EACH = 500
"""Replies of each kind, at most, that are looked at; half of them fit the weights."""
FITTED = ("true", "random", "damaged")


def converted(model: Path, out: Path) -> None:
    """Write the model in int8, and its tokenizer."""
    if (out / "model.bin").exists():
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = model if model.is_dir() else _unpacked(model, Path(scratch))
        beside = Path(scratch) / "engine"
        ctranslate2.converters.TransformersConverter(str(folder)).convert(
            str(beside), quantization="int8"
        )
        shutil.copy(folder / "tokenizer.json", beside / "tokenizer.json")
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(beside, out)


def _unpacked(file: Path, scratch: Path) -> Path:
    """Return a folder with the weights of a GGUF file in the format of transformers."""
    packed = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    packed.config.__dict__.pop("quantization_config", None)
    plain = AutoModelForCausalLM.from_config(packed.config)
    plain.load_state_dict(packed.state_dict())
    plain.save_pretrained(scratch / "plain")
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.save_pretrained(scratch / "plain")
    return scratch / "plain"


def sample(every: Sequence[Trial]) -> list[Trial]:
    """Return at most so many of each kind, whole conversations after one another."""
    ordered = sorted(every, key=lambda trial_of_group: crc32(trial_of_group.group.encode()))
    kept: dict[str, list[Trial]] = {}
    for trial in ordered:
        some = kept.setdefault(trial.kind, [])
        if len(some) < EACH:
            some.append(trial)
    return [trial_kept for some in kept.values() for trial_kept in some]


def fits(every: Sequence[Trial]) -> np.ndarray:
    """Return which replies the weights are fitted on: those of every second conversation."""
    return np.array(
        [crc32(trial.group.encode()) % 2 == 0 and trial.kind in FITTED for trial in every]
    )


def weights(numbers: np.ndarray, every: Sequence[Trial]) -> np.ndarray:
    """Return what a nat of each number is worth in log odds, and the shift.

    Random and damaged replies count alike, true ones as much as both.
    """
    kinds = [trial.kind for trial in every]
    counts = np.array([(2 if kind == "true" else 1) / kinds.count(kind) for kind in kinds])
    labels = np.array([trial.label for trial in every], float)
    read = np.column_stack([numbers, np.ones(len(numbers))])

    def loss(given: np.ndarray) -> float:
        odds = read @ given
        return float(counts @ (np.logaddexp(0, odds) - labels * odds))

    return minimize(loss, np.zeros(read.shape[1]), method="BFGS").x


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--licence", required=True)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    out = WORK / given.name
    converted(given.model, out)
    facts = {
        "name": given.name,
        "kind": "language-model",
        "version": "1",
        "summary": "A published language model: how likely is a reply, and how much does the "
        "history add to that?",
        "licence": given.licence,
        "inputs": "left: turns of history, oldest first; right: the response",
        "outputs": "probability, 0 to 1, that the response is the true reply and neither a random "
        "nor a damaged one",
    }
    training = {
        "data": ["what its authors state; grice has not seen these texts"],
        "selection": ["true, random and damaged replies of held-out conversations: the weights"],
        "command": "python -m grice_research.recipes.language_model.make "
        f"--name {given.name} --model …",
    }
    settings = {"max_tokens": LONGEST, "weight_after": 1.0, "weight_gain": 1.0, "weight_shift": 0.0}
    write_card(out, facts, training, settings, files=FILES)
    drawn = sample(trials(given.data))
    bundle = open_bundle(out)
    model = LanguageModel(bundle, read_settings(bundle, LanguageSettings), threads=given.threads)
    numbers = np.array(model.likely([Pair(trial.history, trial.reply) for trial in drawn]))
    fitted = fits(drawn)
    chosen = weights(
        numbers[fitted], [trial for trial, fit in zip(drawn, fitted, strict=True) if fit]
    )
    for name, value in zip(("after", "gain", "shift"), chosen, strict=True):
        settings[f"weight_{name}"] = round(float(value), 4)
    rest = [trial for trial, fit in zip(drawn, fitted, strict=True) if not fit]
    columns = {"both": numbers[~fitted] @ chosen[:2], "likelihood": numbers[~fitted][:, 0],
               "gain": numbers[~fitted][:, 1]}  # fmt: skip
    quality = [
        {"on": f"held out: {ON[task.name]}", "measure": f"{AREA}, {name}",
         **interval((values,), rest, task), "command": training["command"]}
        for task in tasks_of(rest)
        for name, values in columns.items()
    ]  # fmt: skip
    for figure in quality:
        print(json.dumps(figure))
    print(settings)
    write_card(out, facts, training, settings, quality, files=FILES)


if __name__ == "__main__":
    main()
