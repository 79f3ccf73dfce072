"""The metrics of a language model, on a tiny one of random weights: how they read conversations."""

import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from grice import Conversation, Turn
from grice.errors import ModelFolderError
from grice.metrics.declaration import find_metrics
from grice.models.conversion import convert
from grice.models.folder import write_card
from grice.models.loader import ModelLoader
from grice.models.mlp import Mlp
from grice.models.protocols import PromptPart
from grice.scoring.api import Scorer
from grice.scoring.loaded import load_metric

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from decoders import HIDDEN, LAYERS, write_folder

TALK = Conversation(
    "talk",
    tuple(
        Turn("ab"[i % 2], text)
        for i, text in enumerate(["a bread", "bad bread", "a red bird", "bread", "dab a bad bird"])
    ),
)
FLAWS = ["any", "contradiction", "repetition"]


def card(folder, kind, settings):
    facts = {"name": folder.name, "kind": kind, "version": "1", "summary": "-", "licence": "-"}
    names = sorted(path.name for path in folder.iterdir())
    write_card(folder, facts, {"data": ["-"]}, settings, files=names)
    return f"file:{folder}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def causal(folder):
    target = folder / "causal"
    target.mkdir()
    convert(write_folder(folder / "source"), target)
    return card(target, "causal-lm", {"max_tokens": 64})


def states_of(folder, name, exponents):
    target = folder / name
    target.mkdir()
    convert(write_folder(folder / "source"), target, layers=LAYERS - 1, exponents=exponents)
    scale = "".join(str(exponent + 4) for exponent in exponents)
    return card(target, "causal-states", {"max_tokens": 64, "layers": LAYERS - 1, "scale": scale})


def heads_of(folder, name, base, inputs=HIDDEN):
    target = folder / name
    target.mkdir()
    weight = np.random.default_rng(0).normal(0, 1, (inputs, len(FLAWS))).astype(np.float32)
    Mlp([(weight, np.zeros(len(FLAWS), np.float32))]).save(target / "head.npz")
    return card(target, "flaw-heads", {"base": base, "flaws": FLAWS})


@pytest.fixture(scope="module")
def heads(folder):
    return heads_of(folder, "heads", states_of(folder, "states", [0] * HIDDEN))


def scored(name, reference, exact_models, *talks):
    metric = load_metric(find_metrics().named(name), exact_models, {"model": reference})
    return [score for scores in Scorer([metric]).score(talks or [TALK]) for score in scores]


@pytest.fixture(params=["likelihood", "sensibleness"])
def asked(request, exact_models):
    models = {"likelihood": "causal", "sensibleness": "heads"}
    reference = request.getfixturevalue(models[request.param])
    return lambda *talks: scored(request.param, reference, exact_models, *talks)


def test_each_reply_has_a_score_of_its_own(asked):
    first, *others = asked()
    assert first.status == "abstained"
    assert len({score.value for score in others}) == len(TALK.turns) - 1
    assert all(0 <= score.value <= 1 and score.status == "ok" for score in others)


def test_a_conversation_that_comes_twice_is_scored_twice(asked):
    short = Conversation("talk", TALK.turns[:2])
    alone = [(score.value, score.status) for score in asked(short)]
    both = asked(short, Conversation("again", short.turns))
    assert [(score.value, score.status) for score in both] == alone * 2


def test_what_comes_later_changes_nothing(asked):
    whole = asked()
    for length in range(2, len(TALK.turns)):
        cut = Conversation("talk", TALK.turns[:length])
        for score, other in zip(asked(cut), whole, strict=False):
            assert score.value == pytest.approx(other.value, abs=1e-5)


def test_what_was_said_before_counts_and_names_do_not(asked):
    other = Conversation("talk", (Turn("a", "big cats"), *TALK.turns[1:]))
    assert asked(other)[-1].value != asked()[-1].value
    renamed = tuple(Turn("xy"[turn.speaker == "b"], turn.text) for turn in TALK.turns)
    values = [score.value for score in asked(Conversation("talk", renamed))]
    assert values == [score.value for score in asked()]


def test_a_long_conversation_is_scored_and_a_long_reply_is_flagged(asked):
    long = asked(Conversation("long", TALK.turns * 12))
    assert sum(score.status == "ok" for score in long) == len(long) - 1
    talk = Conversation("talk", (TALK.turns[0], Turn("b", "bread and " * 100)))
    assert tuple(asked(talk)[-1].flags) == ("truncated",)


def test_words_that_the_history_makes_less_probable_are_shown(exact_models, causal):
    for score in scored("likelihood", causal, exact_models)[1:]:
        text = TALK.turns[score.turn].text
        after, gain, *words = score.evidence
        assert after.value < 0
        assert gain.name == "gain over the speaker's own turns"
        for word in words:
            assert word.value < 0
            assert text[word.span.start : word.span.end] in word.name
        if score.value < 0.5 and words:
            assert score.reason.startswith(words[0].name)
        else:
            assert "log likelihood" in score.reason
            assert not any(word.name in score.reason for word in words)


def test_powers_of_two_scale_the_states(folder, exact_models):
    passage = [PromptPart("A:"), PromptPart(" a red bird", target=True)]
    plain, doubled = (
        exact_models.load(states_of(folder, name, [exponent] * HIDDEN)).mean_states([passage])[0][0]
        for name, exponent in (("plain", 0), ("doubled", 1))
    )
    np.testing.assert_allclose(2 * plain, doubled, rtol=2e-3, atol=1e-3)


def test_states_do_not_depend_on_the_batch_and_are_zeros_without_tokens(folder):
    place = states_of(folder, "batch", [0] * HIDDEN)
    parts = [PromptPart(" bread" * n, target=True) for n in (1, 2, 2, 1, 40, 0)]
    together, apart = (ModelLoader(mode="fast", workers=1).load(place) for _ in range(2))
    means = together.mean_states([[PromptPart("a"), part] for part in parts])
    alone = [apart.mean_states([[PromptPart("a"), part]])[0] for part in parts]
    np.testing.assert_array_equal(means, alone)
    assert [bool(mean.any()) for (mean,) in means] == [True] * 5 + [False]
    assert together.mean_states([]) == []


def test_a_late_target_is_read_in_its_own_windows(folder, exact_models, monkeypatch):
    model = exact_models.load(states_of(folder, "long", [0] * HIDDEN))
    monkeypatch.setattr(model, "_engine", engine := Mock(wraps=model._engine))
    texts = ["bread", *"abcdefg" * 40]
    for place in (63, 64, 95, 96, 280):
        parts = texts[: place + 1]
        ((*_, whole),) = model.mean_states([[PromptPart(text, target=True) for text in parts]])
        engine.reset_mock()
        late = [PromptPart(text, target=i == place) for i, text in enumerate(parts)]
        ((mean,),) = model.mean_states([late])
        np.testing.assert_array_equal(mean, whole)
        assert engine.forward_batch.call_count == 1


def test_sizes_that_do_not_fit_are_refused(folder, exact_models, tmp_path):
    source = write_folder(folder / "source")
    for layers, dimensions in ((LAYERS + 1, HIDDEN), (1, HIDDEN + 1), (0, HIDDEN)):
        with pytest.raises(ModelFolderError, match=f"{layers} layers and {dimensions} exponents"):
            convert(source, tmp_path, layers=layers, exponents=[0] * dimensions)
    base = states_of(folder, "base", [0] * HIDDEN)
    with pytest.raises(ModelFolderError, match="65 dimensions to 3 flaws"):
        exact_models.load(heads_of(folder, "wrong", base, HIDDEN + 1))
