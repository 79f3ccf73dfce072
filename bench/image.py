"""Build and run packaging/Dockerfile: by Docker, else its steps in a root of their own.

    python bench/image.py [--python /usr/local/bin/python3.12]

Where no Docker answers, the instructions of the file are carried out one after the other, as root
on Linux, in a mount namespace: a writable layer over this system stands for the base image, with
the interpreter that ``--python`` names as its Python. ``RUN`` runs there as written; then the root
is made read-only, ``/tmp`` empty, and ``ENTRYPOINT`` and ``CMD`` run as ``USER`` without any
capability. Whoever runs it, the service must score a reply, pass its ``HEALTHCHECK``, and end with
status 0 when it is told to.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FILE = ROOT / "packaging" / "Dockerfile"
ADDRESS = "http://127.0.0.1:8008"
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the base image looks for commands, besides its Python."""
PATIENCE = 1500
"""Seconds until the service must answer; the steps of the file are in them."""


class Step(NamedTuple):
    """An instruction of the file."""

    name: str
    rest: str


def steps() -> list[Step]:
    text = re.sub(r"^#.*\n", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [Step(*line.split(None, 1)) for line in lines if line.strip()]


def by_docker() -> subprocess.Popen[bytes]:
    subprocess.run(["docker", "build", "-f", FILE, "-t", "grice-bench", ROOT], check=True)
    options = ["--rm", "--read-only", "--tmpfs", "/tmp", "-p", "127.0.0.1:8008:8008"]
    return subprocess.Popen(["docker", "run", *options, "grice-bench"])


def script(folder: Path, python: Path) -> str:
    """Return what a shell does in a mount namespace: the steps, and the service at the end."""
    root = folder / "root"
    inside = f"chroot {root} /usr/bin/env -i HOME=/root PATH={python.parent}:{SYSTEM}"
    lines = [
        "set -eu",
        f"mount -t tmpfs none {folder}",
        f"mkdir {folder}/upper {folder}/work {root}",
        f"mount -t overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work none {root}",
        f"mount --rbind /proc {root}/proc; mount --rbind /dev {root}/dev",
        f"chmod a+x {root}/root",  # for an interpreter that lies there
    ]
    place, environment, user, command = "/", {}, "0", {"ENTRYPOINT": [], "CMD": []}
    for step in steps():
        if step.name == "WORKDIR":
            place = step.rest
            lines.append(f"mkdir -p {root}{place}")
        elif step.name == "COPY" and not step.rest.startswith("--from"):
            *sources, target = step.rest.split()
            source = " ".join(str(ROOT / name) for name in sources)
            target = f"{root}{place}/{'' if target.startswith('.') else target}"
            lines.append(
                f"cp -rT {source} {target}" if len(sources) == 1 else f"cp {source} {target}"
            )
        elif step.name == "RUN":
            lines.append(f"{inside} sh -ec {shlex.quote(f'cd {place}; {step.rest}')} >&2")
        elif step.name == "ENV":
            environment |= dict(part.split("=", 1) for part in step.rest.split())
        elif step.name == "USER":
            user = step.rest
        elif step.name in command:
            command[step.name] = json.loads(step.rest)
    given = " ".join(f"{name}={value}" for name, value in environment.items())
    given = given.replace("$PATH", f"{python.parent}:{SYSTEM}")
    drop = (
        f"setpriv --reuid {user} --regid {user} --clear-groups --bounding-set -all --no-new-privs"
    )
    as_user = f"chroot {root} /usr/bin/env -i {given} {drop}"
    words = shlex.join([*command["ENTRYPOINT"], *command["CMD"]])
    health = next(step.rest for step in steps() if step.name == "HEALTHCHECK").split("CMD ", 1)[1]
    return "\n".join(
        [
            *lines,
            f"mount -t tmpfs none {root}/tmp; chmod 1777 {root}/tmp",
            f"mount -o remount,ro {root}",
            f"echo user: $({as_user} id -u), a file in /: $({as_user} touch /x 2>&1)",
            f"{as_user} {words} & served=$!",
            "trap 'kill $served; wait $served; echo ended with status $?; exit' TERM",
            f"until {as_user} {shlex.join(json.loads(health))} 2>/dev/null; do sleep 1; done",
            "echo the health check passes",
            "wait",
        ]
    )


def by_steps(python: Path) -> subprocess.Popen[bytes]:
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    return subprocess.Popen(["unshare", "--mount", "bash", "-c", script(folder, python)])


def scored(service: subprocess.Popen[bytes]) -> object:
    """Return the scores of a reply, once the service answers."""
    body = json.dumps({"turns": ["Is it far?", "Ten minutes on foot."]}).encode()
    request = urllib.request.Request(f"{ADDRESS}/score", body, {"Content-Type": "application/json"})
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["scores"]
        except OSError:
            if service.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    arguments = parser.parse_args()
    docker = shutil.which("docker")
    answers = docker and not subprocess.run([docker, "info"], capture_output=True).returncode
    print("by Docker" if answers else "no Docker answers: by the steps of the file", flush=True)
    service = by_docker() if answers else by_steps(arguments.python.resolve())
    try:
        for score in scored(service):  # type: ignore[attr-defined]
            print(score["metric"], score["turn"], score["value"], score["status"], flush=True)
        time.sleep(2)
    finally:
        service.terminate()
        print("ended:", service.wait(60))


if __name__ == "__main__":
    main()
