from __future__ import annotations

import numpy as np
import pytest

from grice.errors import BundleError
from grice.runtime.embedded import Hidden
from grice.triplets.answers import BINS, LONGEST
from grice.triplets.heads import Sides
from grice.triplets.rereading import Rereader
from grice.triplets.structure import STRUCTURE, layout_of, locate

SIZE, WIDE, WIDTH, HIDDEN, READER, RANK = 24, 48, 6, 10, 8, 4
TEXT = "I missed the bus . Now I am late for work ."


def arrays():
    draw = np.random.default_rng(0)
    shapes = {
        **dict.fromkeys(("query", "key", "value", "seen"), (SIZE, SIZE)),
        "wide": (SIZE, WIDE), "narrow": (WIDE, SIZE), "head": (3 * SIZE, WIDTH),
        "tail": (3 * SIZE, WIDTH), "hidden": (3 * WIDTH + STRUCTURE, HIDDEN), "out": (HIDDEN, 93),
        "token": (SIZE, READER), "factor": (SIZE, READER), "asked": (3 * SIZE, READER),
        "askedfactor": (3 * SIZE, READER), "ends": (2 * READER, 2), "left": (SIZE, RANK),
        "right": (SIZE, RANK),
    }  # fmt: skip
    found = {}
    for name, shape in shapes.items():
        found[f"{name}_weight"] = draw.normal(size=shape) / shape[0] ** 0.5
        found[f"{name}_bias"] = draw.normal(size=shape[1]) / 10
    for name in ("relation", "relationfactor"):
        found[f"{name}_weight"] = draw.normal(size=(31, READER))
    found["distance_weight"] = draw.normal(size=(BINS, READER))
    for name in ("seen", "narrow"):
        found[f"{name}_scale"], found[f"{name}_shift"] = np.ones(SIZE), np.zeros(SIZE)
    return found | {"marker": np.ones(SIZE), "length": np.zeros(LONGEST)}


def hidden(texts):
    draw = np.random.default_rng(1)
    found = []
    for text in texts:
        offsets, at = [(0, 0)], 0
        for word in text.split(" "):
            offsets.append((at, at + len(word)))
            at += len(word) + 1
        offsets.append((0, 0))
        found.append(Hidden(draw.normal(size=(len(offsets), SIZE)).astype(np.float32), offsets))
    return found


@pytest.fixture
def rereader(tmp_path):
    np.savez(tmp_path / "rereader.npz", **arrays())
    return Rereader(tmp_path / "rereader.npz", hidden)


@pytest.fixture
def reading(rereader):
    spans = ["missed the bus", "late", "tired"]
    sides = Sides(layout_of(TEXT), spans, [locate(TEXT, one) for one in spans], np.zeros((3, 1)))
    return rereader.read(TEXT, sides)


def test_answers_are_stretches_of_the_text_best_first(reading):
    found = reading.answers(0, "Causes", count=500)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-4)
    words = len(TEXT.split())
    assert len({one.place for one in found}) == len(found) == words * (words + 1) // 2
    for one in found:
        said = TEXT[slice(*one.place)]
        assert said
        assert said == said.strip()
    assert scores != [one.score for one in reading.answers(0, "IsA", count=500)]
    assert found[:3] != reading.answers(1, "Causes", count=3)


def test_a_pair_is_judged_alike_among_others(reading):
    several = reading.links([(0, 1), (1, 0), (0, 2), (2, 1)])
    assert several.shape == (4, 3, 31)
    assert np.array_equal(several[0], reading.links([(0, 1)])[0])
    assert not np.allclose(several[0], several[1])
    answer = next(one for one in reading.answers(0, "Causes", count=500)
                  if one.place == locate(TEXT, "late"))  # fmt: skip
    place = reading._rereader.relations.index("Causes")
    assert several[0][:, place] == pytest.approx(answer.numbers)


def test_the_layer_is_that_of_bert(rereader):
    torch = pytest.importorskip("torch")
    bert = pytest.importorskip("transformers.models.bert.modeling_bert")
    from transformers import BertConfig

    config = BertConfig(
        hidden_size=SIZE, num_attention_heads=12, intermediate_size=WIDE,
        attn_implementation="eager",
    )  # fmt: skip
    layer = bert.BertLayer(config).eval()
    names = {
        "query": layer.attention.self.query, "key": layer.attention.self.key,
        "value": layer.attention.self.value, "seen": layer.attention.output.dense,
        "wide": layer.intermediate.dense, "narrow": layer.output.dense,
    }  # fmt: skip
    for name, part in names.items():
        part.weight.data = torch.tensor(rereader.weights[f"{name}_weight"].T.copy())
        part.bias.data = torch.tensor(rereader.weights[f"{name}_bias"])
    states = hidden([TEXT])[0].states
    with torch.no_grad():
        wanted = layer(torch.tensor(states)[None])
    wanted = wanted[0] if isinstance(wanted, tuple) else wanted
    assert rereader.layer(states) == pytest.approx(wanted.numpy().reshape(states.shape), abs=2e-5)


def test_arrays_that_are_missing_or_do_not_fit_are_refused(tmp_path):
    kept = arrays()
    np.savez(tmp_path / "a.npz", **(kept | {"length": np.zeros(3)}))
    with pytest.raises(BundleError, match="do not fit"):
        Rereader(tmp_path / "a.npz", hidden)
    del kept["marker"]
    np.savez(tmp_path / "b.npz", **kept)
    with pytest.raises(BundleError, match="no array 'marker'"):
        Rereader(tmp_path / "b.npz", hidden)
