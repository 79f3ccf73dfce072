"""A mirror on this machine, of a package index and of Hugging Face, that tests fill and disturb."""

from __future__ import annotations

import hashlib
import io
import sys
import threading
import types
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = Random(0).randbytes(1_000_000)
"""What no compression makes smaller."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel_of(
    weights: bytes, *, name: str = "tiny_model", packing: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a wheel with a model in it."""
    about = f"{name}-1.0.dist-info"
    stated = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("tiny_model/tiny.gguf"), weights, packing)
        for file, content in stated.items():
            archive.writestr(zipfile.ZipInfo(f"{about}/{file}"), content)
    return packed.getvalue()


WHEEL = wheel_of(WEIGHTS)
FILE = "tiny_model-1.0-py3-none-any.whl"

INDEX = """
[tiny]
title = "tiny-model"
summary = "A model of a few numbers"
kind = "causal-lm"
family = "llama"
licence = "{licence}"
training = "nothing"
settings = {{ max_tokens = 64 }}

[tiny.source]
type = "package"
package = "tiny.model"
version = "1.0"
file = "{file}"
sha256 = "{wheel}"
bytes = {length}
member = "tiny_model/tiny.gguf"
member_sha256 = "{weights}"
member_bytes = {weights_length}

[hub]
title = "hub-model"
summary = "A model of a repository"
kind = "causal-lm"
family = "llama"
licence = "Apache-2.0"
training = "nothing"

[hub.source]
type = "hf"
repo = "Team/Tiny"
commit = "{commit}"
files = [
  {{ path = "config.json", sha256 = "{config}", bytes = 2 }},
  {{ path = "model.safetensors", sha256 = "{weights}", bytes = {weights_length} }},
]

[prepared]
title = "prepared"
summary = "A model of which nobody knows the commit"
kind = "causal-lm"
family = "llama"
licence = "Apache-2.0"
training = "nothing"
source = {{ type = "hf", repo = "Team/Tiny" }}
"""


def index(*, licence: str = "Apache-2.0", wheel: bytes = WHEEL, weights: bytes = WEIGHTS) -> str:
    """Return an index of models, as a user may keep one."""
    return INDEX.format(
        licence=licence,
        file=FILE,
        wheel=sha256(wheel),
        length=len(wheel),
        weights=sha256(weights),
        weights_length=len(weights),
        config=sha256(b"{}"),
        commit=COMMIT,
    )


class Mirror:
    """Files by their path, and how the server disturbs whoever fetches them.

    Attributes:
        files: What it serves.
        types: Media types of files that are no HTML.
        cut: Bytes of one answer after which it breaks off; None sends all.
        ranges: Whether it can send the rest of a file.
        busy: By path, how many requests are answered with status 503 before it is served.
        asked: What was asked for: path and the header ``Range``.
        headers: The headers of every request.
    """

    def __init__(self) -> None:
        page = f'<!DOCTYPE html><a href="../../files/{FILE}">{FILE}</a>'
        repository = f"/Team/Tiny/resolve/{COMMIT}"
        self.files = {
            "/simple/tiny-model/": page.encode(),
            f"/files/{FILE}": WHEEL,
            f"{repository}/config.json": b"{}",
            f"{repository}/tokenizer.json": b"{}",
            f"{repository}/model.safetensors": WEIGHTS,
        }
        self.types: dict[str, str] = {}
        self.cut: int | None = None
        self.ranges = True
        self.busy: dict[str, int] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.answer(self)

            def do_HEAD(self) -> None:
                mirror.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fetched(self, name: str) -> list[str]:
        """Return the ranges that were asked for of a file, by the end of its path."""
        return [ranged for path, ranged in self.asked if path.endswith(name)]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        ranged = handler.headers.get("Range", "")
        self.asked.append((handler.path, ranged))
        self.headers.append(dict(handler.headers.items()))
        content = self.files.get(handler.path)
        if self.busy.get(handler.path, 0):
            self.busy[handler.path] -= 1
            handler.send_error(503)
            return
        if content is None:
            handler.send_response(404)
            handler.send_header("X-Error-Code", "EntryNotFound")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        start = int(ranged.removeprefix("bytes=").rstrip("-")) if ranged and self.ranges else 0
        if start >= len(content) > 0 and start:
            handler.send_error(416)
            return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Type", self.types.get(handler.path, "text/html"))
        handler.send_header("Content-Length", str(len(content) - start))
        handler.send_header("ETag", f'"{sha256(content)}"')
        handler.send_header("X-Repo-Commit", COMMIT)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.end_headers()
        if handler.command == "HEAD":
            return
        handler.wfile.write(content[start : None if self.cut is None else start + self.cut])


def convert(source: Path, target: Path) -> types.SimpleNamespace:
    """Stand in for the conversion: what it writes says what it was made of."""
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    made = "".join(f"{file.name} {sha256(file.read_bytes())}\n" for file in files)
    (target / "model.bin").write_text(made)
    (target / "tokenizer.json").write_text("{}")
    return types.SimpleNamespace(positions=2048)


def stand_in() -> types.ModuleType:
    """Return the module of the conversion, with :func:`convert` in it."""
    module = types.ModuleType("grice.models.conversion")
    module.convert = convert  # type: ignore[attr-defined]
    module.convert_states = None  # type: ignore[attr-defined]
    return module


if __name__ == "__main__":
    sys.modules["grice.models.conversion"] = stand_in()
    from grice.cli import main

    sys.exit(main())
