import numpy as np
import pytest
from scipy.special import logit

from grice.data import KnownTail, Triple
from grice.errors import InputError, ModelFolderError
from grice.knowledge.plausibility import Bilinear, TripleHead, TripleSettings
from grice.models.embedded import EmbeddedEncoder
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader, read_settings

SETTINGS = {
    "schema": "atomic2020", "relations": ["xWant", "xReact"], "known_weight": 2.0,
    "known_centre": 0.5,
}  # fmt: skip


def head_of(folder, encoder):
    return TripleHead(folder, read_settings(folder, TripleSettings), encoder)


@pytest.fixture
def folder(tmp_path, encoder):
    draw = np.random.default_rng(3)
    size, shared, rank = encoder.dimensions, 3, 2

    def matrix(*shape):
        return draw.normal(size=shape).astype(np.float16).astype(np.float32)

    folder = tmp_path / "tiny"
    folder.mkdir()
    maps = (matrix(size, shared + 2 * rank) for _ in range(2))
    singles = {name: matrix(2) for name in ("cosine", "scale", "bias")}
    Bilinear(*maps, **singles, shared=shared).save(folder / "plausibility.npz")
    return folder


@pytest.fixture
def head(folder, encoder, write_card):
    return head_of(open_folder(write_card(folder, "triple-head", SETTINGS)), encoder)


def test_plausibility_is_the_stated_formula(head, folder, encoder):
    (value,) = head.plausibility([Triple("PersonX rests", "xReact", "PersonX feels fine")])
    left, right = (v.astype(float) for v in encoder.encode(["he rests", "he is fine"]))
    with np.load(folder / "plausibility.npz") as parts:
        maps = (left @ parts["head"]) * (right @ parts["tail"])
        form = parts["cosine"][1] * (left @ right) + maps[:3].sum() + maps[5:7].sum()
        score = parts["scale"][1] * form + parts["bias"][1]
    assert value == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-4)


def test_a_known_tail_moves_the_score_by_its_similarity(head):
    triple = Triple("PersonX rests", "xWant", "to sleep")
    known = [KnownTail("a", "b", 0.5, similarity, "made") for similarity in (0.25, 0.5, 1.0)]
    plain = head.plausibility([triple])[0]
    less, same, more, none = head.plausibility([triple] * 4, [*known, None])
    assert same == none == plain
    assert logit([more, less]) - logit(plain) == pytest.approx([1.0, -0.5], abs=1e-3)


def test_a_relation_that_was_not_learned_is_an_error(head):
    with pytest.raises(InputError, match="learned for 'xwant'; did you mean 'xWant'"):
        head.plausibility([Triple("PersonX rests", "xwant", "a bed")])


@pytest.mark.parametrize(("settings", "message"), [
    ({**SETTINGS, "relations": ["xWant"]}, "plausibility.npz has 2 outputs, the settings"),
    ({**SETTINGS, "known_weight": "2"}, "settings.known_weight: expected `float`"),
    ({**SETTINGS, "relations": [1]}, r"settings.relations\[0\]: expected `str`"),
])  # fmt: skip
def test_settings_must_fit_the_networks(folder, encoder, write_card, settings, message):
    opened = open_folder(write_card(folder, "triple-head", settings))
    with pytest.raises(ModelFolderError, match=message):
        head_of(opened, encoder)


@pytest.fixture(scope="module")
def shipped():
    encoder = ModelLoader().load("builtin:encoder", EmbeddedEncoder)
    return head_of(open_folder("plausibility"), encoder)


@pytest.mark.parametrize(("head", "relation", "sense", "nonsense"), [
    ("PersonX is hungry", "xWant", "to eat", "to paint the house"),
    ("PersonX wins the race", "xReact", "proud", "hungry"),
    ("PersonX goes swimming", "HinderedBy", "the pool is closed", "PersonX bakes bread"),
    ("PersonX insults PersonY", "oReact", "angry", "sleepy"),
])  # fmt: skip
def test_the_shipped_head_tells_sense_from_nonsense(shipped, head, relation, sense, nonsense):
    good, bad = shipped.plausibility([Triple(head, relation, tail) for tail in (sense, nonsense)])
    assert good > bad
