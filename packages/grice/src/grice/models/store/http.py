"""Files and pages of servers: addresses, passwords, redirects, and what went wrong."""

from __future__ import annotations

import base64
import http.client
import netrc
import os
import ssl
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from grice.errors import ModelError

if TYPE_CHECKING:
    from http.client import HTTPMessage, HTTPResponse

SECONDS = 60
"""How long a server may be silent."""
LONGEST_PAGE = 1 << 26
SCHEMES = ("https", "http", "file")
FAILURES = (URLError, http.client.HTTPException, OSError)
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
"""Variables that name certificates beside ``SSL_CERT_FILE``, which Python itself reads."""
NO_RANGE = 416
ABSENT = (404, 410)
BUSY = (408, 425, 429, 500, 502, 503, 504)
"""Status codes of servers that may answer the same request a little later."""
TRIES = 5
"""How often a file or a page is asked for in one run, if the server or the connection fails."""
WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""


class MissingError(ModelError):
    """A server says that it has no such file."""


class TransientError(ModelError):
    """A server or a connection that may work again: busy, silent, or broken off.

    Attributes:
        reason: Cause alone, without the address and without advice.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Remote(NamedTuple):
    """A file to be fetched.

    Attributes:
        url: Where it is: https, http or file; user and password in it are sent, and never shown.
        token: Sent to this server alone, as ``Bearer``; empty means none.
    """

    url: str
    name: str
    sha256: str = ""
    bytes: int | None = None
    token: str = ""


class Page(NamedTuple):
    """A page: its text, its media type, and where it lay in the end."""

    text: str
    type: str
    url: str


def open_remote(remote: Remote, *, start: int = 0, accept: str = "*/*") -> HTTPResponse:
    """Open a file to be read, from a byte on if the server can do that.

    A server that cannot, or has nothing behind that byte, sends everything: its answer has no
    status 206.

    Raises:
        MissingError: If it is not there.
        TransientError: If the server is busy or silent, or breaks off.
        ModelError: If it cannot be had.
    """
    scheme, host = urlsplit(remote.url)[:2]
    if scheme not in SCHEMES:
        raise ModelError(f"{redacted(remote.url)}: expected one of {', '.join(SCHEMES)}")
    # Packed on its way, the rest of a file could not be asked for.
    headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "grice"}
    if start:
        headers["Range"] = f"bytes={start}-"
    if authorization := _authorization(remote, host):
        headers["Authorization"] = authorization
    request = Request(redacted(remote.url), headers=headers)
    try:
        secure = [HTTPSHandler(context=_trusted())] if scheme == "https" else []
        opener = build_opener(_Redirects, *secure)
        return cast("HTTPResponse", opener.open(request, timeout=SECONDS))
    except FAILURES as error:
        if isinstance(error, HTTPError) and error.code == NO_RANGE and start:
            return open_remote(remote, accept=accept)
        raise _unreachable(remote.url, error) from error


def page(url: str, accept: str) -> Page:
    """Return a page of a package index; a server that is busy is asked again.

    Raises:
        MissingError: If there is no such page.
        ModelError: If it cannot be had.
    """
    for tried in range(TRIES - 1):
        try:
            return _page(url, accept)
        except TransientError:
            pause(tried)
    return _page(url, accept)


def pause(tried: int) -> None:
    """Wait before the next try, twice as long as before the last one."""
    time.sleep(WAIT * 2**tried)


def _page(url: str, accept: str) -> Page:
    with open_remote(Remote(url, url), accept=accept) as answer:
        try:
            content = answer.read(LONGEST_PAGE)
        except FAILURES as error:
            raise _unreachable(url, error) from error
        return Page(
            content.decode("utf-8", "replace"), answer.headers.get_content_type(), answer.url
        )


def _trusted() -> ssl.SSLContext:
    """Return what servers are believed by: the system's certificates, and a network's own."""
    context = ssl.create_default_context()
    for place in {os.environ.get(variable, "") for variable in CERTIFICATES}:
        if Path(place).is_file():
            context.load_verify_locations(cafile=place)
    return context


class _Redirects(HTTPRedirectHandler):
    """Follows to other servers without what was meant for the first, and never out of https."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        new, old = urlsplit(newurl), urlsplit(req.full_url)
        if old.scheme == "https" and new.scheme != "https":
            raise HTTPError(newurl, code, "redirected out of https", headers, fp)
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and new.netloc != old.netloc:
            request.remove_header("Authorization")
        return request


def _authorization(remote: Remote, host: str) -> str:
    if remote.token:
        return f"Bearer {remote.token}"
    user, at, _ = host.rpartition("@")
    if not at:
        with suppress(OSError, netrc.NetrcParseError):
            if login := netrc.netrc().authenticators(host.partition(":")[0]):
                user = f"{login[0]}:{login[2]}"
    return f"Basic {base64.b64encode(unquote(user).encode()).decode()}" if user else ""


def redacted(url: str) -> str:
    """Return a URL without the user and the password it may hold."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def broken(error: Exception) -> str:
    """Return why a connection gave nothing."""
    if isinstance(error, HTTPError):
        return f"HTTP {error.code} {error.reason}"
    return str(getattr(error, "reason", error)) or type(error).__name__


def _unreachable(url: str, error: Exception) -> ModelError:
    absent = isinstance(error, HTTPError) and error.code in ABSENT
    if absent or isinstance(getattr(error, "reason", None), FileNotFoundError):
        return MissingError(f"{redacted(url)}: is not there")
    message = (
        f"{redacted(url)}: cannot be fetched: {broken(error)}\n"
        "  Without a connection, fetch the file elsewhere: grice models get NAME --from FILE, or "
        "grice models add FOLDER;\n"
        "  or bring the model from another machine: grice models export, grice models import"
    )
    return TransientError(message, broken(error)) if _passes(error) else ModelError(message)


def _passes(error: Exception) -> bool:
    """Return whether the same request may succeed a little later."""
    if isinstance(error, HTTPError):
        return error.code in BUSY
    reason = getattr(error, "reason", error)
    return isinstance(reason, (TimeoutError, ConnectionResetError, http.client.IncompleteRead))
