import itertools
import json
from collections import defaultdict

import pytest

from grice.data import Triple
from grice.errors import InputError, RecordError
from grice_research.training.published.examples import read_examples
from grice_research.triplets.cider import (
    Choice,
    Negative,
    average_precision,
    best_tails,
    distance_balanced,
    load_cider,
    nearest,
    read_folds,
    read_items,
    read_negatives,
    score_entailment,
    score_labels,
    score_span,
    score_spans,
)  # fmt: skip
from grice_tasks.cider.reading import read_texts
from grice_tasks.cider.statistics import merge_labels

TEXT = "I overslept this morning . I missed the bus . My boss was angry with me ."


def test_the_rule_gives_the_triplets_of_the_experiments_exactly(dialogues, items):
    by_dialogue = defaultdict(list)
    for item in items:
        by_dialogue[item.dialogue].append(Triple(item.head, item.relation, item.tail))
    merged = {dialogue.id: merge_labels(dialogue) for dialogue in dialogues}
    assert all(list(each.kept) == by_dialogue[name] for name, each in merged.items())
    totals = [(len(each.kept), each.dropped, each.repeated) for each in merged.values()]
    assert tuple(map(sum, zip(*totals, strict=True))) == (4386, 64, 89)


def test_released_tables_are_read(tmp_path):
    items = tmp_path / "experiment.jsonl"
    row = {"d": "t", "i": 0, "h": "bus", "r": "Causes", "t": "late", "hl": "bus", "tl": "late",
           "qa": [1, 4], "mcq": ["a", "b", "c", "late"], "label": 3}  # fmt: skip
    items.write_text(json.dumps(row) + "\n")
    (item,) = read_items(items)
    assert (item.question, item.options, item.label) == ((1, 4), ("a", "b", "c", "late"), 3)
    folds, negatives = tmp_path / "folds.tsv", tmp_path / "negatives.tsv"
    folds.write_text("dialogue\ttest_fold\nt\t2\n")
    negatives.write_text("dialogue\ti\tstrategy\th\tr\tt\ttrain\nt\t0\tspan\ta\tCauses\tb\t1\n")
    assert read_folds(folds) == {"t": 2}
    assert read_negatives(negatives) == [Negative("t", 0, "span", "a", "Causes", "b", True)]
    items.write_text("{}\n")
    with pytest.raises(RecordError, match=r"experiment\.jsonl:1: "):
        read_items(items)


def test_questions_and_choices_are_the_released_ones(cider_folder):
    cider = load_cider(cider_folder)
    questions, choices = cider.questions(), cider.choices()
    assert len(questions) == 4247
    assert sum(filled.pasted for filled in questions) == 240
    for question in questions:
        assert cider.text(question.item.dialogue)[question.start :].startswith(question.valid[0])
    assert (len(choices), len({filled.id for filled in choices})) == (4230, 4230)
    right = sum(nearest(filled) == filled.label for filled in choices)
    assert right / len(choices) == pytest.approx(0.398, abs=0.001)
    balanced = distance_balanced(choices)
    assert sum(nearest(filled) == filled.label for filled in balanced) * 4 == len(balanced)
    for task, count in (("spans", 4247), ("choices", 4230), ("relations", 4386)):
        assert len(read_examples(f"cider-{task}", [cider_folder])) == count


def choice(i, options, label):
    return Choice(f"c{i}", "the cat sat on a mat near the old door", "cat", "AtLocation",
                  tuple(options), label)  # fmt: skip


def test_the_nearest_option_is_found_and_its_advantage_balanced_away():
    options = ["sat", "mat", "old", "door"]
    assert nearest(choice(0, options, 3)) == 0
    assert nearest(choice(0, ["nowhere", *options[2:], "mat"], 3)) == 3
    kept = distance_balanced([choice(i, options, i % 4) for i in range(11)])
    assert sorted(filled.label for filled in kept) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sum(nearest(filled) == filled.label for filled in kept) == len(kept) / 4


