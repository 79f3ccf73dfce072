"""Knowing when a stream has nothing to say, so that what came is answered before more comes."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.5
"""A stream that gives nothing for so long is silent."""


class SilenceError(Exception):
    """What failed while a stream was silent; it is no fault of the stream.

    Attributes:
        cause: The error itself.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Silence:
    """Calls back when a stream has nothing to give for a while, before it is waited for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._callback: Callable[[], None] | None = None

    def call(self, callback: Callable[[], None]) -> None:
        """Set what is called at each silence."""
        self._callback = callback

    def is_now(self) -> bool:
        """Return whether nothing comes for a while; false where nobody can tell."""
        try:
            return not select.select([self._descriptor], [], [], SECONDS)[0]
        except (OSError, ValueError):  # a platform that can wait for sockets alone
            return False

    def watch(self) -> None:
        """Call back if nothing comes for a while; to be asked before each wait.

        Raises:
            SilenceError: If what is called back cannot write, which readers would take for a
                stream that cannot be read.
        """
        if self._callback is None or not self.is_now():
            return
        try:
            self._callback()
        except OSError as error:
            raise SilenceError(error) from error
