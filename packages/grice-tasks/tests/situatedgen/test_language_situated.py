from __future__ import annotations

import json

import pytest

from grice.cli import main
from grice.errors import ModelError
from grice.models.models import Models
from grice.models.protocols import Generated
from grice_tasks.situatedgen.language_model import LanguageModelSituated, Solved
from grice_tasks.situatedgen.protocols import SituatedWriter, Written
from grice_tasks.situatedgen.records import Question, Sample
from tiny_decoder import write, write_place

SHOWN = Sample("0", ("sun", "rain"), (0, 1), ("The sun shines.", "The rain falls."))
SOLVED = Solved(Question("0", "Is it hot?", True, "yes_no"), "It is hot.")
TELEVISION = Question("q", "Did people in 1700 watch television?", False, "yes_no")
SUSHI = Question("s", "Where do people eat sushi?", "Japan")


class Scripted:
    """A language model that writes what it is told."""

    identity = "scripted"

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def generate(self, prompts, *, count=1, shown="", stop="\n", max_tokens=64):
        self.asked += [(count, shown, prompt) for prompt in prompts]
        return [tuple(Generated(text, -1.0) for text in self.texts[:count]) for _ in prompts]


def writer_of(*texts):
    model = Scripted(*texts)
    return LanguageModelSituated(model, [SHOWN], [SOLVED], "tiny"), model


def stated(*texts, question=TELEVISION):
    return [each.statement for each in writer_of(*texts)[0].statements([question])]


def test_it_writes_what_what_ships_writes():
    assert isinstance(writer_of()[0], SituatedWriter)
    text = "July is hot in Spain. July is cold in Chile."
    empty, written = writer_of(text)[0].generate([[], ["July", "Spain", "Chile"]])
    assert (empty.text, empty.valid) == ("", False)
    assert written == Written(text)
    assert written.valid


def test_of_answers_that_are_not_what_was_asked_for_the_best_one_says_what_it_lacks():
    writer, _ = writer_of("It is hot.", "July is hot in Spain.", "Spain.", "Chile.")
    (written,) = writer.generate([["July", "Spain", "Chile"]])
    assert written.text == "July is hot in Spain."
    assert written.lacks == ("the keyword 'Chile'", "two sentences: it has 1")
    assert written.attempts == 4
    assert not written.valid


def test_a_question_is_asked_behind_solved_ones():
    writer, model = writer_of("People did not watch television in 1700.")
    (statement,) = writer.statements([TELEVISION])
    assert statement.id == "q"
    ((count, shown, prompt),) = model.asked
    assert (count, shown) == (1, "Question: Is it hot?\nAnswer: yes\nStatement: It is hot.\n\n")
    assert prompt.endswith("watch television?\nAnswer: no\nStatement:")


def test_a_statement_is_one_sentence_with_the_answer_and_no_foreign_words():
    assert stated("People eat sushi in Japan.", question=SUSHI) == ["People eat sushi in Japan."]
    for text in ("People eat sushi.", "Where do people eat sushi in Japan?", "", "Japan. Sushi.",
                 "Japan is a large country with many old temples."):  # fmt: skip
        assert stated(text, question=SUSHI) == []


def test_further_answers_are_looked_at():
    good = "People in 1700 did not watch television."
    assert stated("No.", "Television was invented by Baird and others.", good) == [good]


def test_questions_of_one_name_keep_their_own_statements():
    texts = {
        "sushi": "People eat sushi in Japan.",
        "television": "People watch television in Rome.",
    }
    writer, model = writer_of()
    model.generate = lambda prompts, **_: [
        (Generated(next(text for word, text in texts.items() if word in prompt), -1.0),)
        for prompt in prompts
    ]
    asked = [SUSHI, Question("s", "Where do people watch television?", "Rome")]
    assert [each.statement for each in writer.statements(asked)] == list(texts.values())


def test_claims_hold_as_they_are_and_are_not_asked():
    writer, model = writer_of("anything")
    claims = [Question("a", "July is hot.", True, "claim"), Question("b", "No.", False, "claim")]
    assert [each.id for each in writer.statements(claims)] == ["a"]
    assert not model.asked


def test_the_command_takes_a_bundle_or_a_language_model_by_itself(tmp_path, capsys):
    base = write(tmp_path / "tiny", max_tokens=400)
    files = {
        "pairs_jsonl": json.dumps({"id": "0", "keywords": ["eat"], "keywords_pos": [0],
                                   "statements": ["i eat", "i sleep"]}) + "\n",
        "questions_jsonl": json.dumps({"question": {"id": "0", "question": "eat?",
                                                    "answer": "bread"},
                                       "statement": "i eat bread"}) + "\n",
    }  # fmt: skip
    place = write_place(tmp_path / "place", "language-model-situated", base, "", **files)
    given = tmp_path / "keywords.jsonl"
    given.write_text('{"id": "k", "keywords": ["eat", "sleep"]}\n')
    for reference in (f"file:{place}", f"file:{base}"):
        assert main(["situatedgen", "generate", str(given), "--model", reference]) == 0
        printed = capsys.readouterr()
        line = json.loads(printed.out)
        assert line["id"] == "k"
        # Random weights write no two sentences with both keywords.
        assert line["valid"] is False
        assert line["reason"].startswith("lacks ")
        assert "1 text not what was asked for" in printed.err


def test_a_model_of_another_kind_is_named():
    with (
        Models(mode="fast", workers=1, cache=None) as models,
        pytest.raises(ModelError, match="where a SituatedWriter is needed"),
    ):
        models.open_in_place("bundle:encoder", "bundle:situated-medium", SituatedWriter)
