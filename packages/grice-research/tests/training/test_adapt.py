import random

import numpy as np
import pytest

from grice.errors import InputError, MetricError, ModelFolderError, OutputError
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader
from grice.models.protocols import Pair, PairClassifier
from grice_research.training.adapt import adapt, train, train_metric
from grice_research.training.labelled import Labelled
from grice_research.training.logistic import fit_logistic
from grice_research.training.replies import Penalty, fit_head, read_replies, save_head

WORDS = ["tea", "bread", "river", "music", "winter",
         "garden", "letter", "window", "market", "story"]  # fmt: skip


class Bags:
    """Unit vectors of letter counts."""

    identity = "bags"

    def encode(self, texts):
        counts = np.array([[text.count(c) for c in "abcdefghij"] for text in texts], np.float32)
        return list(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1))

    def truncated(self, texts):
        return [False for _ in texts]


class Even(Bags):
    """A model that knows nothing."""

    identity = "even"

    def classify(self, pairs):
        return [0.5 + 0.001 * (len(pair.right) % 3) for pair in pairs]


def replies(n=120, seed=0):
    rng = random.Random(seed)
    return [
        Pair((" ".join(rng.choices(WORDS, k=4)) + "?",), " ".join(rng.choices(WORDS, k=k)) + ".")
        for k in (rng.randint(1, 12) for _ in range(n))
    ]


def labelled(pairs, good):
    """Return pairs with labels, which are given or a statement of replies."""
    labels = [float(good(pair.right)) for pair in pairs] if callable(good) else good
    return Labelled(pairs, labels, [f"t{i}" for i in range(len(pairs))], ())


def is_long(reply):
    return len(reply.split()) > 6


def means(model, data):
    """Return the mean that a model gives to replies of label 1 and of label 0."""
    values, good = np.array(model.classify(data.pairs)), np.array(data.labels) > 0
    return values[good].mean(), values[~good].mean()


def test_what_the_labels_say_is_learned():
    _, report = adapt(labelled(replies(), is_long), Bags(), Even())
    assert report.helps
    assert report.measured[0].after.value > 0.7
    assert abs(report.measured[0].before.value) < 0.3
    assert report.measured[1].measure == "balanced accuracy"
    assert report.measured[1].after.low > 0.8


def test_labels_by_chance_are_not_said_to_help():
    rng = random.Random(5)
    data = labelled(replies(seed=1), lambda _: rng.random() < 0.5)
    assert not adapt(data, Bags(), Even())[1].helps
    with pytest.raises(InputError, match="2 replies, 1 labels, 2 conversations"):
        adapt(Labelled(replies(2), [1.0], ["a", "b"], ()), Bags(), Even())


def test_the_report_knows_no_reply_it_is_about():
    # Conversations with a label each that only their own words tell: unseen ones cannot be told.
    rng, pairs, labels, groups = random.Random(2), [], [], []
    for i in range(40):
        reply = " ".join(rng.choices(WORDS, k=5))
        for _ in range(4):
            pairs.append(Pair(("well?",), reply))
            labels.append(float(i % 2))
            groups.append(f"t{i}")
    _, report = adapt(Labelled(pairs, labels, groups, ()), Bags(), Even())
    assert report.conversations == 40
    assert report.measured[-1].after.value < 0.8


def test_sources_of_other_levels_are_not_told_apart():
    # Source 1 is all long replies and mostly good; inside each, length says nothing.
    pairs, rng = replies(400, seed=4), random.Random(3)
    sources = (np.array([len(pair.right.split()) for pair in pairs]) > 6).astype(np.int64)
    labels = np.array([float(rng.random() < (0.8 if s else 0.2)) for s in sources])
    readings = read_replies(pairs, Bags())
    apart = fit_head(readings, labels, Penalty(vectors=100.0), sources=sources)
    mixed = fit_head(readings, labels, Penalty(vectors=100.0))
    assert abs(apart.linear.weights[0]) < 0.5 * abs(mixed.linear.weights[0])


def test_a_trained_model_opens_by_its_folder_and_gives_what_was_fitted(tmp_path, exact_models):
    data, folder = labelled(replies(60), is_long), tmp_path / "mine"
    assert train("engagement", data, exact_models, folder).n == 60
    card = open_folder(folder).card
    assert card.settings["base"] == "builtin:engagement"
    assert [figure.measure for figure in card.quality] == ["spearman", "balanced accuracy"]
    high, low = means(exact_models.load(f"file:{folder}"), data)
    assert high > low + 0.2
    assert "engagement@" in exact_models.fingerprint(f"file:{folder}")


def test_a_file_or_a_folder_of_other_things_is_left_alone(tmp_path):
    file = tmp_path / "thesis.txt"
    file.write_text("years of work")
    for place, problem in ((file, r"thesis\.txt: is a file; give"),
                           (tmp_path, "contains files but no model")):  # fmt: skip
        with pytest.raises(OutputError, match=problem):
            save_head(place, None, {}, {}, {})
    assert file.read_text() == "years of work"


def test_any_metric_is_fitted_to_labels_and_opens_with_its_own_version(tmp_path, exact_models):
    data = labelled(replies(60), lambda reply: "tea" in reply)
    folder = tmp_path / "head"
    report = train_metric("coherence", data, exact_models, folder)
    assert report.measured[0].after.value > report.measured[0].before.value
    high, low = means(exact_models.load(f"file:{folder}", PairClassifier), data)
    assert high > low
    assert exact_models.task(f"file:{folder}") == "relevance"
    card, stated = folder / "card.toml", 'metric_models = "coherence:'
    assert stated in card.read_text()
    card.write_text(card.read_text().replace(stated, f"{stated}9"))
    with pytest.raises(ModelFolderError, match="run grice train metric again"):
        ModelLoader(mode="exact", workers=1, cache=None).load(f"file:{folder}")


def test_a_metric_without_bounds_or_of_no_such_name_is_refused(tmp_path, exact_models):
    data = labelled(replies(), [0.0, 1.0] * 60)
    for name, problem in (("fed", "fed"), ("relevanc", "did you mean")):
        with pytest.raises(MetricError, match=problem):
            train_metric(name, data, exact_models, tmp_path / "head")


def drawn(n=400, k=5, seed=0):
    rng = np.random.default_rng(seed)
    x, truth = rng.standard_normal((n, k)), rng.standard_normal(k)
    return x, (rng.random(n) < 1 / (1 + np.exp(-(x @ truth + 0.5)))).astype(float)


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0, np.array([0, 0, 0, 0, 100])])
def test_at_the_answer_the_slope_is_nothing(ridge):
    x, y = drawn()
    fit = fit_logistic(x, y, penalties=ridge)
    wrong = 1 / (1 + np.exp(-fit(x))) - y
    assert x.T @ wrong / len(y) + ridge * fit.weights == pytest.approx(0, abs=1e-4)
    assert wrong.mean() == pytest.approx(0, abs=1e-4)
