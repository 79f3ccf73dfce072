import re

import pytest

from grice.cli import main
from grice.errors import GriceError
from grice.readers import read
from grice_annotate.agreement import agreement_of
from grice_annotate.begin import Source, settings_of
from studio import ask, studio_of, talks, write


def test_the_records_are_conversations_and_labels_at_once(tmp_path):
    with studio_of(tmp_path / "s.db", "rating", talks(12), judges=2) as studio:
        studio.all_answer(lambda _, task: {"aspect0": 1 + task["task"] % 5})
        records = studio.records()
    labels = write(tmp_path / "labels.jsonl", *records)
    conversations = [(talk.id, talk.targets) for talk in read(labels)]
    assert conversations == [(record["id"], (1,)) for record in records]
    assert main(["meta-eval", "log_length", "--on", labels, "--json"]) == 0


def test_aspects_have_a_list_of_ratings_each_and_who_abstains_has_none(tmp_path):
    settings = {"aspects": ("relevance", "sensibleness"), "scale": (0, 2)}
    with studio_of(tmp_path / "s.db", "rating", talks(1), **settings) as studio:
        reply = studio.answer("ann", aspect0=1)
        assert (reply.status, "choose 0 to 2 for sensibleness" in reply.text) == (422, True)
        assert re.search(r'id="aspect0-1"[^>]*checked', reply.text)
        studio.answer("ann", aspect0=1, aspect1=2)
        [task] = set(re.findall(r"\?task=(\d+)", studio.page("ann")))
        assert re.search(r'id="aspect0-1"[^>]*checked', studio.page("ann", f"?task={task}"))
        changed = {"task": task, "change": 1, "aspect0": 0, "aspect1": 2}
        assert ask(studio.app, "POST", studio.path("ann"), changed).status == 303
        studio.answer("bo", abstain=1)
        studio.answer("cy", aspect0=1, aspect1=2)
        [record] = studio.records()
    assert record["ratings"] == {"relevance": [0, 1], "sensibleness": [2, 2]}
    assert (record["label"], record["abstained"]) == (1.25, 1)
    assert record["annotators"] == ["ann", "bo", "cy"]


def test_proposals_are_shown_to_some_and_what_they_do_is_reported(tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(40))
    scores = str(tmp_path / "scores.jsonl")
    assert main(["score", file, "-m", "log_length,relevance", "-o", scores]) == 0
    source = Source([file], scores=scores, top=5)
    with studio_of(tmp_path / "r.db", "rating", [file], source=source, order="review") as studio:
        assert len(studio.study.tasks()) == 5
    source = Source([file], scores=scores, propose=("log_length",))
    names = [f"judge{number}" for number in range(8)]
    with studio_of(tmp_path / "s.db", "rating", [file], names, source, judges=4) as studio:
        seeing = {name: "proposes the answer" in studio.page(name) for name in names}
        assert set(seeing.values()) == {True, False}
        proposals = {task.key: task.proposal["overall"] for task in studio.study.tasks()}

        def choose(name, task):
            proposed = proposals[task["key"]]
            return {"aspect0": proposed if seeing[name] else 1 + proposed % 5}

        studio.all_answer(choose)
        rows = agreement_of(studio.study.template, studio.study.tasks(), studio.study.answers())
    anchored = {row.measure: row.estimate.value for row in rows if row.column == "proposal"}
    assert list(anchored.values()) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "scale", "problem"),
    [({}, (5, 1), "2 to 20 whole steps"), ({}, (1, 1.5), "2 to 20 whole steps"),
     ({}, (1, 21), "2 to 20 whole steps"), ({"minutes": 0}, (1, 5), "above 0"),
     ({}, (float("nan"), 5), "2 to 20 whole steps"), ({"minutes": float("inf")}, (1, 5), "finite"),
     ({}, (1, float("inf")), "2 to 20 whole steps"), ({"judges": 1001}, (1, 5), "at most 1,000"),
     ({"aspects": ("a\udcff",)}, (1, 5), "can be shown"), ({"aspects": ("",)}, (1, 5), "not empty"),
     ({"check_every": -1}, (1, 5), "no less"), ({"aspects": ("a", "a")}, (1, 5), "named once")],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(settings, scale, problem):
    with pytest.raises(GriceError, match=problem):
        settings_of(settings, scale)
    assert settings_of({"judges": 1000, "check_every": 0}, (1, 20)).scale == (1, 20)
