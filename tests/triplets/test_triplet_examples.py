from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import grice.triplets


@pytest.mark.parametrize("name", [module.name for module in iter_modules(grice.triplets.__path__)])
def test_examples_of_the_docstrings_run(name):
    assert doctest.testmod(import_module(f"grice.triplets.{name}")).failed == 0
