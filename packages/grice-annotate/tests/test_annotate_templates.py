import json
import re
from collections import Counter

import pytest

from grice.errors import ModelError
from grice_annotate.agreement import agreement_of
from grice_tasks.explagraphs.check import check_graph
from studio import ask, refused, studio_of, talks, write

TALK = {"id": "plants", "turns": [
    {"speaker": "Ann", "text": "Mine died 🌱 because I forgot to water them."},
    {"speaker": "Bot", "text": "That is sad."}]}  # fmt: skip
TEXT = "Ann: Mine died 🌱 because I forgot to water them.\nBot: That is sad."
SAMPLE = {"id": "zoo", "belief": "Zoos protect animals.", "stance": "support",
          "argument": "Rare species breed safely in zoos."}  # fmt: skip
FACTS = (("zoos", "has context", "rare species"), ("rare species", "is a", "animals"),
         ("animals", "receives action", "breed safely"))  # fmt: skip


def place(words):
    return [TEXT.index(words), TEXT.index(words) + len(words)]


LINK = {"head": place("forgot to water"), "relation": "Causes", "tail": place("died 🌱")}


def fields_of(facts):
    return {f"fact{i}.{('head', 'relation', 'tail')[j]}": fact[j]
            for i, fact in enumerate(facts) for j in range(3)}  # fmt: skip


def test_sentences_of_situatedgen_are_rated_as_a_pair(tmp_path):
    pair = {"keywords": ["a"], "keywords_pos": [0], "statements": ["It is hot.", "It is cold."]}
    file, settings = write(tmp_path / "t.jsonl", pair), {"aspects": ("valid",), "scale": (0, 1)}
    with studio_of(tmp_path / "s.db", "rating", [file], **settings) as studio:
        studio.answer("ann", aspect0="1")
        assert [turn["text"] for turn in studio.records()[0]["turns"]] == pair["statements"]


def test_issues_are_marks_of_each_judge_or_none(tmp_path):
    file = write(tmp_path / "t.jsonl", *talks(1))
    with studio_of(tmp_path / "s.db", "issues", [file]) as studio:
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
    file = write(tmp_path / "t.jsonl", *(record | {"id": f"t{i}"} for i in range(20)))
    sides = Counter()
    with studio_of(tmp_path / "s.db", "pairwise", [file]) as studio:

        def choose(name, task):
            labels = re.findall(r'class="text">(\w+)\.', studio.page(name))
            sides[labels[0]] += 1
            return {"choice": "first" if name != "cy" else "tie"}

        studio.all_answer(choose)
        records = studio.records()
    assert min(sides["Good"], sides["Bad"]) > 15
    assert {(record["chosen"], record["rejected"]) for record in records} == {("Good.", "Bad.")}
    assert all(record["votes"] == {"first": 2, "second": 0, "tie": 1} for record in records)


def test_tuples_are_written_relation_by_relation_or_said_not_to_be_there(tmp_path):
    file = write(tmp_path / "t.jsonl", *talks(1))
    relations = ("xIntent", "xReact")
    row = {"xIntent.0.head": "PersonX asks", "xIntent.0.tail": "to be polite"}
    none = {"xReact.none": 1}
    with studio_of(tmp_path / "s.db", "tuples", [file], judges=1, relations=relations) as studio:
        for wrong in (
            none,
            {**none, **row},
            {**none, **row, "xIntent.0.scope": "both"},
            {**none, **row, "xIntent.0.scope": "pair", "xIntent.none": 1},
            {**none, "xIntent.0.head": "x" * 300, "xIntent.0.tail": "y", "xIntent.0.scope": "pair"},
        ):
            assert studio.answer("ann", **wrong).status == 422
        assert studio.answer("ann", **none, **row, **{"xIntent.0.scope": "pair"}).status == 303
        [record] = studio.records()
    written = list(record["tuples"][0].values())
    assert written == ["ann", "xIntent", "PersonX asks", "to be polite", "pair", None]
    place = tmp_path / "o.db"
    refused("did you mean 'xIntent'", place, "tuples", [file], relations=("xintent",))


