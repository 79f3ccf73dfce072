"""Build every distribution twice, compare, install and try, and say what the files are made of.

Needs ``pip install build twine cyclonedx-bom``; ``make release`` brings them::

    python bench/release.py dist
    python bench/release.py dist --python python3.12 --python python3.13

The files are installed into an empty environment of each Python, and :data:`FIRST_SCREEN` is run
there. Written are wheels and sdists; ``sbom.json`` (CycloneDX) of grice and grice-models installed
alone, with their dependencies; ``provenance.json``: commit, tree, tools, hashes; ``SHA256SUMS``.
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
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROUGHT = ("grice", "grice_models")  # by pip install grice; tests bound their sizes
TOOLS = ("build", "twine", "cyclonedx-bom")
FIRST_SCREEN = (("--version", 0), ("demo", 0), ("check examples", 1), ("list", 0))
"""Commands that are tried first, and their exit status (``first_screen.py`` tries the README)."""


def git(*words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip()


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


def tried(python: str, package: str, dist: Path, examples: Path, folder: Path) -> None:
    """Install a package and what it needs of ``dist`` into an empty environment, and run it."""
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    place = {"PATH": f"{folder / 'venv' / 'bin'}:/usr/bin:/bin", "HOME": str(folder)}
    settings = {**os.environ, **place, "PIP_FIND_LINKS": str(dist)}
    subprocess.run(["pip", "install", "-q", "--no-cache-dir", package], check=True, env=settings)
    shutil.copytree(examples, folder / "examples")
    for words, expected in FIRST_SCREEN:
        command, start = ["grice", *words.split()], time.monotonic()
        done = subprocess.run(command, cwd=folder, env=place, capture_output=True, text=True)
        if done.returncode != expected:
            raise SystemExit(f"{package}: grice {words}: {done.returncode}\n{done.stderr}")
        print(f"{python}, {package}: grice {words}: {time.monotonic() - start:.1f} s", flush=True)


def bill(wheels: list[Path], folder: Path) -> dict[str, object]:
    """Return the bill of materials of wheels that are installed alone."""
    place = folder / "installed"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", *map(str, wheels)], check=True)
    words = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", python]
    return json.loads(subprocess.check_output(words))


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
        for number, python in enumerate(arguments.python or [sys.executable]):
            for package in ("grice", "grice[all]"):
                place = Path(second, f"tried{number}{package}")
                tried(python, package, files[0].parent, Path(first, "source", "examples"), place)
        parts = bill([wheels[name] for name in BROUGHT], Path(first))
        arguments.folder.mkdir(parents=True, exist_ok=True)
        kept = [Path(shutil.copy(file, arguments.folder)) for file in files]
    project = tomllib.loads((ROOT / "packages/grice/pyproject.toml").read_text("utf-8"))
    provenance = {
        "commit": commit, "tree": git("rev-parse", f"{commit}^{{tree}}"),
        "python": sys.version.split()[0], "build-system": project["build-system"],
        "tools": {name: version(name) for name in TOOLS},
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
