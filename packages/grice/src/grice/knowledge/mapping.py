"""From the relations of one inventory to those of another, as data.

A mapping is a TOML file ``mappings/FROM-TO.toml``. Each relation of the first inventory stands in
it once: under ``mapped`` with the relation that says the same, or under ``dropped`` with the
reason why there is none.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from grice.errors import InputError

if TYPE_CHECKING:
    from grice.records import Triple


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of each relation of an inventory in another one.

    Attributes:
        mapped: The relation that says the same, by relation.
        dropped: Why there is none, by relation.
    """

    mapped: dict[str, str]
    dropped: dict[str, str]

    def renamed(self, triple: Triple) -> Triple | None:
        """Return a triple under the other inventory's relation; None if it has no such.

        Raises:
            InputError: If the relation is of neither kind.

        >>> from grice.records import Triple
        >>> mapping = find_mapping("cider", "atomic2020")
        >>> mapping.renamed(Triple("leave early", "ObstructedBy", "the meeting")).relation
        'HinderedBy'
        """
        if triple.relation in self.mapped:
            return msgspec.structs.replace(triple, relation=self.mapped[triple.relation])
        if triple.relation in self.dropped:
            return None
        raise InputError(f"no mapping of the relation {triple.relation!r}")


@cache
def find_mapping(source: str, target: str) -> Mapping | None:
    """Return the mapping between two shipped inventories; None if there is none."""
    path = files("grice.knowledge") / "mappings" / f"{source}-{target}.toml"
    if not path.is_file():
        return None
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Mapping)
