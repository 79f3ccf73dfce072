"""Ids that are unique within one input, remembered in 16 to 32 bytes each."""

from __future__ import annotations

from array import array
from hashlib import blake2b


class Ids:
    """Gives the second record of the name ``x`` the name ``x#2``, the third ``x#3``.

    Only 64-bit hashes are kept, in an open table: an input of ten million records costs some
    0.25 GB, a third of what a set of them would take. Two different ids of such an input meet
    in one hash with a chance of 1 in 400,000, and then one merely gets a needless ``#2``.
    """

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 1024))
        self._count = 0
        self._repeats: dict[int, int] = {}

    def unique(self, name: str) -> str:
        """Return the name, or the name with a number behind it if it was given before."""
        key = _hash(name)
        if self._add(key):
            return name
        number = self._repeats.get(key, 1)
        while True:
            number += 1
            numbered = f"{name}#{number}"
            if self._add(_hash(numbered)):
                self._repeats[key] = number
                return numbered

    def _add(self, key: int) -> bool:
        """Return whether the key is new."""
        if not _insert(self._table, key):
            return False
        self._count += 1
        if 2 * self._count > len(self._table):
            table = array("Q", bytes(8 * 2 * len(self._table)))
            for old in self._table:
                if old:
                    _insert(table, old)
            self._table = table
        return True


def _insert(table: array[int], key: int) -> bool:
    mask = len(table) - 1
    slot = key & mask
    while taken := table[slot]:
        if taken == key:
            return False
        slot = (slot + 1) & mask
    table[slot] = key
    return True


def _hash(name: str) -> int:
    # Never 0, which marks a free slot.
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
