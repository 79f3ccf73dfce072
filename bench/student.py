"""Run the inputs of docs/research/student: ``python bench/student.py OUT.jsonl [ID …]``."""

import json
import shlex
import sys
import tempfile
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from grice.cli import main

INPUTS = Path(__file__).parents[1] / "docs/research/student/inputs.toml"
WRITERS = {"small": "model:medium", "large": "model:large"}  # in place of {writer}

target, *chosen = sys.argv[1:]
with Path(target).open("a", 1, encoding="utf-8") as file:
    for item in tomllib.loads(INPUTS.read_text(encoding="utf-8"))["input"]:
        for preset, writer in WRITERS.items() if item["id"] in chosen or not chosen else ():
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                for name, text in item.get("files", {}).items():
                    Path(name).write_text(text, encoding="utf-8")
                out, err = StringIO(), StringIO()
                with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
                    for typed in item["commands"]:
                        filled = typed.format(models=f"--models {preset}", writer=writer)
                        main(shlex.split(filled)[1:])
            row = {"id": item["id"], "preset": preset, "out": out.getvalue(), "err": err.getvalue()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