@pytest.fixture(scope="module")
def models(exact_models):
    return exact_models.load("builtin:triplets")


def read(text, models):
    return read_texts([text], models.encoder.hidden_states)[0]


def test_an_answer_is_an_event_or_a_thing_of_the_text_and_not_the_head(models):
    asked = [("missed the bus", "Causes"), ("overslept this morning", "Causes")]
    tails = best_tails(read(TEXT, models), asked, models)
    for (head, _), answer in zip(asked, tails, strict=True):
        assert answer
        assert answer in TEXT
        assert not set(answer.split()) & set(head.split())


def test_the_relation_decides_and_not_what_else_is_asked(models):
    reading = read("The cook is in the kitchen . He cut his finger and cried .", models)
    place, cause = best_tails(reading, [("cook", "AtLocation"), ("cried", "Causes")], models)
    assert (place, best_tails(reading, [("cried", "Causes")], models)) == ("kitchen", [cause])


@pytest.mark.parametrize("text", ["bus", "", "bus !"])
def test_a_text_that_says_nothing_else_has_no_answer(models, text):
    assert best_tails(read(text, models), [("bus", "Causes")], models) == [""]
    with pytest.raises(InputError, match="Nope"):
        best_tails(read(text, models), [("bus", "Nope")], models)


def test_span_cases_are_the_recorded_ones(golden):
    recorded = golden("cider_metric_cases")
    for case in recorded["cases"]:
        score = score_span(case["gold"], case["pred"])
        assert score.bucket == case["bucket"], case
        assert score.f1 == pytest.approx(case["cider_f1"], abs=1e-6), case
        assert score.squad_em == case["squad_em"], case
        assert score.squad_f1 == pytest.approx(case["squad_f1"], abs=1e-6), case
    answers = [case["pred"] for case in recorded["cases"]]
    whole = score_spans([[case["gold"]] for case in recorded["cases"]], answers)
    wanted = recorded["aggregate"]
    score = [100 * figure for figure in whole[:5]]
    names = ("EM", "NM", "cider_F1", "squad_EM", "squad_F1")
    assert score == pytest.approx([wanted[name] for name in names], abs=1e-4)


def test_of_several_right_answers_the_best_counts():
    scores = score_spans([["the bus", "late"], ["late"]], ["late", "early"])
    assert (scores.em, scores.nm, scores.f1, scores.n) == (0.5, 0.5, 0.5, 2)
    with pytest.raises(InputError, match="without a right answer"):
        score_spans([[]], ["late"])


def test_table_4_follows_from_its_counts(golden):
    for fold in golden("cider_baselines")["nli_table4_check"]["value"].values():
        positives, negatives = {
            684: (882, 7185), 688: (876, 6636), 681: (878, 6749), 687: (879, 6821), 631: (871, 6947)
        }[fold["tp"]]  # fmt: skip
        gold = [True] * positives + [False] * negatives
        predicted = [i < fold["tp"] for i in range(positives)]
        predicted += [i < fold["fp"] for i in range(negatives)]
        scores = score_entailment(gold, predicted)
        assert 100 * scores.macro_f1 == pytest.approx(fold["macro"], abs=1e-5)
        assert 100 * scores.weighted_f1 == pytest.approx(fold["weighted"], abs=1e-5)


def test_average_precision_does_not_depend_on_the_order_of_equal_scores():
    scores = [0.9, 0.5, 0.5, 0.5, 0.1]
    assert len({average_precision([True, *middle, True], scores)
                for middle in itertools.permutations([True, False, False])}) == 1  # fmt: skip
    assert average_precision([False, False], [1, 2]) == 0


def test_labels_that_occur_nowhere_do_not_count():
    scores = score_labels(["a", "a", "b"], ["a", "b", "b"])
    assert (scores.accuracy, scores.macro_f1) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert scores.macro_precision == scores.macro_recall == pytest.approx(0.75)
    with pytest.raises(InputError, match="2 gold and 1 predicted"):
        score_labels(["a", "b"], ["a"])
