import json
import re
from collections import Counter

import pytest

from grice.errors import ModelError
from grice_annotate.agreement import agreement_of
from grice_annotate.begin import Source
from grice_tasks.explagraphs.samples import read_samples
from studio import ask, command, refused, studio_of, talks, write

TALK = {"id": "plants", "turns": [
    {"speaker": "Ann", "text": "Mine died 🌱 because I forgot to water them."},
    {"speaker": "Bot", "text": "That is sad."}]}  # fmt: skip
TEXT = "Ann: Mine died 🌱 because I forgot to water them.\nBot: That is sad."
SAMPLE = {"id": "zoo", "belief": "Zoos protect animals.", "stance": "support",
          "argument": "Rare species breed safely in zoos."}  # fmt: skip
TOPIC = {"id": "t", "topic": "Zoos", "stance": "counter"}
FACTS = (("zoos", "has context", "rare species"), ("rare species", "is a", "animals"),
         ("animals", "receives action", "breed safely"))  # fmt: skip


def place(words):
    return [TEXT.index(words), TEXT.index(words) + len(words)]


LINK = {"head": place("forgot to water"), "relation": "Causes", "tail": place("died 🌱")}


def fields_of(facts):
    return {f"fact{i}.{('head', 'relation', 'tail')[j]}": fact[j]
            for i, fact in enumerate(facts) for j in range(3)}  # fmt: skip


def test_issues_are_marks_of_each_judge_or_none(tmp_path):
    with studio_of(tmp_path / "s.db", "issues", talks(1)) as studio:
        for wrong in ({}, {"issue": ["none", "relevance"]}, {"issue": "dull"}):
            assert studio.answer("ann", **wrong).status == 422
        studio.answer("ann", issue=["repetition", "relevance"])
        studio.answer("bo", issue="none")
        studio.answer("cy", issue="relevance")
        [record] = studio.records()
        rows = agreement_of(studio.study.template, studio.study.tasks(), studio.study.answers())
    assert record["issues"] == {"ann": ["relevance", "repetition"], "bo": [], "cy": ["relevance"]}
    assert (record["marks"]["relevance"], record["label"]) == (2, pytest.approx(1 / 3))
    assert {row.column for row in rows} >= {"all issues", "relevance"}


def test_sides_are_shuffled_and_the_better_reply_is_chosen_whatever_its_side(tmp_path):
    record = {"turns": ["A lamp broke."], "candidates": ["Good.", "Bad."]}
    records, sides = [record | {"id": f"t{number}"} for number in range(20)], Counter()
    with studio_of(tmp_path / "s.db", "pairwise", records) as studio:

        def choose(name, task):
            labels = re.findall(r'class="text">(\w+)\.', studio.page(name))
            sides[labels[0]] += 1
            return {"choice": "first" if name != "cy" else "tie"}

        studio.all_answer(choose)
        records = studio.records()
    assert min(sides["Good"], sides["Bad"]) > 15
    assert {(record["chosen"], record["rejected"]) for record in records} == {("Good.", "Bad.")}
    assert all(record["votes"] == {"first": 2, "second": 0, "tie": 1} for record in records)


