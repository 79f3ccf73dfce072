from __future__ import annotations

from typing import Literal

import pytest

from grice.cli import main
from grice.data import Judgement
from grice.errors import MetricError
from grice.metrics import Count, Example, Fraction, metric
from grice.metrics.declaration import find_metrics


def declare(function, name="mine", **declaration):
    stated = {"version": "1", "summary": "Mine.", "judges": "response", "source": "none"}
    return metric(name, **stated, example=Example(["a", "b"], 0.0, 1.0), **declaration)(function)


def judged(responses, *, size: int = 3, bias: float = 0.5, how: Literal["min", "max"] = "min"):
    """Return nothing of worth.

    Args:
        size: How many
            there are.
        how: Which one.
    """
    return [Judgement(0.5) for _ in responses]


def test_options_come_from_the_signature_and_the_docstring():
    size, bias, how = declare(judged).options
    assert (size.name, size.type, size.default) == ("size", "int", 3)
    assert size.help == "How many there are."
    assert (bias.type, bias.help) == ("float", "")
    assert (how.choices, how.default, how.help) == (("min", "max"), "min", "Which one.")


@pytest.mark.parametrize(("option", "value"), [
    ("size", "many"), ("size", 1.5), ("size", True), ("how", "mean"), ("bias", None),
])  # fmt: skip
def test_an_option_refuses_what_it_is_not(option, value):
    options = {known.name: known for known in declare(judged).options}
    with pytest.raises(MetricError, match=f"mine: option '{option}' is"):
        options[option].check(value, "mine")


def no_default(responses, *, size: int):
    return []


def odd_type(responses, *, sizes: list = ()):  # type: ignore[assignment]
    return []


@pytest.mark.parametrize(("function", "declaration", "message"), [
    (no_default, {}, "needs a default"), (odd_type, {}, "an option is int, float, str"),
    (judged, {"models": {"encoder": "builtin:encoder"}}, "the function has no such"),
    (judged, {"neutral": 2.0}, "neutral value 2.0 lies outside"),
    (judged, {"name": "My Metric"}, "lower-case letters"),
])  # fmt: skip
def test_a_contradictory_declaration_is_refused(function, declaration, message):
    with pytest.raises(MetricError, match=message):
        declare(function, **declaration)


def bounded(responses, *, often: Count = 2, part: Fraction = 0.5, amount: float = 0.0):
    return []


def unquoted(responses, *, often: int = 2, part: float = 0.5, amount: float = 0.0):
    return []


unquoted.__annotations__ |= {"often": Count, "part": Fraction}


@pytest.mark.parametrize("function", [bounded, unquoted])
@pytest.mark.parametrize(("option", "value", "message"), [
    ("often", 0, "'often' is 1 or more, not 0"), ("often", "-3", "'often' is 1 or more, not '-3'"),
    ("part", 1.5, "'part' is 0 to 1, not 1.5"), ("part", "nan", "'part' is 0 to 1, not 'nan'"),
])  # fmt: skip
def test_an_option_refuses_what_is_out_of_its_range(function, option, value, message):
    options = {known.name: known for known in declare(function).options}
    with pytest.raises(MetricError, match=message):
        options[option].check(value, "mine")
    assert (options["often"].check("7", "mine"), options["part"].check(1, "mine")) == (7, 1.0)
    assert options["amount"].check(-5, "mine") == -5.0


def test_list_says_what_a_metric_and_its_options_are(capsys):
    assert main(["list", "relevance"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "Does this reply answer what was said?" in page
    assert "Number of turns before the reply that are used. 1 or more." in page
    assert "--relevance-model (default builtin:relevance): a model" in page


def test_every_option_of_every_metric_is_described():
    options = [(each.name, option) for each in find_metrics().metrics.values()
               for option in each.options]  # fmt: skip
    assert [f"{name}: {option.name}" for name, option in options if not option.help] == []
    assert len(options) > 15
