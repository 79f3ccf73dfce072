"""Pipelines of explanation graphs run on the judges that ship."""

from __future__ import annotations

import pytest

from grice.models.models import Models
from grice.models.protocols import Generated
from grice_research.graphs.pipelines import StanceJudge, reasoning
from grice_tasks.explagraphs.features import Reading
from grice_tasks.explagraphs.graph import Graph
from grice_tasks.explagraphs.samples import Sample

BELIEF = "Zoos should be abolished."


ARGUMENT = "Animals in zoos live in small cages and suffer."


GOOD = "(zoos; has property; small cages)(small cages; causes; suffer)(suffer; causes; abolished)"


@pytest.fixture(scope="module")
def judges():
    models = Models(mode="exact", workers=1, cache=None)
    yield models.open("bundle:graphs")
    models.close()


def test_reasoning_runs_on_the_shipped_judges(judges):
    assert isinstance(judges, StanceJudge)

    class Fixed:
        identity = "fixed"

        def generate(self, prompts, *, count):
            return [(Generated(GOOD, 0.0),)[:count] for _ in prompts]

    (explained,) = reasoning([Sample("a", BELIEF, ARGUMENT)], Fixed(), judges)
    assert explained.graph == GOOD
    assert judges.stances_with_graphs([Reading(BELIEF, ARGUMENT, Graph(()))])