def test_tuples_are_validated_by_three_who_wrote_none_and_the_majority_counts(tmp_path):
    names = ("ann", "bo", "cy", "di", "eve")
    polite = {"xIntent.0.head": "PersonX asks", "xIntent.0.tail": "to be polite"}
    bo = polite | {"xIntent.0.scope": "pair"}
    ann = bo | {"xIntent.1.head": "PersonX is fine", "xIntent.1.tail": "a chair",
                "xIntent.1.scope": "single"}  # fmt: skip
    wrong = ({}, polite, bo | {"xIntent.0.scope": "both"}, bo | {"xIntent.none": 1},
             bo | {"xIntent.0.head": "x" * 300})  # fmt: skip
    said = {"cy": ("valid", "events"), "di": ("valid", "valid"), "eve": ("relation", "relation")}

    def choose(name, task):
        return {"verdict": said[name][task["content"]["claim"]["tail"] == "a chair"]}

    settings = {"judges": 2, "relations": ("xIntent",)}
    with studio_of(tmp_path / "s.db", "tuples", talks(1), names, **settings) as studio:
        assert {studio.answer("ann", **form).status for form in wrong} == {422}
        assert [studio.answer("ann", **ann).status, studio.answer("bo", **bo).status] == [303, 303]
        assert {studio.task(name)["task"] for name in ("ann", "bo")} == {None}
        assert "<b>because PersonX wanted</b>" in studio.page("cy")
        assert studio.answer("cy", verdict="maybe").status == 422
        assert [row["valid"] for row in studio.records()[0]["tuples"]] == [None] * 3
        assert studio.all_answer(choose, ["cy", "di", "eve"]) == 6
        [record] = studio.records()
        measured = agreement_of(studio.study.template, studio.study.tasks(), studio.study.answers())
    written = [list(row.values()) for row in record["tuples"]]
    assert written[0] == ["ann", "xIntent", "PersonX asks", "to be polite", "pair", True]
    assert [row[-1] for row in written] == [True, False, True]
    assert ("verdict", "Fleiss' kappa") in {(row.column, row.measure) for row in measured}
    refused("mean 'xIntent'", tmp_path / "o.db", "tuples", talks(1), relations=("xintent",))


def test_graphs_are_checked_while_written_and_verified_without_the_argument(tmp_path):
    with studio_of(tmp_path / "s.db", "graphs", [SAMPLE], ("ann", "bo")) as studio:
        task = studio.task("ann")["task"]
        short = {"task": task, **fields_of(FACTS[:1])}
        preview = ask(studio.app, "POST", studio.path("ann") + "/preview", short)
        assert "at least 3" in preview.text
        assert "<svg" in preview.text
        assert ask(studio.app, "POST", studio.path("ann"), short).status == 422
        assert studio.answer("ann", **fields_of(FACTS)).status == 303
        assert studio.task("ann")["task"] is None
        changed = {"task": task, "change": 1, **fields_of(FACTS[::-1])}
        reply = ask(studio.app, "POST", studio.path("ann"), changed)
        assert (reply.status, "others have gone on" in reply.text) == (422, True)
        page = studio.page("bo")
        assert "no task left" in studio.page("ann", f"?task={studio.task('bo')['task']}")
        assert SAMPLE["belief"] in page
        assert SAMPLE["argument"] not in page


def test_the_best_writers_refine_what_is_refused_in_at_most_three_rounds(tmp_path):
    names, order = ("ann", "bo", "cy", "di", "eve", "flo"), {"order": "input", "judges": 2}
    samples, wrote = [SAMPLE | {"id": name} for name in ("right", "mended", "never")], {}
    with studio_of(tmp_path / "s.db", "graphs", samples, names, refiners=1, **order) as studio:

        def choose(name, task):
            key, page = task["content"]["id"], studio.page(name)
            if task["stage"] != "verify":
                assert ("did not see the argument, said: incorrect" in page) == (key in wrote)
                wrote.setdefault(key, []).append(name)
                return fields_of(FACTS)
            assert name not in wrote[key]
            fits = key == "right" or (key == "mended" and len(wrote[key]) == 2)
            return {"verdict": "support" if fits else ("support", "counter")[names.index(name) % 2]}

        studio.all_answer(choose)
        records = {record["id"]: record for record in studio.records()}
    rounds = {key: [each["annotator"] for each in records[key]["rounds"]] for key in records}
    # The best of the other writers refines; where nobody else has written, anybody does.
    assert rounds == {"right": ["ann"], "mended": ["di", "ann"], "never": ["ann", "di", "eve"]}
    assert [records[key]["correct"] for key in records] == [True, True, False]


GRAPH = "".join(f"({'; '.join(fact)})" for fact in FACTS)


