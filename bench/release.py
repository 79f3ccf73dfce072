"""Build every distribution twice, compare, install and try, and say what the files are made of.

Needs ``pip install build twine cyclonedx-bom``; ``make release`` brings them::

    python bench/release.py dist
    python bench/release.py dist --python python3.12 --python python3.13

The files are installed from an index on this machine into an empty environment of each Python,
and :data:`FIRST_SCREEN` is run there: what a newcomer types first. Written are wheels and sdists;
``sbom.json`` (CycloneDX) of grice and grice-models installed alone, with their dependencies;
``provenance.json``: commit, tree, tools and hashes; ``SHA256SUMS``.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST = {"grice": 2_000_000, "grice_models": 95_000_000}
"""Bytes that the wheels which ``pip install grice`` brings may have."""
TOOLS = ("build", "twine", "cyclonedx-bom")
FIRST_SCREEN = (
    ("--version", 0), ("demo", 0), ("check examples", 1),
    ("score examples/charity.txt -o out.jsonl", 0), ("doctor -m log_length,relevance", 0),
)  # fmt: skip
"""Commands and the exit status of each; one that this version does not have is left out."""


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def built(folder: Path, commit: str) -> list[Path]:
    """Return the wheels and sdists of a commit, made in a folder of its own."""
    source, out = folder / "source", folder / "dist"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=source, check=True)
    # The time of the commit stands in the archives, whenever they are made.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct", commit)}
    for project in sorted((source / "packages").iterdir()):
        words = [sys.executable, "-m", "build", "--outdir", str(out), str(project)]
        subprocess.run(words, check=True, env=environment, capture_output=True)
    return sorted(out.iterdir())


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def index(files: list[Path], folder: Path) -> str:
    """Write an index of packages on this machine, and return its URL."""
    for file in files:
        name = (
            file.name.partition("-")[0] if file.suffix == ".whl" else file.name.rpartition("-")[0]
        )
        place = folder / name.replace("_", "-")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
        with (place / "index.html").open("a", encoding="utf-8") as page:
            page.write(
                f'<a href="{html.escape(file.name)}#sha256={digest(file)}">{file.name}</a>\n'
            )
    return folder.as_uri()


def environment(python: str, folder: Path, url: str, *packages: str) -> Path:
    """Install packages of the index into an empty environment; return its programs."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    known = subprocess.run([*pip, "config", "get", "global.extra-index-url"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    extra = [url, *known.stdout.split(), *os.environ.get("PIP_EXTRA_INDEX_URL", "").split()]
    settings = {**os.environ, "PIP_EXTRA_INDEX_URL": " ".join(extra)}
    subprocess.run([*pip, "install", "--no-cache-dir", *packages], check=True, env=settings)
    return programs


def first_screen(programs: Path, folder: Path, examples: Path) -> None:
    """Run what a newcomer types first, in a folder with the examples and without a home."""
    shutil.copytree(examples, folder / "examples")
    home = {"HOME": str(folder), "PATH": f"{programs}:/usr/bin:/bin", "COLUMNS": "80"}
    for words, expected in FIRST_SCREEN:
        command = [str(programs / "grice"), *words.split()]
        start = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, env=home, capture_output=True, text=True, check=False
        )
        if done.returncode != expected and "did you mean" in done.stderr and " " not in words:
            continue  # a command of another version
        seconds = time.monotonic() - start
        print(f"{seconds:6.1f} s  {done.returncode}  grice {words}")
        if done.returncode != expected:
            raise SystemExit(
                f"grice {words}: status {done.returncode}, not {expected}\n{done.stderr}"
            )


def bill(wheels: list[Path], folder: Path) -> dict[str, object]:
    """Return the bill of materials of wheels that are installed alone."""
    place = folder / "installed"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *map(str, wheels)], check=True)
    words = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", python]
    shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    parts: dict[str, object] = json.loads(shown)
    return parts


def licences() -> dict[str, dict[str, object]]:
    """Return the licence and the data of each model that ships, as its card has them."""
    cards = sorted((ROOT / "packages").glob("*/src/*/models/*/card.toml"))
    read = {card.parent.name: tomllib.loads(card.read_text("utf-8")) for card in cards}
    return {name: {"version": card.get("version"), "licence": card.get("licence"),
                   "data": card.get("training", {}).get("data")}
            for name, card in read.items()}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", action="append", help="also try with this interpreter")
    arguments = parser.parse_args()
    if changed := git("status", "--porcelain"):
        raise SystemExit(f"commit first; this is not what would be released:\n{changed}")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        commit = git("rev-parse", "HEAD")
        files, again = (built(Path(folder), commit) for folder in (first, second))
        for file, other in zip(files, again, strict=True):
            if digest(file) != digest(other):
                raise SystemExit(f"{file.name}: two builds differ")
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
        wheels = {file.name.partition("-")[0]: file for file in files if file.suffix == ".whl"}
        for name, most in LARGEST.items():
            if wheels[name].stat().st_size > most:
                raise SystemExit(f"{wheels[name].name}: more than {most:,} bytes")
        url = index(files, Path(first, "simple"))
        for number, python in enumerate(arguments.python or [sys.executable]):
            for packages in (["grice"], ["grice[all]"]):
                place = Path(second, f"tried{number}{len(packages[0])}")
                programs = environment(python, place / "environment", url, *packages)
                print(f"{python}: pip install {packages[0]}")
                first_screen(programs, place, Path(first, "source", "examples"))
        parts = bill([wheels[name] for name in LARGEST], Path(first))
        arguments.folder.mkdir(parents=True, exist_ok=True)
        kept = [Path(shutil.copy(file, arguments.folder)) for file in files]
    project = tomllib.loads((ROOT / "packages/grice/pyproject.toml").read_text("utf-8"))
    provenance = {
        "commit": commit, "tree": git("rev-parse", f"{commit}^{{tree}}"),
        "python": sys.version.split()[0], "build-system": project["build-system"],
        "tools": {name: version(name) for name in TOOLS}, "bundles": licences(),
        "files": {file.name: digest(file) for file in kept},
    }  # fmt: skip
    for name, content in (("sbom.json", parts), ("provenance.json", provenance)):
        kept.append(arguments.folder / name)
        kept[-1].write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in kept)
    (arguments.folder / "SHA256SUMS").write_text(sums, "utf-8")
    for file in kept:
        print(f"{file.stat().st_size:>12,}  {digest(file)[:16]}…  {file.name}")
    print(f"two builds of {provenance['commit'][:12]}: the same bytes")


if __name__ == "__main__":
    main()
