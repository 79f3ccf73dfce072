from __future__ import annotations

import re
from pathlib import Path

from grice_tasks.explagraphs.samples import read_predictions, read_samples
from grice_tasks.explagraphs.scores import score_table

PAGE = Path(__file__).parents[4] / "docs" / "explagraphs.md"


def test_the_snippet_of_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})
    assert "did you mean 'causes'" in capsys.readouterr().out


def test_the_figures_of_the_page_are_those_of_its_command(graphs_folder):
    samples = read_samples(graphs_folder / "dev.jsonl.gz")
    predictions = read_predictions(graphs_folder / "pred_maxmargin_dev.jsonl.gz")
    system, nonsense, *_ = score_table(samples, predictions, likeness={})
    page = " ".join(PAGE.read_text("utf-8").split())
    mine, chain = (
        [f"{row.measures[name].value:.3f}" for name in ("stca", "ged")]
        for row in (system, nonsense)
    )
    assert f"`stca` {chain[0]} and `ged` {chain[1]}, the predictions themselves" in page
    assert f"themselves {mine[0]} and {mine[1]} " in page
