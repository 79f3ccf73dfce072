"""What each preset costs, and how far it agrees with people: the page of presets, in one run.

    grice models get medium medium-states large-states
    python bench/presets.py [--write docs/presets.md]

Each preset scores the examples in a process of its own, with one worker and without a cache: a few
of them, and all. Processor time per 1,000 replies is that of the difference, so that start-up is
not in it; memory is the most that the process held. A preset whose models are not here is not
measured. The agreement is that of the records in ``docs/results``. With ``--write`` the page and
the resident memory of fetched models in ``data/models/index.toml`` are written, too.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from run import child

import grice
from grice.metrics.registry import find_metrics
from grice.models.store.places import find_stored
from grice.scoring.items import responses
from grice.scoring.presets import Preset, named_preset
from grice_research.runs import read_runs

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from agreement import agreement  # noqa: E402

RESULTS = ROOT / "docs" / "results"
INDEX = ROOT / "packages/grice/src/grice" / "data" / "models" / "index.toml"
MARKS = "<!-- what follows is written by bench/presets.py -->", "<!-- end of what it writes -->"
PRESETS = ("small", "medium", "large")
FILES = ("chatbots.jsonl", "charity.txt")
FEW = 2


class Cost(NamedTuple):
    """Processor seconds per 1,000 replies, those of the start, and bytes that were held."""

    seconds: float
    start: float
    memory: int


def cost(preset: str, folder: Path) -> Cost:
    """Score a few of the examples, and all of them."""
    talks = [talk for name in FILES for talk in grice.read(ROOT / "examples" / name)]
    runs = []
    for part in (talks[:FEW], talks[:FEW], talks):  # the first run compiles modules
        path = folder / f"{len(part)}.jsonl"
        path.write_text("".join(map(_line, part)), "utf-8")
        command = [
            sys.executable, "-m", "grice", "score", str(path), "--models", preset, "--workers", "1",
            "--no-cache", "--no-resume", "-o", f"{folder}/out.jsonl",
        ]  # fmt: skip
        replies = sum(len(responses(talk, ())) for talk in part)
        runs.append((replies, *child(command)))
    _, (few, quick, _), (many, slow, peak) = runs
    each = (slow - quick) / (many - few)
    return Cost(1000 * each, quick - few * each, peak)


def _line(talk: grice.Conversation) -> str:
    turns = [{"speaker": turn.speaker, "text": turn.text} for turn in talk.turns]
    return json.dumps({"id": talk.id, "turns": turns}) + "\n"


def resident(name: str) -> int:
    """Return the bytes of memory that a model adds to a process when it has read a conversation."""
    code = (
        "import os, sys\n"
        "from grice.models.models import Models\n"
        "from grice.models.protocols import Segment\n"
        "def held():\n"
        "    pages = int(open('/proc/self/statm').read().split()[1])\n"
        "    return pages * os.sysconf('SC_PAGE_SIZE')\n"
        "models = Models(mode='fast', workers=1, cache=None)\n"
        "import ctranslate2, numpy, tokenizers\n"
        "before = held()\n"
        "model = models.open(sys.argv[1])\n"
        "text = [Segment(' We talked about bread and late trains.', scored=True)] * 40\n"
        "getattr(model, 'token_scores', None) and model.token_scores([text])\n"
        "getattr(model, 'mean_states', None) and model.mean_states([text])\n"
        "print(held() - before)\n"
    )
    command = [sys.executable, "-c", code, f"model:{name}"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def page() -> str:
    """Return the sections of all presets."""
    with tempfile.TemporaryDirectory() as folder:
        sections = [_section(named_preset(name), Path(folder)) for name in PRESETS]
    return "\n\n".join(sections)


def _section(preset: Preset, folder: Path) -> str:
    missing = [name for name in preset.models if find_stored(name) is None]
    lines = [f"## {preset.name}", "", preset.summary, ""]
    if missing:
        return "\n".join([*lines, "Cost and agreement: not measured."])
    measured = cost(preset.name, folder)
    lines += [
        f"**Cost.** {measured.seconds:.0f} s of one core for 1,000 replies, after "
        f"{measured.start:.1f} s to start; {measured.memory / 1e9:.2f} GB of memory at most.",
        "",
        f"**Agreement**{agreement(preset, read_runs(RESULTS))}**What it cannot do.** "
        + _limits(preset),
    ]
    return "\n".join(lines)


def _limits(preset: Preset) -> str:
    names = (*find_metrics().defaults(), *preset.metrics)
    pages = ", ".join(f"[{name}](metrics/{name}.md)" for name in names)
    return f"What each of its metrics does not see is measured on its page: {pages}."


def write_memory() -> None:
    """Put the resident memory of the fetched models into the index."""
    text = INDEX.read_text("utf-8")
    for name in dict.fromkeys(name for preset in PRESETS for name in named_preset(preset).models):
        if find_stored(name) is None:
            continue
        table = re.compile(rf"(^\[{name}\]\n(?:(?!memory = |\n|\[).+\n)*)(memory = .*\n)?", re.M)
        text = table.sub(rf"\g<1>memory = {resident(name)}\n", text, count=1)
    INDEX.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="the page; its marks hold what is written")
    given = parser.parse_args()
    text = page()
    print(text)
    if given.write:
        before, rest = given.write.read_text("utf-8").split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        given.write.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")
        write_memory()


if __name__ == "__main__":
    main()