@pytest.mark.parametrize(("template", "record", "right", "wrong"), [
    ("stance", TOPIC | {"belief": "Zoos.", "argument": "No."}, {"stance": "counter"},
     {"stance": "neutral"}),
    ("graphs", SAMPLE | {"graph": GRAPH}, {"verdict": "support"}, {"verdict": "incorrect"}),
    ("issues", {"expected": ["relevance"]}, {"issue": "relevance"}, {"issue": "none"}),
    ("rating", {"keywords": ["a"], "keywords_pos": [0], "statements": ["It is hot.", "It is not."],
     "expected": {"overall": 5}}, {"aspect0": 5}, {"aspect0": 1}),
    ("pairwise", {"candidates": ["Yes.", "No."], "expected": {"choice": "first"}},
     {"choice": "first"}, {"choice": "tie"}),
])  # fmt: skip
def test_a_quiz_has_the_form_of_its_template(template, record, right, wrong, tmp_path):
    file = write(tmp_path / "t.jsonl", talks(1)[0] | record)
    source, names = Source([file], quiz=[file]), ("ann", "bo")
    with studio_of(tmp_path / "s.db", template, [file], names, source) as studio:
        for name, form, said in (("ann", right, "Right."), ("bo", wrong, "Not right")):
            told = studio.answer(name, **form).headers["location"]
            assert said in ask(studio.app, "GET", told).text
        assert [studio.task(name)["task"] is None for name in names] == [False, True]


def test_a_try_that_the_model_does_not_answer_does_not_count(tmp_path):
    settings = {"judges": 1, "tries": 3}
    with studio_of(tmp_path / "s.db", "stance", [TOPIC], ("ann", "bo"), **settings) as studio:

        def predict(_, argument):
            if argument == "Down.":
                raise ModelError("cannot be reached")
            return "support" if "fool" in argument else "counter"

        studio.study.predict = predict
        for argument, problem in (
            ("", "1 to 500"),
            ("No.", "2 tries left"),
            ("Down.", "not count"),
        ):
            assert problem in studio.answer("ann", belief="Zoos.", argument=argument).text
        assert "Zoos. / No.: <b>counter</b>" in studio.page("ann")
        assert studio.answer("ann", belief="Zoos.", argument="A fool says so.").status == 303
        assert studio.answer("bo", stance="counter").status == 303
        [record] = studio.records()
    assert (record["fooled"], len(record["tries"]), record["stance"]) == (True, 2, "counter")


def test_a_dialogue_has_at_most_100_triplets_of_words_inside_of_it(tmp_path):
    file, length = write(tmp_path / "t.jsonl", TALK), len(TEXT)
    edge = {**LINK, "head": [0, 1], "tail": [length - 1, length]}
    outside = [[-1, 1], [length - 1, length + 1], [5, 5], [6, 5], [4, 5]]  # the last is a space
    wrong = [[{**LINK, end: place}] for end in ("head", "tail") for place in outside]
    with studio_of(tmp_path / "s.db", "triplets", [file]) as studio:
        for links in ([LINK] * 101, [], "no", [{**LINK, "relation": "Likes"}], *wrong):
            assert studio.answer("ann", links=json.dumps(links)).status == 422
        assert studio.answer("ann", links=json.dumps([LINK]), none=1).status == 422
        assert studio.answer("ann", links=json.dumps([*[LINK] * 99, edge])).status == 303
        assert len(studio.study.tasks()) == 3
    with studio_of(tmp_path / "none.db", "triplets", [file]) as studio:
        assert studio.answer("ann", links="[]", none=1).status == 303


EXPLICIT, IMPLICIT = ({"valid": "yes", "kind": kind} for kind in ("explicit", "implicit"))
INVALID = {"valid": "no"}


