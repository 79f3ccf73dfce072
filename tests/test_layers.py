"""What may import what, and what an import may cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from importlinter.cli import lint_imports

import grice

ROOT = Path(__file__).parents[1]
HEAVY = ("ctranslate2", "jinja2", "numpy", "rich", "scipy", "tokenizers", "torch", "transformers")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.splitlines()[-1].split())


def test_rooms_import_only_from_the_rooms_above_them():
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_import_loads_nothing_heavy():
    assert not loaded_by("import grice, grice.cli") & set(HEAVY)


def test_help_loads_nothing_heavy():
    help_text = "import grice.cli\ntry:\n grice.cli.main(['--help'])\nexcept SystemExit: pass"
    assert not loaded_by(help_text) & set(HEAVY)


def test_scoring_needs_no_torch():
    run = "import grice; grice.score(['Do you like tea?', 'I love tea.'])"
    assert not loaded_by(run) & {"torch", "transformers", "scipy"}


def test_every_public_name_is_there_and_sorted():
    assert grice.__all__ == sorted(grice.__all__)
    assert all(getattr(grice, name) is not None for name in grice.__all__)
    assert set(grice.__all__) <= set(dir(grice))
