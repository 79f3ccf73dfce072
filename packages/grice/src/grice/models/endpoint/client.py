"""One request to a server, and what came of it: the wire, without repetitions."""

from __future__ import annotations

import os
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from grice.errors import StoppedError, shortened

if TYPE_CHECKING:
    from grice.models.endpoint.usage import ClientOptions
    from grice.records import Json

KEY, OPENAI_KEY, OPENAI_HOST = "GRICE_OPENAI_KEY", "OPENAI_API_KEY", "api.openai.com"
"""The key of whatever endpoint is named; that of OpenAI is sent to its own host alone."""

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a server that may well answer later."""
WRONG_FOR_ALL = {
    401: f"it wants another key: set {KEY}",
    402: "it wants to be paid",
    403: f"it does not let this key in: set {KEY}",
    404: "there is no such model or address: the reference is openai:MODEL@URL, with a URL such "
    "as http://localhost:8000/v1",
}
"""What no request can mend, by status."""
LONGEST_ANSWER = 1 << 22
"""Bytes of an answer that are read."""


class TransientError(Exception):
    """A server cannot answer now.

    Attributes:
        wait: Seconds that the server asks for; None if it does not say.
    """

    def __init__(
        self,
        reason: str,
        *,
        wait: float | None = None,
        unreachable: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason, self.wait, self.unreachable = reason, wait, unreachable


class RefusedError(Exception):
    """A server does not take this request; others it may take."""


class Client:
    """Sends requests to one address, over connections that stay open."""

    def __init__(self, url: str, terms: ClientOptions) -> None:
        import httpx2  # here, not above: naming an endpoint needs none

        self.url = url
        self._errors = (httpx2.ConnectError, httpx2.TimeoutException, httpx2.HTTPError)
        limits = httpx2.Limits(
            max_connections=terms.concurrency, max_keepalive_connections=terms.concurrency
        )
        headers = {"User-Agent": "grice"}
        self._key = _key(url)
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # Redirects are not followed: what is judged goes to the address that was named.
        # Certificates are loaded where there are some to check: that takes a tenth of a second.
        self._client = httpx2.Client(
            verify=url.startswith("https:"),
            timeout=httpx2.Timeout(terms.timeout),
            limits=limits,
            headers=headers,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def redacted(self, text: str) -> str:
        """Return a text of the server without the key, which it may repeat."""
        return text.replace(self._key, "[key]") if self._key else text

    def post(self, path: str, body: dict[str, Json]) -> bytes:
        """Send a request and return the body of the answer."""
        no_connection, silent, other = self._errors
        try:
            answer = self._client.post(
                f"{self.url}/{path}",
                content=msgspec.json.encode(_sendable(body)),
                headers={"Content-Type": "application/json"},
            )
        except silent:
            raise TransientError("no answer in time") from None
        except no_connection as error:
            raise TransientError(f"no connection: {error}", unreachable=True) from None
        except other as error:
            reason = f"connection broken: {type(error).__name__}"
            raise TransientError(reason) from None
        if answer.status_code == 200:
            return answer.content[:LONGEST_ANSWER]
        what = f"HTTP {answer.status_code}"
        if answer.status_code in BUSY:
            raise TransientError(what, wait=_seconds(answer.headers.get("Retry-After")))
        message = shortened(self.redacted(_message(answer.content)), 300)
        if advice := WRONG_FOR_ALL.get(answer.status_code):
            raise StoppedError(f"{self.url}: {what}: {message or advice}; {advice}")
        raise RefusedError(f"{what}: {message}".rstrip(": "))


def _key(url: str) -> str:
    own = os.environ.get(KEY, "")
    if not own and urlsplit(url).hostname == OPENAI_HOST:
        return os.environ.get(OPENAI_KEY, "")
    return own


def _sendable(value: Json) -> Json:
    """Return JSON without lone surrogates, which no encoding takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _sendable(part) for name, part in value.items()}
    return list(map(_sendable, value)) if isinstance(value, list) else value


def _seconds(stated: str | None) -> float | None:
    """Return the seconds of a ``Retry-After``, which may be a date."""
    if stated is None:
        return None
    if stated.strip().isdecimal():
        return float(stated)
    try:
        return max(0.0, parsedate_to_datetime(stated).timestamp() - time())
    except ValueError:
        return None


class _Error(msgspec.Struct):
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _Error | str = ""
    message: str = ""


def _message(content: bytes) -> str:
    """Return what a server says is wrong, in whichever of the usual shapes."""
    try:
        body = msgspec.json.decode(content[:LONGEST_ANSWER], type=_ErrorBody)
    except (msgspec.DecodeError, RecursionError):
        return " ".join(content[:300].decode("utf-8", "replace").split())
    return (body.error if isinstance(body.error, str) else body.error.message) or body.message
