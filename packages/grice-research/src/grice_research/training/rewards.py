"""The map from the reward of a judge to a probability, fitted to labelled replies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from grice.errors import InputError, ModelError
from grice.files import make_folder, write_text
from grice.models.decoder_judges import CALIBRATION, Calibration, RewardModel
from grice.models.download import copy_files
from grice.models.folder import check_folder, write_card
from grice.models.loader import ModelLoader
from grice.numeric import logistic
from grice.stats import mean
from grice.stats.estimate import Estimate
from grice_research.training.labelled import Labelled
from grice_research.training.logistic import fit_logistic
from grice_research.training.replies import Floats, folds_of

if TYPE_CHECKING:
    from grice.models.folder import CardValue


class RewardReport(msgspec.Struct, frozen=True):
    """A fitted map, and mean squared errors on conversations left out in turn."""

    n: int
    conversations: int
    map: Calibration
    errors: dict[str, Estimate]
    gain: Estimate  # of the fitted map over the mean label
    says: tuple[str, ...]


def calibrate_reward(
    reference: str, data: Labelled, models: ModelLoader, folder: Path, *, seed: int = 0
) -> RewardReport:
    """Fit the map of a reward model to labels, and write the model with it."""
    check_folder(folder)
    source, model = models.folder(reference), models.load(reference)
    if not isinstance(model, RewardModel):
        raise ModelError(f"{reference}: is of type {source.card.kind}, and no reward model")
    rewards = np.asarray(model.rewards(data.responses), np.float64)
    labels, folds = np.array(data.labels), folds_of(data.groups, seed=seed)
    chances = {"as it was": logistic(-model.log_odds(data.responses)[:, 0].astype(float))}
    chances |= {"mean label": np.zeros(len(labels)), "fitted": np.zeros(len(labels))}
    for fold in np.unique(folds):
        rest, held_out = folds != fold, folds == fold
        slope, intercept = _fit(rewards[rest], labels[rest])
        chances["mean label"][held_out] = labels[rest].mean()
        chances["fitted"][held_out] = logistic(slope * rewards[held_out] + intercept)
    slope, intercept = _fit(rewards, labels)
    if slope <= 0:
        raise InputError(
            f"{reference}: a higher reward does not go with a higher label (slope {slope:.3g}): it "
            "cannot judge these replies; check the scale of the labels, or take another model"
        )
    squares = {name: np.square(chance - labels) for name, chance in chances.items()}
    fitted = Calibration(
        slope, intercept, f"{len(labels)} labelled replies of your own", len(labels)
    )
    make_folder(folder)
    copy_files(source.path, folder, [*source.card.files])
    write_text(folder / CALIBRATION, msgspec.json.encode(fitted).decode())
    stated = msgspec.to_builtins(source.card)
    facts = {name: value for name, value in stated.items() if isinstance(value, str)}
    training: dict[str, CardValue] = {
        "data": [*source.card.training.data, f"calibration: {fitted.data}"],
        "command": "grice train reward",
        "seeds": [seed],
    }
    facts |= {"name": folder.resolve().name}
    write_card(folder, facts, training, stated["settings"], files=source.card.files)
    return RewardReport(
        len(labels),
        len(set(data.groups)),
        fitted,
        {name: mean(square, groups=data.groups) for name, square in squares.items()},
        mean(squares["mean label"] - squares["fitted"], groups=data.groups),
        data.says,
    )


def _fit(rewards: Floats, labels: Floats) -> tuple[float, float]:
    """Return slope and intercept of the log odds of the label."""
    centre, spread = rewards.mean(), rewards.std() or 1.0
    linear = fit_logistic(((rewards - centre) / spread)[:, None], labels, penalties=1e-4)
    slope = float(linear.weights[0] / spread)
    return slope, float(linear.bias - slope * centre)
