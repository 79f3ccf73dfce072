from __future__ import annotations

import numpy as np
import pytest

import grice_research.triplets.models
from grice.errors import BundleError, InputError
from grice.knowledge.schema import load_schema
from grice.models.embedded import Hidden
from grice.records import Triple
from grice_research.triplets.answers import BINS, LONGEST, distance_bins, question
from grice_research.triplets.cider import Cider
from grice_research.triplets.ensemble import HeadConditionedEnsemble
from grice_research.triplets.head_conditioned import NO_OVERLAP, HeadConditionedLayer
from grice_research.triplets.models import TaskModels
from grice_research.triplets.task_files import Item, Negative
from grice_research.triplets.tasks import answer_tasks, rerank_spans
from grice_tasks.cider.heads import LinkHead, LinkHeads, Sides
from grice_tasks.cider.models import TripletModels
from grice_tasks.cider.reading import read_texts
from grice_tasks.cider.records import Dialogue
from grice_tasks.cider.structure import STRUCTURE, layout_of, locate, structure

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
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}_weight"] = draw.normal(size=shape) / shape[0] ** 0.5
        weights[f"{name}_bias"] = draw.normal(size=shape[1]) / 10
    for name in ("relation", "relationfactor"):
        weights[f"{name}_weight"] = draw.normal(size=(31, READER))
    weights["distance_weight"] = draw.normal(size=(BINS, READER))
    for name in ("seen", "narrow"):
        weights[f"{name}_scale"], weights[f"{name}_shift"] = np.ones(SIZE), np.zeros(SIZE)
    return weights | {"marker": np.ones(SIZE), "length": np.zeros(LONGEST)}


def hidden(texts):
    draw = np.random.default_rng(1)
    readings = []
    for text in texts:
        offsets, at = [(0, 0)], 0
        for word in text.split(" "):
            offsets.append((at, at + len(word)))
            at += len(word) + 1
        offsets.append((0, 0))
        readings.append(Hidden(draw.normal(size=(len(offsets), SIZE)).astype(np.float32), offsets))
    return readings


@pytest.fixture
def layer(tmp_path):
    np.savez(tmp_path / "rereader.npz", **arrays())
    return HeadConditionedLayer(tmp_path / "rereader.npz", hidden)


@pytest.fixture
def reading(layer):
    spans = ["missed the bus", "late", "tired"]
    sides = Sides(layout_of(TEXT), spans, [locate(TEXT, span) for span in spans], np.zeros((3, 1)))
    return HeadConditionedEnsemble([layer]).read(TEXT, sides)


def test_distances_and_questions():
    text = "You missed the bus . You are late ."
    (read_text,) = read_texts([text], hidden)
    bins = distance_bins(read_text, locate(text, "the bus"))
    assert set(bins[2:4]) == {BINS - 2}
    assert set(distance_bins(read_text, None)) == {BINS - 1}
    assert question("missed the bus", "Causes") == "What does 'missed the bus' cause?"
    assert question("x", "NotCauses") == ""


def test_answers_are_stretches_of_the_text_best_first(reading):
    answers = reading.answers(0, "Causes", count=500)
    scores = [scored.score for scored in answers]
    assert scores == sorted(scores, reverse=True)
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-4)
    words = len(TEXT.split())
    assert len({scored.place for scored in answers}) == len(answers) == words * (words + 1) // 2
    for answer in answers:
        words_there = TEXT[slice(*answer.place)]
        assert words_there
        assert words_there == words_there.strip()
    assert scores != [scored.score for scored in reading.answers(0, "IsA", count=500)]
    assert answers[:3] != reading.answers(1, "Causes", count=3)


def test_a_pair_is_judged_alike_among_others(reading):
    several = reading.links([(0, 1), (1, 0), (0, 2), (2, 1)])
    assert several.shape == (4, 3, 31)
    assert several[0] == pytest.approx(reading.links([(0, 1)])[0], abs=1e-5)
    assert not np.allclose(several[0], several[1])
    answer = next(candidate for candidate in reading.answers(0, "Causes", count=500)
                  if candidate.place == locate(TEXT, "late"))  # fmt: skip
    place = list(load_schema("cider").relations).index("Causes")
    assert several[0][:, place] == pytest.approx(answer.numbers, abs=1e-5)