def test_tuples_are_validated_by_three_who_wrote_none_and_the_majority_counts(tmp_path):
    file = write(tmp_path / "t.jsonl", *talks(1))
    names = ("ann", "bo", "cy", "di", "eve")
    forms = {
        "ann": {"xIntent.0.head": "PersonX asks", "xIntent.0.tail": "to be polite",
                "xIntent.0.scope": "pair", "xIntent.1.head": "PersonX is fine",
                "xIntent.1.tail": "a chair", "xIntent.1.scope": "single"},
        "bo": {"xIntent.0.head": "PersonX asks", "xIntent.0.tail": "to be polite",
               "xIntent.0.scope": "pair"},
    }  # fmt: skip
    said = {"cy": ("valid", "events"), "di": ("valid", "valid"), "eve": ("relation", "relation")}

    def choose(name, task):
        return {"verdict": said[name][task["content"]["claim"]["tail"] == "a chair"]}

    settings = {"judges": 2, "relations": ("xIntent",)}
    with studio_of(tmp_path / "s.db", "tuples", [file], names, **settings) as studio:
        assert [studio.answer(name, **form).status for name, form in forms.items()] == [303, 303]
        assert {studio.task(name)["task"] for name in forms} == {None}
        assert "<b>because PersonX wanted</b>" in studio.page("cy")
        assert studio.answer("cy", verdict="maybe").status == 422
        assert [row["valid"] for row in studio.records()[0]["tuples"]] == [None] * 3
        assert studio.all_answer(choose, ["cy", "di", "eve"]) == 6
        [record] = studio.records()
        measured = agreement_of(studio.study.template, studio.study.tasks(), studio.study.answers())
    assert [row["valid"] for row in record["tuples"]] == [True, False, True]
    assert ("verdict", "Fleiss' kappa") in {(row.column, row.measure) for row in measured}


def test_triplets_are_validated_by_two_others_and_a_third_where_they_differ(tmp_path):
    file = write(tmp_path / "t.jsonl", TALK)
    names = ("ann", "bo", "cy", "di")
    with studio_of(tmp_path / "s.db", "triplets", [file], names) as studio:
        for wrong in ("[]", "nonsense", json.dumps([{**LINK, "relation": "Likes"}]),
                      json.dumps([{**LINK, "head": [0, 999]}])):  # fmt: skip
            assert studio.answer("ann", links=wrong).status == 422
        assert studio.answer("ann", links=json.dumps([LINK, LINK])).status == 303
        assert studio.task("ann")["task"] is None  # nobody validates their own
        votes = {"bo": {"valid": "yes", "kind": "implicit"}, "cy": {"valid": "no"},
                 "di": {"valid": "yes", "kind": "implicit"}}  # fmt: skip
        assert '<mark class="head">forgot to water</mark>' in studio.page("bo")
        assert studio.all_answer(lambda name, _: votes[name]) == 3
        [record] = studio.records()
    assert record["triplets"][0][:3] == ["forgot to water", "Causes", "died 🌱"]
    assert [verdict["kind"] for verdict in record["validated"]] == ["implicit"]
    dialogues = write(tmp_path / "dialogues.jsonl", record)
    with studio_of(tmp_path / "b.db", "triplets", [dialogues], names) as studio:
        assert [len(task.proposal) for task in studio.study.tasks()] == [1]


def test_graphs_are_checked_while_written_verified_without_the_argument_and_refined(tmp_path):
    file = write(tmp_path / "t.jsonl", SAMPLE)
    names = ("ann", "bo", "cy", "di", "eve")
    with studio_of(tmp_path / "s.db", "graphs", [file], names) as studio:
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
        for name in ("bo", "cy", "di"):
            studio.answer(name, verdict="incorrect")
        assert studio.task("ann")["task"] is None  # somebody else refines
        assert "Others, who did not see the argument, said: incorrect" in studio.page("eve")
        assert studio.answer("eve", **fields_of(FACTS)).status == 303
        assert studio.all_answer(lambda *_: {"verdict": "support"}) == 3
        [record] = studio.records()
    assert check_graph(record["graph"], SAMPLE["belief"], SAMPLE["argument"], rules="paper").ok
    assert record["correct"]
    assert [each["verdict"] for each in record["rounds"]] == ["incorrect", "support"]
    assert [each["annotator"] for each in record["rounds"]] == ["ann", "eve"]


def test_a_writer_has_so_many_tries_to_fool_the_model_and_others_say_the_stance(tmp_path):
    file = write(tmp_path / "t.jsonl", {"id": "t", "topic": "Zoos", "stance": "counter"})
    with studio_of(tmp_path / "s.db", "stance", [file], ("ann", "bo"), judges=1, tries=3) as studio:

        def predict(_, argument):
            if argument == "Down.":
                raise ModelError("cannot be reached")
            return "support" if "fool" in argument else "counter"

        studio.study.predict = predict
        reply = studio.answer("ann", belief="Zoos are good.", argument="No.")
        assert reply.status == 422
        assert "you have 2 tries left" in reply.text
        assert "Zoos are good. / No.: <b>counter</b>" in studio.page("ann")
        assert studio.answer("ann", belief="Zoos are good.", argument="").status == 422
        task = studio.task("ann")["task"]
        reply = studio.answer("ann", belief="Zoos are good.", argument="Down.")
        assert (reply.status, "did not answer" in reply.text) == (422, True)
        reply = studio.answer("ann", belief="Zoos are good.", argument="A fool says so.")
        assert reply.status == 303
        changed = {"task": task, "change": 1, "belief": "Zoos.", "argument": "A new fool."}
        assert "that answer stays" in ask(studio.app, "POST", studio.path("ann"), changed).text
        assert studio.answer("bo", stance="counter").status == 303
        [record] = studio.records()
    assert (record["fooled"], len(record["tries"]), record["stance"]) == (True, 2, "counter")


