"""All formats, found by going through the modules of this package, and choosing among them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING

from grice.errors import InputError, did_you_mean
from grice.formats._format import Format
from grice.formats._json import closed, samples

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMATS", "named", "recognise"]


def _find() -> Mapping[str, Format]:
    formats = {}
    for module in iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            form: Format = import_module(f"{__package__}.{module.name}").FORMAT
            formats[form.name] = form
    return MappingProxyType(dict(sorted(formats.items())))


FORMATS: Mapping[str, Format] = _find()
"""Every format by its name: one module of this package each."""

_SURE_ENOUGH = 0.3


def named(name: str) -> Format:
    """Return the format of a name.

    Raises:
        InputError: There is none of that name.
    """
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}{did_you_mean(name, FORMATS)}")
    return FORMATS[name]


def recognise(prefix: bytes, name: str) -> Format:
    """Return the format that is surest to read an input with these first bytes.

    Raises:
        InputError: None is sure enough.
    """
    best = max(FORMATS.values(), key=lambda form: form.sniff(prefix))
    if best.sniff(prefix) >= _SURE_ENOUGH:
        return best
    raise InputError(f"{name}: {_unknown(prefix)}")


def _unknown(prefix: bytes) -> str:
    if not prefix.strip():
        return "there is nothing but white space in it"
    if b"\0" in prefix:
        return "this is a binary file; conversations are text"
    objects = samples(prefix) or [closed(prefix)]
    while isinstance(objects, list) and objects and isinstance(objects[0], list):
        objects = objects[0]
    if objects and isinstance(objects[0], dict):
        fields = ", ".join(sorted(objects[0])[:12]) or "none"
        seen = f"JSON objects with the fields {fields}"
    else:
        line = prefix.strip().split(b"\n", 1)[0][:60]
        seen = f"text that begins {line.decode('utf-8', 'replace')!r}"
    return (
        f"no format recognised; found {seen}; "
        f"name its format (--format NAME, or format=NAME in Python), one of {', '.join(FORMATS)}"
    )
