"""Documentation that cannot rot: generated pages are current, examples run."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import grice
import grice.records
import grice.scoring.api
import grice.stats.clusters
import grice.text.script
from grice.cli import main
from grice.metrics.registry import find_metrics
from grice.testing import check_metric

DOCS = Path(__file__).parents[1] / "docs"


def generated_pages():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


@pytest.mark.parametrize("path", generated_pages(), ids=lambda path: path.name)
def test_generated_pages_are_current(path):
    assert path.read_text("utf-8") == generated_pages()[path], "run make docs"


@pytest.mark.parametrize(
    "module", [grice, grice.records, grice.scoring.api, grice.stats.clusters, grice.text.script]
)
def test_docstring_examples_run(module):
    assert doctest.testmod(module).failed == 0


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def test_the_plugin_of_the_documentation_is_a_metric(tmp_path):
    file = tmp_path / "calm.py"
    file.write_text(python_blocks(DOCS / "plugins.md")[0])
    check_metric(find_metrics([file]).named("calm"))


def test_the_snippet_of_the_readme_runs():
    for block in python_blocks(DOCS.parent / "README.md"):
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("command", ["score", "explain", "list", "cache"])
def test_every_command_has_a_help_text(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    help_text = capsys.readouterr().out
    assert "usage: grice" in help_text
    assert f"grice {command}" in (DOCS.parent / "README.md").read_text("utf-8")
