import pytest

from grice.errors import ModelError
from grice_annotate.begin import stance_model
from stub_endpoint import StubEndpoint

BELIEF, ARGUMENT = "Zoos should be closed.", "Animals suffer in small cages."


def test_the_model_that_ships_says_a_stance():
    with stance_model("builtin:graphs") as predict:
        assert predict(BELIEF, ARGUMENT) in ("support", "counter")


@pytest.mark.enable_socket
def test_an_endpoint_is_asked_with_belief_and_argument_as_data(tmp_path, monkeypatch):
    monkeypatch.setenv("GRICE_CACHE", str(tmp_path))
    asked = []
    stub = StubEndpoint(lambda data: asked.append(data) or {"stance": "counter"})
    with stub, stance_model(stub.model) as predict:
        assert predict(BELIEF, ARGUMENT) == "counter"
    assert asked == [{"belief": BELIEF, "argument": ARGUMENT}]
    refused = pytest.raises(ModelError, match="the model gave no stance")
    with StubEndpoint(always="prose") as stub, stance_model(stub.model) as predict, refused:
        predict(BELIEF, ARGUMENT)
