import json
import re

import pytest

from grice.cli import main
from grice_tasks.situatedgen.examples import halved, swapped
from grice_tasks.situatedgen.frames import Frames
from grice_tasks.situatedgen.models import with_contexts
from grice_tasks.situatedgen.recompose import Recomposer, Template
from grice_tasks.situatedgen.records import Entity, Question, Sample
from grice_tasks.situatedgen.statements import to_statements
from grice_tasks.situatedgen.words import match_keywords


@pytest.fixture(scope="module")
def context(exact_models):
    return exact_models.load("builtin:context")


@pytest.fixture(scope="module")
def contrast(exact_models):
    return exact_models.load("builtin:situated")


SENTENCES = ("The Eiffel Tower stands in Paris.", "Big Ben stands in London.")
PLACES = ((Entity("Paris", "GPE"),), (Entity("London", "GPE"),))
LANDMARKS = Sample("x", ("a",), (0,), SENTENCES, " ".join(SENTENCES), ("a", "b"), ("GEO",), PLACES)
KEYWORDS = ("Paris", "Big Ben", "London", "Eiffel Tower")


def test_the_tagger_finds_places_and_dates(context):
    text = "Barack Obama was born in Hawaii in 1961."
    tagged = context.tagger.find([text, "", "   "])
    entities = {(text[entity.start : entity.end], entity.label) for entity in tagged[0].entities}
    assert {("Hawaii", "GPE"), ("1961", "DATE")} <= entities
    assert tagged[1] == tagged[2] == ((), ())
    assert context.tagger.find([text]) == tagged[:1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("She lives in Atlanta Georgia.", {"Atlanta", "Georgia"}),
     ("The Golden Gate Bridge sprawls in the San Francisco skyline.", {"San Francisco"}),
     ("Papua New Guinea is in the southern hemisphere.", {"Papua New Guinea"})],
)  # fmt: skip
def test_listed_places_are_put_right(context, text, expected):
    entities = context.tagger.find([text])[0].entities
    places = {text[entity.start : entity.end] for entity in entities if entity.label == "GPE"}
    assert places == expected


def test_yes_no_questions_keep_their_subject_whole(context):
    asked = [Question("a", "Is the capital of France near Berlin?", False, "yes_no"),
             Question("b", "Could you buy coffee in Kenya?", True, "yes_no")]  # fmt: skip
    assert [statement.statement for statement in to_statements(asked, context.clauses)] == [
        "The capital of France is not near Berlin", "You could buy coffee in Kenya",
    ]  # fmt: skip


def test_a_pair_stands_above_its_exchange_and_a_list_of_words(contrast):
    texts = [LANDMARKS.reference, swapped(LANDMARKS)]
    own, other = contrast.judge.judge_outputs([LANDMARKS] * 2, texts)
    assert own.contrast > 0.5 > other.contrast
    assert own.contrast + other.contrast == pytest.approx(1, abs=0.05)
    words = "Paris Tower Eiffel stands. London Ben Big stands."
    texts = [LANDMARKS.reference, words, halved(KEYWORDS)]
    own, listed, cut = contrast.judge.judge_outputs([LANDMARKS] * 3, texts)
    assert own.fluency > listed.fluency
    assert own.plausibility > listed.plausibility
    assert cut.plausibility < 0.3


@pytest.mark.parametrize(
    ("output", "reason"),
    [("", "no two sentences"), ("The Eiffel Tower stands in Paris.", "no two sentences"),
     ("A tower stands here. A bell rings there.", "no two contexts"),
     ("Paris is in London. London is in Paris.", "no two contexts")],
)  # fmt: skip
def test_what_cannot_be_judged_says_why(contrast, output, reason):
    judgement = contrast.judge.judge_outputs([LANDMARKS], [output])[0]
    assert judgement.plausibility == 0
    assert judgement.reason.startswith(reason)


def test_contexts_of_samples_that_state_none(context):
    bare = Sample("bare", ("a",), (0,), LANDMARKS.statements)
    completed = with_contexts([bare, LANDMARKS], context.tagger)
    assert completed[0].entities == LANDMARKS.entities
    assert completed[0].context == ("GEO",)
    assert completed[1] == LANDMARKS


