"""Makes ``situated-medium``: examples of contrasting sentences and of statements.

    python -m grice_research.recipes.language_model_places.situated

SituatedGen's training part may not ship, so these were written for this project. Nothing is fitted.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from grice.files import write_lines
from grice.models.bundle import write_card
from grice.records import json_line
from grice_research.recipes.language_model_places.options import options_of
from grice_tasks.situatedgen.language_model import Solved
from grice_tasks.situatedgen.records import Question, Sample

Form: TypeAlias = Literal["choice", "yes_no"]

NAME = "situated-medium"
COMMAND = "python -m grice_research.recipes.language_model_places.situated"
PAIRS = (
    (
        ("December", "Kenya", "sun", "Norway", "hours", "December"),
        (1, 1, 0, 0, 1, 0),
        "In the north of Norway the sun does not rise in December.",
        "In Kenya December has twelve hours of light.",
    ),
    (
        ("France", "right", "Japan", "left", "road", "cars"),
        (1, 1, 0, 0, 0, 1),
        "In Japan people drive on the left side of the road.",
        "In France cars keep to the right.",
    ),
    (
        ("London", "horses", "today", "trains", "1850"),
        (1, 0, 1, 1, 0),
        "In 1850 most people travelled by carriages that horses pulled.",
        "In London most people travel by trains today.",
    ),
    (
        ("October", "Canada", "Thanksgiving", "United States", "November", "Thanksgiving"),
        (1, 1, 0, 0, 0, 1),
        "Thanksgiving is celebrated in November in the United States.",
        "Thanksgiving is celebrated in October in Canada.",
    ),
)
"""Keywords, the sentence of each, and both sentences."""
QUESTIONS: tuple[tuple[str, bool | str, Form, str], ...] = (
    (
        "Where do penguins live in the wild?",
        "Antarctica",
        "choice",
        "Penguins live in the wild in Antarctica.",
    ),
    ("Is it winter in Chile in July?", True, "yes_no", "It is winter in Chile in July."),
    (
        "Did people have smartphones in 1950?",
        False,
        "yes_no",
        "People did not have smartphones in 1950.",
    ),
    (
        "What do many people in England drink in the afternoon?",
        "tea",
        "choice",
        "Many people in England drink tea in the afternoon.",
    ),
    (
        "Would a farmer in Norway grow bananas outside?",
        False,
        "yes_no",
        "A farmer in Norway would not grow bananas outside.",
    ),
)
"""Question, answer, form and statement."""


def main() -> None:
    made = options_of(__doc__, NAME)
    samples = [
        Sample(str(number), words, belongs, (first, second))
        for number, (words, belongs, first, second) in enumerate(PAIRS)
    ]
    solved = [
        Solved(Question(str(number), question, answer, form), statement)
        for number, (question, answer, form, statement) in enumerate(QUESTIONS)
    ]
    write_lines(made.folder / "pairs.jsonl", [json_line(each) + b"\n" for each in samples])
    write_lines(made.folder / "questions.jsonl", [json_line(each) + b"\n" for each in solved])
    facts = {
        "name": made.name,
        "kind": "language-model-situated",
        "version": "1",
        "summary": f"Contrasting sentences and statements by {made.base} after a few examples",
        "licence": "Apache-2.0",
        "inputs": "keywords, or a question with its answer",
        "outputs": "two sentences, or a statement",
    }
    training = {"data": ["examples written for this project (Apache-2.0)"], "command": COMMAND}
    write_card(
        made.folder,
        facts,
        training,
        {"base": made.base},
        files=["pairs.jsonl", "questions.jsonl"],
    )


if __name__ == "__main__":
    main()