def test_a_tail_is_heard_as_far_as_answers_have_its_words(reading):
    answers = reading.answers(0, "Causes", count=500)
    first = TEXT.split().index("late")
    mean = 0.0
    for answer in answers:  # "late" is one word: it is half of an answer of it and two others
        words = TEXT[: answer.place[0]].count(" "), TEXT[: answer.place[1]].count(" ") + 1
        shared = words[0] <= first < words[1]
        mean += np.exp(answer.score) * 2 * shared / (1 + words[1] - words[0])
    late, tired = reading.tail_overlaps([(0, "Causes", 1), (0, "Causes", 2)])
    assert late == pytest.approx(np.log(mean), abs=1e-4)
    assert tired == NO_OVERLAP < late
    assert reading.tail_overlaps([(0, "IsA", 1)]) != [late]


def test_several_layers_give_their_mean(layer, tmp_path):
    other = {name: value * 0.5 for name, value in arrays().items()}
    np.savez(tmp_path / "other.npz", **other)
    second = HeadConditionedLayer(tmp_path / "other.npz", hidden)
    spans = ["missed the bus", "late"]
    sides = Sides(layout_of(TEXT), spans, [locate(TEXT, span) for span in spans], np.zeros((2, 1)))
    first, two, both = (HeadConditionedEnsemble(r).read(TEXT, sides)
                      for r in ([layer], [second], [layer, second]))  # fmt: skip
    weighed = HeadConditionedEnsemble([layer, second], (1, 3)).read(TEXT, sides).links([(0, 1)])
    wanted = (first.links([(0, 1)]) + 3 * two.links([(0, 1)])) / 4
    assert weighed == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(InputError, match="1 weights for 2 layers"):
        HeadConditionedEnsemble([layer, second], (1,))
    mean = (first.links([(0, 1)]) + two.links([(0, 1)])) / 2
    assert both.links([(0, 1)]) == pytest.approx(mean, abs=1e-6)
    scores = [{x.place: x.score for x in r.answers(0, "Causes", count=500)}
              for r in (first, two, both)]  # fmt: skip
    for place, score in scores[2].items():
        assert score == pytest.approx((scores[0][place] + scores[1][place]) / 2, abs=1e-4)


def test_the_layer_is_that_of_bert(layer):
    torch = pytest.importorskip("torch")
    bert = pytest.importorskip("transformers.models.bert.modeling_bert")
    from transformers import BertConfig

    config = BertConfig(
        hidden_size=SIZE, num_attention_heads=12, intermediate_size=WIDE,
        attn_implementation="eager",
    )  # fmt: skip
    bert_layer = bert.BertLayer(config).eval()
    names = {
        "query": bert_layer.attention.self.query, "key": bert_layer.attention.self.key,
        "value": bert_layer.attention.self.value, "seen": bert_layer.attention.output.dense,
        "wide": bert_layer.intermediate.dense, "narrow": bert_layer.output.dense,
    }  # fmt: skip
    for name, part in names.items():
        part.weight.data = torch.tensor(layer.weights[f"{name}_weight"].T.copy())
        part.bias.data = torch.tensor(layer.weights[f"{name}_bias"])
    states = hidden([TEXT])[0].states
    with torch.no_grad():
        wanted = bert_layer(torch.tensor(states)[None])
    wanted = wanted[0] if isinstance(wanted, tuple) else wanted
    assert layer.layer(states) == pytest.approx(wanted.numpy().reshape(states.shape), abs=2e-5)