@pytest.mark.parametrize(("votes", "valid", "kind"), [
    ((EXPLICIT, EXPLICIT), True, "explicit"), ((EXPLICIT, IMPLICIT), True, None),
    ((INVALID, INVALID), False, None), ((EXPLICIT, INVALID, INVALID), False, "explicit"),
    ((IMPLICIT, INVALID, EXPLICIT), True, None), ((INVALID, IMPLICIT), False, "implicit"),
])  # fmt: skip
def test_more_than_half_of_two_or_three_validators_decide(votes, valid, kind, tmp_path):
    with studio_of(tmp_path / "s.db", "triplets", [TALK], ["ann", *"bcde"]) as studio:
        studio.answer("ann", links=json.dumps([LINK, LINK]))
        assert studio.task("ann")["task"] is None  # nobody validates their own
        assert '<mark class="head">forgot to water</mark>' in studio.page("b")
        for name, vote in zip("bcd", votes, strict=False):
            assert studio.answer(name, **vote).status == 303
        assert (studio.task("e")["task"] is None) == (
            len(votes) != 2 or votes[0]["valid"] == votes[1]["valid"]
        )
        [record] = studio.records()
    assert [(each["valid"], each["kind"]) for each in record["validated"]] == [(valid, kind)]
    links = [["forgot to water", "Causes", "died 🌱"]] * valid
    assert [triplet[:3] for triplet in record["triplets"]] == links
    dialogues = write(tmp_path / "dialogues.jsonl", record)
    with studio_of(tmp_path / "b.db", "triplets", [dialogues]) as studio:
        assert [len(task.proposal or []) for task in studio.study.tasks()] == [valid]


@pytest.mark.parametrize(("predicted", "fooled"), [
    (None, False), ("counter", False), ("support", True), ("neutral", True),
])  # fmt: skip
@pytest.mark.parametrize(("stances", "agreed"), [
    (("support", "support", "counter"), "support"), (("support", "counter", "neutral"), None),
    (("support", "counter"), None), (("neutral",), None),
])  # fmt: skip
def test_the_last_try_is_taken(predicted, fooled, stances, agreed, tmp_path):
    settings = {"judges": len(stances), "tries": 1}
    with studio_of(tmp_path / "s.db", "stance", [TOPIC], ["ann", *"bcd"], **settings) as studio:
        if predicted:
            studio.study.predict = lambda *_: predicted
        assert studio.answer("ann", belief="Zoos.", argument="No.").status == 303
        assert studio.task("ann")["task"] is None  # nobody checks their own
        for name, stance in zip("bcd", stances, strict=False):
            assert studio.answer(name, stance="maybe").status == 422
            assert studio.answer(name, stance=stance).status == 303
        records = [(row["fooled"], row["stance"], row["asked"]) for row in studio.records()]
    assert records == ([(fooled, agreed, "counter")] if agreed else [])


def test_the_accuracy_of_people_stands_beside_answers_without_reading(tmp_path):
    asked = {"context": "I missed the bus.", "options": ["late", "sad", "tall", "red"]}
    cider = asked | {"head": "missed the bus", "relation": "Causes"}
    keyed = [cider | {"answer": key} for key in (2, 2, 2, 0)]
    file = write(tmp_path / "t.jsonl", *keyed, asked | {"question": "Why?"})
    settings = {"judges": 2, "order": "input"}
    with studio_of(tmp_path / "s.db", "choices", [file], ("ann", "bo"), **settings) as studio:
        assert "What does &#39;missed the bus&#39; cause?" in studio.page("ann")
        assert studio.answer("ann", choice=4).status == 422
        assert "answer" not in studio.task("ann")["content"]
        studio.all_answer(lambda name, _: {"choice": {"ann": 2, "bo": 0}[name]})
        records, study = studio.records(), studio.study
        rows = agreement_of(study.template, study.tasks(), study.answers())
    assert [record["label"] for record in records] == [0.5] * 4 + [None]
    right = [row.estimate.value for row in rows if row.column == "right answer"]
    assert right == [0.5, 0, 0.75, 0.25]