def test_a_dialogue_has_at_most_100_triplets_of_words_inside_of_it(tmp_path):
    file, length = write(tmp_path / "t.jsonl", TALK), len(TEXT)
    edge = {**LINK, "head": [0, 1], "tail": [length - 1, length]}
    outside = [[-1, 1], [length - 1, length + 1], [5, 5], [6, 5], [4, 5]]  # the last is a space
    wrong = [[{**LINK, end: place}] for end in ("head", "tail") for place in outside]
    with studio_of(tmp_path / "s.db", "triplets", [file]) as studio:
        for links in ([LINK] * 101, [], *wrong):
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
    file, names = write(tmp_path / "t.jsonl", TALK), ["ann", *"bcde"]
    with studio_of(tmp_path / "s.db", "triplets", [file], names) as studio:
        studio.answer("ann", links=json.dumps([LINK]))
        for name, vote in zip("bcd", votes, strict=False):
            assert studio.answer(name, **vote).status == 303
        assert (studio.task("e")["task"] is None) == (
            len(votes) != 2 or votes[0]["valid"] == votes[1]["valid"]
        )
        [record] = studio.records()
    assert [(each["valid"], each["kind"]) for each in record["validated"]] == [(valid, kind)]
    assert len(record["triplets"]) == valid


@pytest.mark.parametrize(("refused", "correct"), [(2, True), (3, False)])
def test_a_graph_stays_as_it_is_after_three_rounds_of_verification(refused, correct, tmp_path):
    names = ("ann", "bo", "cy", "di", "eve")
    with studio_of(
        tmp_path / "s.db", "graphs", [write(tmp_path / "t.jsonl", SAMPLE)], names, judges=2
    ) as studio:
        wrote, seen = [], []

        def choose(name, task):
            if task["stage"] != "verify":
                wrote.append(name)
                return fields_of(FACTS)
            assert name not in wrote
            seen.append(name)
            last = ("support", "counter")[len(seen) % 2]  # nobody has a majority
            return {"verdict": last if len(seen) <= 2 * refused else "support"}

        studio.all_answer(choose)
        [record] = studio.records()
    assert (len(wrote), len(set(wrote)), len(seen)) == (3, 3, 6)
    assert [each["verdict"] for each in record["rounds"]] == ["incorrect"] * 2 + [
        "support" if correct else "incorrect"
    ]
    assert record["correct"] is correct


@pytest.mark.parametrize(("predicted", "fooled"), [
    (None, False), ("counter", False), ("support", True), ("neutral", True),
])  # fmt: skip
@pytest.mark.parametrize(("stances", "agreed"), [
    (("support", "support", "counter"), "support"), (("support", "counter", "neutral"), None),
    (("support", "counter"), None), (("neutral",), "neutral"),
])  # fmt: skip
def test_the_last_try_is_taken(predicted, fooled, stances, agreed, tmp_path):
    file = write(tmp_path / "t.jsonl", {"id": "t", "topic": "Zoos", "stance": "counter"})
    settings = {"judges": len(stances), "tries": 1}
    with studio_of(tmp_path / "s.db", "stance", [file], ["ann", *"bcd"], **settings) as studio:
        if predicted:
            studio.study.predict = lambda *_: predicted
        assert studio.answer("ann", belief="Zoos.", argument="No.").status == 303
        assert studio.task("ann")["task"] is None  # nobody checks their own
        for name, stance in zip("bcd", stances, strict=False):
            assert studio.answer(name, stance="maybe").status == 422
            assert studio.answer(name, stance=stance).status == 303
        [record] = studio.records()
    assert (record["fooled"], record["stance"], record["asked"]) == (fooled, agreed, "counter")


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
    good = "".join(f"({'; '.join(fact)})" for fact in FACTS)
    samples = [SAMPLE | {"id": name} for name in "abcd"]
    made = [{"id": "a", "stance": "support", "graph": good},
            {"id": "b", "stance": "counter", "graph": good},
            {"id": "c", "stance": "support", "graph": "(zoos; is a; thing)"}]  # fmt: skip
    file, given = write(tmp_path / "t.jsonl", *samples), write(tmp_path / "p.jsonl", *made)
    settings = {"judges": 2, "predictions": given}
    with studio_of(tmp_path / "s.db", "graphs", [file], ("ann", "bo"), **settings) as studio:
        assert SAMPLE["argument"] not in studio.page("ann")
        assert studio.all_answer(lambda *_: {"verdict": "incorrect"}) == 2  # and nothing is refined
        [record] = studio.records()
    assert (record["graph"], record["correct"]) == (good, False)
    assert record["rounds"][0]["verdicts"] == {"ann": "incorrect", "bo": "incorrect"}
    unknown = write(tmp_path / "u.jsonl", made[0] | {"id": "z"})
    refused("no sample 'z'", tmp_path / "u.db", "graphs", [file], predictions=unknown)


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
