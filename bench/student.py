"""Run the inputs of docs/research/student: ``python bench/student.py OUT.jsonl [ID …]``.

Each line holds id, preset, standard output and standard error; the verdicts were read by a person.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from grice.cli import main

INPUTS = Path(__file__).parents[1] / "docs/research/student/inputs.toml"
PRESETS = {"small": "model:medium", "large": "model:large"}
"""Presets, and the language model that answers in place of {writer}."""

target, *chosen = sys.argv[1:]
with Path(target).open("a", encoding="utf-8") as file:
    for item in tomllib.loads(INPUTS.read_text(encoding="utf-8"))["input"]:
        for preset, writer in PRESETS.items() if item["id"] in chosen or not chosen else ():
            out, err = StringIO(), StringIO()
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                for name, text in item.get("files", {}).items():
                    Path(name).write_text(text, encoding="utf-8")
                for typed in item["commands"]:
                    argv = shlex.split(typed.format(models=f"--models {preset}", writer=writer))
                    with redirect_stdout(out), redirect_stderr(err):
                        main(argv[1:])
            row = {"id": item["id"], "preset": preset, "out": out.getvalue(), "err": err.getvalue()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
