"""Run the inputs of docs/research/student as typed: ``python bench/student.py OUT.jsonl [ID …]``.

Each line holds id, preset, standard output and standard error; the verdicts were read by a person.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

INPUTS = Path(__file__).parents[1] / "docs/research/student/inputs.toml"
PRESETS = {"small": "model:medium", "large": "model:large"}
"""Presets, and the language model that answers in place of {writer}."""


def run(item: dict[str, object], preset: str) -> dict[str, object]:
    """Run the commands of an input in a folder with its files."""
    outputs, errors = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in item.get("files", {}).items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for command in item["commands"]:
            typed = command.format(models=f"--models {preset}", writer=PRESETS[preset])
            done = subprocess.run(typed, shell=True, cwd=folder, capture_output=True, text=True)
            outputs.append(done.stdout)
            errors.append(done.stderr)
    return {"id": item["id"], "preset": preset, "output": outputs, "errors": errors}


out, *chosen = sys.argv[1:]
for item in tomllib.loads(INPUTS.read_text(encoding="utf-8"))["input"]:
    if chosen and item["id"] not in chosen:
        continue
    same = not re.search("{(models|writer)}", " ".join(item["commands"]))
    for preset in list(PRESETS)[:1] if same else PRESETS:
        with Path(out).open("a", encoding="utf-8") as file:
            file.write(json.dumps(run(item, preset), ensure_ascii=False) + "\n")
