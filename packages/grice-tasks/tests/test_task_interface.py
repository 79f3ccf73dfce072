import doctest
import json
from importlib import import_module
from pkgutil import walk_packages

import pytest

import grice_tasks
from grice.models.loader import ModelLoader
from grice_tasks import tokens
from grice_tasks.cider.task import PlacedLink
from grice_tasks.explagraphs.samples import Prediction
from grice_tasks.situatedgen.records import Output
from grice_tasks.task import tasks

TALK = "A: I missed the bus because I overslept.    B: So you were late for work?"
SAMPLES = {
    "cider": {"utterances": TALK, "triplets": [
        ["overslept", "Causes", "missed the bus", [30, 39], [5, 19], 0]]},
    "explagraphs": {
        "belief": "Zoos should be abolished.", "argument": "Animals in zoos live in small cages.",
        "stance": "support", "graph": "(zoos; has property; small cages)(small cages; causes; "
                                      "suffering)(suffering; desires; abolished)"},
    "situatedgen": {
        "keywords": ["July", "China", "winter", "Australia", "summer", "July"],
        "keywords_pos": [0, 0, 1, 1, 0, 1],
        "statements": ["July is summer in China.", "July is winter in Australia."]},
}  # fmt: skip
BEST = {"cider": "recall", "explagraphs": "sa", "situatedgen": "match_first"}
"""A measure of each task that is 1 for the gold answers."""


GOLD = {
    "cider": lambda sample: [PlacedLink(one.head_at, one.relation, one.tail_at)
                             for one in sample.triplets],
    "explagraphs": lambda sample: Prediction(sample.id, sample.stance, sample.graphs[0]),
    "situatedgen": lambda sample: Output(sample.id, sample.reference),
}  # fmt: skip
"""The correct answer of a system to a sample."""


@pytest.fixture(params=SAMPLES)
def task(request):
    return tasks()[request.param]


@pytest.fixture
def samples(task, tmp_path):
    path = tmp_path / "samples.jsonl"
    rows = [SAMPLES[task.name] | {"id": f"s{number}"} for number in range(3)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return task.read(path)


def test_the_models_that_ship_answer_every_sample_and_baselines_stand_beside(task, samples):
    assert len(samples) == 3
    with ModelLoader(mode="fast", workers=1, cache=None) as models:
        answers = task.predict(task.models(models), samples)
    assert len(answers) == len(samples)
    gold = [GOLD[task.name](sample) for sample in samples]
    best, rows = BEST[task.name], task.table(samples, gold)
    assert rows.pop("system")[best].value == 1
    assert all(row[best].value <= 1 for row in rows.values())
    table = task.table(samples, answers)
    assert list(table) == ["system", *task.baselines(samples)]
    assert len(table) >= 3
    for measures in table.values():
        assert measures
        for estimate in measures.values():
            assert 0 <= estimate.value <= 1
            assert estimate.n >= 1


# Weights were learned on the words that patterns find, so that none may change.
TEXT = "Don't re-read it: 1,5 km, e.g. Müller’s_map…\nWow!"
FOUND = {
    "SPAN_TOKENS": "Don't re-read it : 1,5 km , e . g . Müller ’ s_map … Wow !",
    "COMPOUNDS": "Don't re-read it 1 5 km e g Müller’s_map Wow",
    "PLAIN_COMPOUNDS": "Don't re-read it 1 5 km e g Müller’s map Wow",
    "WORDS_WITH_PERIODS": "Don't re-read it 1 5 km e.g. Müller’s_map Wow",
    "WORDS_AND_COMMAS": "Don't re read it 1 , 5 km , e g Müller s_map Wow",
    "WORDS_AND_MARKS": "Don ' t re - read it : 1 , 5 km , e . g . Müller ’ s_map … Wow !",
    "BLEU_TOKENS": "Don't re-read it: 1,5 km, e.g. Müller’s_map… Wow!",
    "ROUGE_TOKENS": "don t re read it 1 5 km e g m ller s map wow",
}


@pytest.mark.parametrize("name", FOUND)
def test_words(name):
    text = TEXT.lower() if name == "ROUGE_TOKENS" else TEXT
    assert " ".join(getattr(tokens, name).findall(text)) == FOUND[name]


NAMES = [module.name for module in walk_packages(grice_tasks.__path__, "grice_tasks.")]


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_docstrings_run(name):
    assert doctest.testmod(import_module(name)).failed == 0
