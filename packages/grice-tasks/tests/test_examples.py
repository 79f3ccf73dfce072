from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

import grice_tasks

NAMES = [module.name for module in walk_packages(grice_tasks.__path__, "grice_tasks.")]


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_docstrings_run(name):
    assert doctest.testmod(import_module(name)).failed == 0