@pytest.mark.parametrize("whole", [False, True])
def test_networks_without_a_layer_read_the_states_as_they_are(tmp_path, whole):
    bert_layer = ("query", "key", "value", "seen", "wide", "narrow")
    kept = {name: value for name, value in arrays().items() if not name.startswith(bert_layer)}
    if whole:  # fitted on spans that are read by their mean alone
        for name in ("head", "tail", "asked", "askedfactor"):
            kept[f"{name}_weight"] = kept[f"{name}_weight"][:SIZE]
    np.savez(tmp_path / "apart.npz", **kept)
    spans = ["missed the bus", "late"]
    sides = Sides(layout_of(TEXT), spans, [locate(TEXT, span) for span in spans], np.zeros((2, 1)))
    reading = HeadConditionedEnsemble([HeadConditionedLayer(tmp_path / "apart.npz", hidden)]).read(
        TEXT, sides
    )
    states = hidden([TEXT])[0].states
    first, second = (
        (lambda mean: mean / np.linalg.norm(mean) * SIZE**0.5 / 4)(states[a:b].mean(axis=0))
        if whole
        else np.concatenate([states[a], states[b - 1], states[a:b].mean(axis=0)])
        for a, b in ((2, 5), (9, 10))
    )
    head = first @ kept["head_weight"] + kept["head_bias"]
    late = second @ kept["tail_weight"] + kept["tail_bias"]
    numbers = structure(sides.layout, *spans, *sides.places)
    joined = np.concatenate([head, late, head * late, numbers])
    hid = np.maximum(joined @ kept["hidden_weight"] + kept["hidden_bias"], 0)
    wanted = (hid @ kept["out_weight"] + kept["out_bias"]).reshape(3, 31)
    assert reading.links([(0, 1)])[0] == pytest.approx(wanted, abs=1e-4)
    assert len(reading.answers(0, "Causes", count=5)) == 5


def test_networks_on_the_same_lower_layers_have_a_text_read_once(tmp_path, monkeypatch):
    opened, read = [], []

    class Lower:
        def __init__(self, folder):
            opened.append(folder)

        def __call__(self, texts):
            read.extend(texts)
            return hidden(texts)

    monkeypatch.setattr(grice_research.triplets.models, "Tower", Lower)
    (tmp_path / "lower").mkdir()
    fold = tmp_path / "fold"
    for name in ("rereader_a", "rereader_b"):
        (fold / name).mkdir(parents=True)
        np.savez(fold / name / "rereader.npz", **arrays())
        (fold / name / "lower").symlink_to(tmp_path / "lower")
    link_head(fold / "links.npz")
    (fold / "settings.json").write_text('{"level": 0.0, "weights": [1.0, 3.0]}')
    models = grice_research.triplets.models.open_folder(fold, WordStates())
    sides = Sides(layout_of(TEXT), ["late"], [locate(TEXT, "late")], np.zeros((1, 1)))
    models.head_conditioned.read(TEXT, sides)
    assert (opened, read) == ([tmp_path / "lower"], [TEXT])
    (fold / "settings.json").write_text('{"level": 0.0, "weights": [1.0]}')
    with pytest.raises(BundleError, match="1 weights for 2 layers"):
        grice_research.triplets.models.open_folder(fold, WordStates())


def test_arrays_that_are_missing_or_do_not_fit_are_refused(tmp_path):
    kept = arrays()
    np.savez(tmp_path / "a.npz", **(kept | {"length": np.zeros(3)}))
    with pytest.raises(BundleError, match="do not fit"):
        HeadConditionedLayer(tmp_path / "a.npz", hidden)
    del kept["marker"]
    np.savez(tmp_path / "b.npz", **kept)
    with pytest.raises(BundleError, match="no array 'marker'"):
        HeadConditionedLayer(tmp_path / "b.npz", hidden)


class WordStates:
    """States of each text's words, without marks around them; and a vector of a text."""

    identity = "words"

    def hidden(self, texts):
        return [Hidden(scored.states[1:-1], scored.offsets[1:-1]) for scored in hidden(texts)]

    def encode(self, texts):
        return [scored.states.sum(axis=0) for scored in hidden(texts)]


def link_head(path):
    draw = np.random.default_rng(2)
    shapes = {"head": (SIZE, WIDTH), "tail": (SIZE, WIDTH),
              "hidden": (3 * WIDTH + STRUCTURE, HIDDEN), "out": (HIDDEN, 93)}  # fmt: skip
    kept = {f"{name}_weight": draw.normal(size=shape) for name, shape in shapes.items()}
    kept |= {f"{name}_bias": draw.normal(size=shape[1]) for name, shape in shapes.items()}
    np.savez(path, **kept)
    return LinkHead(path)


