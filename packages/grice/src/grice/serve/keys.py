"""Keys of an API: kept as hashes, compared in constant time, each with a rate of its own."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from typing import TYPE_CHECKING

from grice.errors import InputError, os_reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINE = re.compile(r"([\w.-]{1,64})\s+([0-9a-f]{64})")


def new_key() -> str:
    """Return a fresh key: 256 bits of chance, so that a plain hash of it cannot be guessed."""
    return f"grice-{secrets.token_urlsafe(32)}"


def key_line(name: str, key: str) -> str:
    """Return the line of a file of keys, which holds the hash of the key alone."""
    return f"{name} {_digest(key)}"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


class Keys:
    """The keys that a service takes.

    Args:
        digests: SHA-256 of each key by the name of its owner.
    """

    def __init__(self, digests: dict[str, str]) -> None:
        self._digests = digests

    def owner(self, key: str) -> str | None:
        """Return whose key it is; None if it is nobody's."""
        given = _digest(key)
        match = None
        for name, digest in self._digests.items():  # all of them: the time tells nothing
            if hmac.compare_digest(given, digest):
                match = name
        return match


def read_keys(path: Path) -> Keys:
    """Return the keys of a file with a line ``NAME SHA256`` for each.

    Raises:
        InputError: If the file cannot be read, a line is none, or there is no key.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {os_reason(error)}") from None
    digests: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = LINE.fullmatch(line.strip())
        if parts is None or parts[1] in digests:
            raise InputError(
                f"{path}:{number}: expected a new name and the SHA-256 of its key, as "
                "grice serve --new-key NAME prints them"
            )
        digests[parts[1]] = parts[2]
    if not digests:
        raise InputError(f"{path}: there is no key in it; grice serve --new-key NAME makes one")
    return Keys(digests)


class Rate:
    """How many requests a second each key may make; a second's worth may come at once."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, owner: str) -> float:
        """Take a request of a key; return 0, or the seconds until one may come if it may not."""
        if not self._per_second:
            return 0.0
        most = max(1.0, self._per_second)
        now = self._clock()
        left, since = self._left.get(owner, (most, now))
        left = min(most, left + (now - since) * self._per_second)
        self._left[owner] = (left - 1 if left >= 1 else left, now)
        return 0.0 if left >= 1 else (1 - left) / self._per_second
