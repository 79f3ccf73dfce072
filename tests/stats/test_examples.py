from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import grice.stats

MODULES = [module.name for module in pkgutil.iter_modules(grice.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    assert not doctest.testmod(importlib.import_module(f"grice.stats.{name}")).failed