def test_a_folder_of_a_recipe_is_opened_with_its_settings(tmp_path):
    link_head(tmp_path / "links.npz")
    (tmp_path / "settings.json").write_text('{"level": 0.5}')
    assert grice_research.triplets.models.open_folder(tmp_path, WordStates()).heads.level == 0.5
    with pytest.raises(BundleError, match="no heads of triplets"):
        grice_research.triplets.models.open_folder(tmp_path / "nowhere", WordStates())


def test_the_tasks_are_answered_by_both_networks_and_without_context(layer, tmp_path):
    options = ("late", "work", "the bus", "Now")
    item = Item("d", 0, "missed the bus ", "Causes", "late", "", "", (0, TEXT.index("late")),
                options, options, 0)  # fmt: skip
    reverse = Negative("d", 0, "reverse", "late", "Causes", "missed the bus", True)
    dialogue = Dialogue("d", "", 1, TEXT, (), TEXT, "")
    cider = Cider({"d": dialogue}, [item], {"d": 1}, [reverse])
    head = link_head(tmp_path / "links.npz")
    heads = TripletModels(LinkHeads([head]), 0.0, WordStates())
    models = TaskModels(heads, head_conditioned=HeadConditionedEnsemble([layer]))
    answers = answer_tasks(cider, ["d"], models)
    triple = Triple("missed the bus", "Causes", "late")
    assert set(answers.entailed) == {
        ("d", triple),
        ("d", Triple("late", "Causes", "missed the bus")),
    }
    assert answers.spans.keys() == {("d", "missed the bus", "Causes")}
    assert all(span in TEXT for span in answers.spans.values())
    assert answers.apart == {}

    def entailed(share):
        shared = models._replace(shares=(share, share, share), alone=head)
        result = answer_tasks(cider, ["d"], shared)
        assert result.apart.keys() == {("d", "missed the bus", "late")}
        return result.entailed["d", triple]

    assert entailed(0.5) == pytest.approx((entailed(0.0) + entailed(1.0)) / 2, rel=1e-4)
    assert entailed(0.0) != entailed(1.0)
    first = answer_tasks(cider, ["d"], models._replace(counted=(100.0, 0.0))).spans
    assert first != answer_tasks(cider, ["d"], models._replace(counted=(-100.0, 0.0))).spans
    weighted = models._replace(overlap_weights=(0.5, 0.0))
    with_overlap = answer_tasks(cider, ["d"], weighted).entailed["d", triple]
    spans = ["missed the bus", "late"]
    sides = Sides(layout_of(TEXT), spans, [locate(TEXT, span) for span in spans], np.zeros((2, 1)))
    (share,) = HeadConditionedEnsemble([layer]).read(TEXT, sides).tail_overlaps([(0, "Causes", 1)])
    assert with_overlap == pytest.approx(answers.entailed["d", triple] + 0.5 * share, abs=1e-4)


def test_an_answer_that_others_are_like_may_be_given_for_the_f1_expected_of_it(tmp_path):
    heads = TripletModels(LinkHeads([link_head(tmp_path / "links.npz")]), 0.0, WordStates())
    models = TaskModels(heads, rerank=1e-9)
    (reading,) = read_texts([TEXT], heads.encoder.hidden)
    answers = {"for work": -1.0, "missed the bus": -1.2, "missed the bus .": -1.2}
    best = [(score, locate(TEXT, text)) for text, score in answers.items()]

    def given(expected):
        place = rerank_spans(
            reading, layout_of(TEXT), "late", locate(TEXT, "late"), "Causes", best,
            models._replace(expected=expected),
        )  # fmt: skip
        return TEXT[slice(*place)]

    assert given((0.0, 0.0)) == "for work"
    assert given((1.0, 0.0)) in {"missed the bus", "missed the bus ."}
    assert given((1.0, 100.0)) == "for work"
