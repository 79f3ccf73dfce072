"""Run a step of the recipe: ``python -m grice_research.recipes.situated STEP``.

Steps in their order: gazetteer, label (three times), label_questions, tag, clauses, facts,
encode, fit, fluency, group, templates, classes, pack.
"""

from importlib import import_module
from pathlib import Path

from grice_research.recipes.common import parser_of

MODULES = {
    "lists": ("gazetteer", "classes"),
    "context": ("label", "label_questions", "tag", "clauses"),
    "contrast": ("facts", "encode", "fit", "fluency", "group", "templates"),
    "pack": ("pack",),
}
STEPS = {step: module for module, steps in MODULES.items() for step in steps}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("step", choices=tuple(STEPS))
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--model", default="en_core_web_sm", help="a spaCy model: name or folder")
    parser.add_argument("--beside", choices=("second", "third"), help="label once more")
    options = parser.parse_args()
    module = import_module(f"grice_research.recipes.situated.{STEPS[options.step]}")
    getattr(module, options.step)(options)


if __name__ == "__main__":
    main()
