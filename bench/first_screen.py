"""Install grice in each way that the README names, in an empty environment, and run the demo.

    make release && python bench/first_screen.py dist [--python PYTHON]

The commands are read from the README. A clone and a URL are this repository as committed, the URL
by HTTP from this machine. The wheels in ``dist`` stand in for published ones, and dependencies come
from the index of pip. Fails if an installation fails, or if the demo fails, computes for more than
ten seconds or writes no report.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).parents[1]
INSTALL = re.compile(r"^## Install\n\n```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
LONGEST = 10  # seconds of a processor that the demo may take
REPORT = "grice-demo.html"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def commands() -> list[str]:
    """Return the commands that install grice, in the order of the README."""
    block = INSTALL.search((ROOT / "README.md").read_text("utf-8"))
    return [line for line in block[1].splitlines() if not line.startswith("#")] if block else []


def tried(command: str, python: str, wheels: Path, folder: Path) -> str:
    """Run a command and the demo in an environment of its own; return the times in words."""
    clone, place = folder / "clone", folder / "empty"
    place.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run(["git", "update-server-info"], cwd=clone, check=True)
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRICE_")},
        "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels.resolve()),
        "PIP_QUIET": "1",
        "HOME": str(folder),
    }
    start = time.perf_counter()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"git+http://127.0.0.1:{server.server_port}/clone/.git"
        words = ["bash", "-ec", command.replace("git+URL", address)]
        subprocess.run(words, cwd=clone, env=environment, check=True)
        server.shutdown()
    installed, before = time.perf_counter(), os.times()
    shown = subprocess.run(
        ["grice", "demo"], cwd=place, env=environment, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - installed, os.times()
    computed = after.children_user + after.children_system
    computed -= before.children_user + before.children_system
    if shown.returncode or not (place / REPORT).is_file() or computed > LONGEST:
        raise SystemExit(f"{command}\ngrice demo: {computed:.1f} s\n{shown.stdout}{shown.stderr}")
    times = f"first demo in {seconds:.1f} s, {computed:.1f} s of them on a processor"
    return f"installed in {installed - start:.0f} s, {times}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    ways = commands()
    if len(ways) != 3:
        raise SystemExit(f"README.md, Install: 3 commands are expected, found {len(ways)}")
    for command in ways:
        with tempfile.TemporaryDirectory() as folder:
            print(command, flush=True)
            print("  ", tried(command, arguments.python, arguments.dist, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
