"""Metrics that a test makes: a plugin of one file."""

from pathlib import Path
from textwrap import indent

HEAD = """from grice.data import Judgement
from grice.metrics import Example, metric
"""
METRIC = """

@metric("{name}", version="1", summary="?", judges="response", source="-",
        example=Example(["a", "b"], 0.0, 1.0))
def {name}(responses{options}):
    '''{about}'''
"""


def write(
    path: Path, name: str, body: str, *, options: str = "", about: str = "Made for a test."
) -> str:
    """Add a metric of replies to a file of a plugin; ``body`` is what its function does."""
    before = path.read_text("utf-8") if path.exists() else HEAD
    head = METRIC.format(name=name, options=options and f", *, {options}", about=about)
    path.write_text(before + head + indent(body, "    ") + "\n", "utf-8")
    return str(path)
