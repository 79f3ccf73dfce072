import pytest

from grice.cli import main
from grice.errors import InputError
from grice.models.loader import find_model_type
from grice_research.training.published.examples import _READERS, TrainingExample, in_order
from grice_research.training.published.recipes import recipes

GRAPH = "(c; is a; d)(b; is a; c)(a; is a; b)"


@pytest.mark.parametrize("recipe", recipes().values(), ids=lambda recipe: recipe.name)
def test_a_recipe_states_the_source_of_each_value_and_a_model_that_is_made(recipe):
    assert all(stated.source for stated in recipe.hyperparameters.values())
    assert recipe.name in _READERS
    assert find_model_type(recipe.kind, recipe.name).convert is not None
    assert (recipe.task == "classification") == bool(recipe.labels)


@pytest.mark.parametrize(
    ("change", "problem"),
    [("epoch=3", "did you mean 'epochs'"), ("epochs", "NAME=VALUE"),
     ("epochs=many", "hyper-parameters of accent"), ("batch=0", "are above 0"),
     ("schedule=round", "hyper-parameters of accent")],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        recipes()["accent"].values([change])


def test_facts_stand_in_topological_order_where_there_is_one():
    values = recipes()["explagraphs-reasoning"].values(["order=topological"])
    (example,) = in_order([TrainingExample("text", GRAPH, "belief")], values)
    assert example.target == "(a; is a; b)(b; is a; c)(c; is a; d)"
    circle = TrainingExample("text", "(a; is a; b)(b; is a; a)", "belief")
    assert len(in_order([circle, circle], values)) == 2


def test_a_training_without_a_checkpoint_names_that_of_the_paper(tmp_path, capsys):
    assert main(["train", "comet", str(tmp_path / "t.tsv"), "-o", str(tmp_path / "m")]) == 2
    assert "--from FOLDER; the paper starts from bart-large" in capsys.readouterr().err
