"""Build every distribution twice, compare, check, and say what the files are made of.

Needs ``pip install build twine cyclonedx-bom``; ``make release`` brings them::

    python bench/release.py dist

Written are wheels and sdists; ``sbom.json`` (CycloneDX) of grice and grice-models installed alone,
with their dependencies; ``provenance.json``: commit, tree, tools and hashes; ``SHA256SUMS``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST = {"grice": 2_000_000, "grice_models": 95_000_000}
"""Bytes that the wheels which ``pip install grice`` brings may have."""
TOOLS = ("build", "twine", "cyclonedx-bom")


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def built(folder: Path) -> list[Path]:
    """Return the wheels and sdists of what is committed, made in a folder of its own."""
    source, out = folder / "source", folder / "dist"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    # The time of the commit stands in the archives, whenever they are made.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct")}
    for project in sorted((source / "packages").iterdir()):
        words = [sys.executable, "-m", "build", "--outdir", str(out), str(project)]
        subprocess.run(words, check=True, env=environment, capture_output=True)
    return sorted(out.iterdir())


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


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
    arguments = parser.parse_args()
    if changed := git("status", "--porcelain"):
        raise SystemExit(f"commit first; this is not what would be released:\n{changed}")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        files, again = built(Path(first)), built(Path(second))
        for file, other in zip(files, again, strict=True):
            if digest(file) != digest(other):
                raise SystemExit(f"{file.name}: two builds differ")
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
        wheels = {file.name.partition("-")[0]: file for file in files if file.suffix == ".whl"}
        for name, most in LARGEST.items():
            if wheels[name].stat().st_size > most:
                raise SystemExit(f"{wheels[name].name}: more than {most:,} bytes")
        parts = bill([wheels[name] for name in LARGEST], Path(first))
        arguments.folder.mkdir(parents=True, exist_ok=True)
        kept = [Path(shutil.copy(file, arguments.folder)) for file in files]
    project = tomllib.loads((ROOT / "packages/grice/pyproject.toml").read_text("utf-8"))
    provenance = {
        "commit": git("rev-parse", "HEAD"), "tree": git("rev-parse", "HEAD^{tree}"),
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
