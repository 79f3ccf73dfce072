from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import grice_tasks.cider


@pytest.mark.parametrize(
    "name", [module.name for module in iter_modules(grice_tasks.cider.__path__)]
)
def test_examples_of_the_docstrings_run(name):
    assert doctest.testmod(import_module(f"grice_tasks.cider.{name}")).failed == 0