def test_graphs_of_a_system_are_verified_where_stance_and_form_are_right(tmp_path):
    samples = [SAMPLE | {"id": name} for name in "abcd"]
    made = [{"id": "a", "stance": "support", "graph": GRAPH},
            {"id": "b", "stance": "counter", "graph": GRAPH},
            {"id": "c", "stance": "support", "graph": "(zoos; is a; thing)"}]  # fmt: skip
    file, given = write(tmp_path / "t.jsonl", *samples), write(tmp_path / "p.jsonl", *made)
    settings = {"judges": 2, "predictions": given}
    with studio_of(tmp_path / "s.db", "graphs", [file], ("ann", "bo"), **settings) as studio:
        assert SAMPLE["argument"] not in studio.page("ann")
        assert studio.all_answer(lambda *_: {"verdict": "incorrect"}) == 2  # and nothing is refined
        [record] = studio.records()
    assert (record["graph"], record["correct"]) == (GRAPH, False)
    assert record["rounds"][0]["verdicts"] == {"ann": "incorrect", "bo": "incorrect"}
    unknown = write(tmp_path / "u.jsonl", made[0] | {"id": "z"})
    refused("no sample 'z'", tmp_path / "u.db", "graphs", [file], predictions=unknown)


def test_both_sides_of_a_topic_are_written_and_pairs_checked_without_a_model(tmp_path):
    pair = {"id": "p", "belief": "Zoos are bad.", "argument": "Cages hurt.", "stance": "support"}
    said = {"Good.": "support", "Costly.": "neutral", "Cages hurt.": "support"}
    topic, settings = {"id": "t", "topic": "Zoos"}, {"judges": 2, "order": "input"}
    with studio_of(tmp_path / "s.db", "stance", [topic, pair], **settings) as studio:
        assert "counters it" in studio.page("ann")
        assert studio.answer("ann", belief="Zoos.", support="Good.").status == 422
        studio.answer("ann", belief="Zoos.", support="Good.", counter="Costly.")
        assert studio.records() == []
        studio.all_answer(lambda _, task: {"stance": said[task["content"]["argument"]]})
        output = tmp_path / "out.jsonl"
        assert command("export", "--db", tmp_path / "s.db", "-o", output) == 0
    samples = [(each.id, each.argument, each.stance) for each in read_samples(output)]
    assert samples == [("t:support", "Good.", "support"), ("p", "Cages hurt.", "support")]


PAIRS = [["one"], [], "x", ["a", 3], ["a", " "], None]
TURNS = '{"id": "a", "turns": [{"speaker": "A", "text": "hi"}], "targets": [4]}'


@pytest.mark.parametrize(
    ("template", "record", "problem"),
    [("graphs", '{"id": "a", "belief": "b", "argument": "c"}', "no stance"),
     ("graphs", '{"id": "a", "belief": "b"}', "argument"),
     ("stance", '{"id": "a", "topic": "b", "stance": "neutral"}', "support or counter"),
     *(("choices", json.dumps({"options": ["a", "b"]} | wrong), problem) for wrong, problem in (
         ({}, "expected a question"), ({"options": ["a"]}, "2 to 9"),
         ({"question": "Why?", "answer": 2}, "number of an option"))),
     ("stance", '{"id": "a"}', "topic"), ("issues", '{"belief": "b"}', "format"),
     ("rating", '{"id": "a", "turns": []}', "turns"), ("rating", "", "empty"),
     ("rating", TURNS, "targets"),
     *(("pairwise", json.dumps({"id": "t", "turns": ["Hi."], "candidates": pair}), "2 to 8 replies")
       for pair in PAIRS)],
)  # fmt: skip
def test_a_file_that_does_not_fit_its_template_is_named(template, record, problem, tmp_path):
    (tmp_path / "t.jsonl").write_text(record, "utf-8")
    refused(problem, tmp_path / "s.db", template, [str(tmp_path / "t.jsonl")])
    assert not (tmp_path / "s.db").exists()