def test_the_baseline_uses_every_keyword_once(context, contrast):
    recomposer = contrast.recomposer(context.tagger)
    inputs = [KEYWORDS, ("July", "China", "winter", "Australia", "summer", "July"), ()]
    written = recomposer.generate(inputs)
    for keywords, text in zip(inputs[:2], written, strict=False):
        match = match_keywords(text, keywords, [0] * len(keywords))
        assert (match.coverage, match.sentences) == (1, 2)
    assert (written[2], recomposer.generate(inputs)) == ("", written)
    many = [f"word{i}" for i in range(14)]
    for unusual in (("Paris",), ("Paris", "London"), ("Paris",) * 3, many):
        (text,) = recomposer.generate([unusual])
        assert all(word.lower() in text.lower() for word in unusual)


def test_a_place_takes_its_article_with_it(context, contrast):
    folder = contrast.folder
    sentence, places = "The {} of the United States is large.", ("", "GEO")
    stated = [("Tourists love Chile.", ("Tourists", "Chile"))]
    stated += [(sentence.format(x), (x, "United States")) for x in ("population", "coffee")]
    templates = [Template(*each, places) for each in stated]
    recomposer = Recomposer(templates, Frames(folder.file("classes.txt.gz")),
                            folder.file("together.npz"), contrast.judge, context.tagger,
                            contrast.encoder)  # fmt: skip
    lines = [("population", "Canada", "coffee", "Brazil"),
             ("Tourists", "Netherlands", "coffee", "Kenya")]  # fmt: skip
    first, second = recomposer.generate(lines)
    assert re.search(r"The population of (Canada|Brazil) is large\.", first)
    assert "Tourists love the Netherlands." in second or "Tourists love Kenya." in second
    assert " the Kenya" not in second
    assert "of Netherlands" not in second


def test_the_weight_of_plausibility_moves_the_grouping(context, contrast):
    recomposer = contrast.recomposer(context.tagger)
    words = ("pizza", "Japan", "Italy", "sushi")
    groups = recomposer.group(words, weight=50.0)
    assert groups[0] == groups[2] != groups[1] == groups[3]
    assert recomposer.group(words, weight=-50.0) != groups


def test_generate_and_score_as_commands_and_samples_without_context_are_counted(tmp_path, capsys):
    file, outputs = tmp_path / "s.jsonl", tmp_path / "o.jsonl"
    row = {"keywords": KEYWORDS, "keywords_pos": [0, 1, 1, 0], "statements": LANDMARKS.statements}
    file.write_text(json.dumps(row) + "\n")
    assert main(["situatedgen", "generate", str(file)]) == 0
    outputs.write_text(capsys.readouterr().out)
    assert main(["situatedgen", "score", str(file), str(outputs), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [row for row in rows if (row.get("measure"), row["context"]) == ("plausibility", "ALL")]
    values = {row["row"]: row["value"] for row in rows}
    assert values["reference"] > values["swapped reference"]
    assert values["reference"] > values["halved keywords"]
    row = {"keywords": ["cats", "milk", "dogs", "bones"], "keywords_pos": [0, 0, 1, 1],
           "statements": ["Cats like milk.", "Dogs like bones."]}  # fmt: skip
    file.write_text(json.dumps(row) + "\n")
    outputs.write_text('{"id": "0", "output": "Cats like milk. Dogs like bones."}\n')
    assert main(["situatedgen", "score", str(file), str(outputs)]) == 0
    printed = capsys.readouterr()
    assert "1 of 1: no context in the input" in printed.err
    assert "ALL: 1 sample\n" in printed.out


def test_build_as_a_command(tmp_path, capsys):
    asked = [
        {"id": "q::a", "question": "In what month is it hot in Spain?", "answer": "July"},
        {"id": "q::b", "question": "In what month is it cold in Chile?", "answer": "July"},
        {"id": "q::c", "question": "In what month is it hot in Chile?", "answer": "January"},
        {"id": "q::d", "question": "Is the sky green?", "answer": False},
    ]
    questions, folder = tmp_path / "questions.jsonl", tmp_path / "built"
    questions.write_text("".join(f"{json.dumps(row)}\n" for row in asked), "utf-8")
    assert main(["situatedgen", "build", str(questions), "-o", str(folder), "--json"]) == 0
    known = {"statements with context": 3, "statement without context": 1,
             "pair refused: shared entity": 2, "pairs mined": 1}  # fmt: skip
    assert known.items() <= json.loads(capsys.readouterr().out)["counts"].items()
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    (made,) = map(json.loads, lines)
    assert made["ids"] == ["q::a", "q::c"]
    assert made["statements"][0] == "It is hot in Spain in July."
    sheet = (folder / "DATASHEET.md").read_text("utf-8")
    assert "MATCH of halved keywords" in sheet
    assert sum(line.startswith("| q") for line in sheet.splitlines()) == 1
