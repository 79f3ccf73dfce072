"""Keeps what every command prints and writes, and holds two such records against each other.

    python bench/golden_outputs.py write before [--only kb]     of the version on PYTHONPATH
    python bench/golden_outputs.py compare before after

``write`` runs the commands of ``golden_outputs.txt``, the groups side by side, and keeps of each
what it printed, its exit status, and the files that it left; with GRICE_DATA set, a few benches
too. It takes some minutes. ``compare`` finds every byte that differs; its exit status is 1 if one
does.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import gzip
import io
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import grice

HERE = Path(__file__).parent
ROOT = HERE.parent
PUBLISHED = "data "  # how names of groups begin that need the published data sets
SHOWN = 12  # lines of a difference that are printed
LEFT_OUT = ("cache", "data", "__pycache__")  # what commands leave and that says nothing

TALKS, OPEN, SUPPORT = json.loads((HERE / "golden_talks.json").read_text("utf-8")).values()
BROKEN = '{"id": "good", "turns": ["Hi.", "Hello."]}\n{"turns": 3}\nno json\n{"turns": []}\n'

PLUGIN = '''from grice.metrics import Example, metric
from grice.data import FeatureEvidence, Judgement


@metric("calm", version="1", summary="Is the reply free of shouting?", judges="response",
        source="Nobody.", neutral=1.0,
        example=Example(["Where were you?", "AT HOME."], low=0.0, high=0.2))
def calm(responses, *, weight: float = 1.0):
    """Return one minus the weighted share of capitals.

    Args:
        weight: How much a capital counts.
    """
    for response in responses:
        letters = [c for c in response.text if c.isalpha()]
        if not letters:
            yield Judgement(1.0, "abstained", "no letters")
            continue
        share = sum(c.isupper() for c in letters) / len(letters)
        yield Judgement(max(0.0, 1 - weight * share),
                        evidence=(FeatureEvidence("share of capitals", share),))
'''

API = """import json
import grice

talk = ["What do you do for a living?", "I teach maths at a school."]
for score in grice.score(talk, "relevance", "coherence"):
    print(score)
with grice.load("commonsense", "engagement", "log_length") as grader:
    for score in grader.score(grice.read("talks.jsonl")):
        print(score.metric, score.conversation, score.turn, score.value, score.status, score.reason)
        print("  ", score.evidence, score.flags, score.signature)
for conversation in grice.read("talks.jsonl"):
    print(conversation)
print(sorted(grice.__all__))
"""

TRIPLES = """head\trelation\ttail\tsource
PersonX plants a tree\txWant\tto water it\ta gardener
PersonX loses PersonX's keys\txReact\thappy\ta locksmith
it rains\tCauses\tthe street is wet\tme
PersonX eats\tnoRelation\tfood\tme
"""

GRAPHS = [
    {"id": "1", "belief": "Zoos should be abolished.", "argument": "Animals live in small cages.",
     "stance": "support", "graph": "(zoos; has property; small cages)(small cages; causes; "
     "suffering)(suffering; not desires; animals)(zoos; desires; abolished)"},
    {"id": "2", "belief": "School uniforms help pupils.",
     "argument": "Uniforms make all pupils look alike.", "stance": "support",
     "graph": "(uniforms; capable of; pupils look alike)(pupils look alike; causes; equality)"
     "(equality; has property; help pupils)"},
    {"id": "3", "belief": "Whaling is harmful.", "argument": "Whaling feeds people in the north.",
     "stance": "counter", "graph": "(whaling; capable of; feeds people)(feeds people; is a; good)"
     "(good; antonym of; harmful)"},
]  # fmt: skip
PREDICTED = [
    {"id": "1", "stance": "support", "graph": "(zoos; has property; small cages)"
     "(small cages; cause; suffering)(zoos; desires; abolished)"},
    {"id": "2", "stance": "counter", "graph": "(uniforms; capable of; alike)"
     "(alike; causes; very very long concept)"},
    {"id": "3", "stance": "counter", "graph": "(whaling; capable of; feeds people)"
     "(feeds people; is a; good)(good; antonym of; harmful)"},
]  # fmt: skip

QUESTIONS = [
    {"question": "Is July a winter month in Australia?", "answer": "yes", "form": "yes_no"},
    {"question": "In which month is it winter in Chile?", "answer": "July", "form": "choice"},
    *({"statement": text} for text in (
        "July is summer in China.", "July is winter in Australia.", "January is summer in Chile.",
        "January is winter in Norway.", "It snows in Norway in December.",
        "It is hot in Australia in December.", "People drink tea in England.",
        "People drink coffee in Italy.", "The Nile flows through Egypt.",
        "The Amazon flows through Brazil.", "Pandas live in China.", "Kangaroos live in Australia.",
        "Paris is the capital of France.", "Rome is the capital of Italy.")),
]  # fmt: skip
SITUATED = [
    {"keywords": ["July", "China", "winter", "Australia", "summer", "July"],
     "keywords_pos": [0, 0, 1, 1, 0, 1],
     "statements": ["July is summer in China.", "July is winter in Australia."]},
    {"keywords": ["coffee", "Italy", "tea", "England"], "keywords_pos": [0, 0, 1, 1],
     "statements": ["People drink coffee in Italy.", "People drink tea in England."]},
]  # fmt: skip
OUTPUTS = "July is summer in Australia. July is winter in China.\nPeople drink tea in England.\n"


def write_lines(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_inputs(folder: Path) -> None:
    """Write every input of the groups into a folder."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for name, rows in {
        "talks": TALKS, "open": OPEN, "support": SUPPORT, "few": [TALKS[0], TALKS[1], TALKS[6]],
        "samples": GRAPHS, "predicted": PREDICTED, "questions": QUESTIONS, "situated": SITUATED,
        "generated_outputs": [{"id": "0", "output": "July is summer in China."}],
    }.items():  # fmt: skip
        write_lines(folder / f"{name}.jsonl", rows)
    for name, text in (("broken.jsonl", BROKEN), ("calm.py", PLUGIN), ("api.py", API),
                       ("triples.tsv", TRIPLES), ("outputs.txt", OUTPUTS), ("empty.jsonl", ""),
                       ("not_utf8.jsonl", ""), ("rules.toml", "")):  # fmt: skip
        (folder / name).write_text(text, "utf-8")
    (folder / "not_utf8.jsonl").write_bytes(b'{"turns": ["caf\xe9", "x"]}\n')
    with gzip.GzipFile(folder / "talks.jsonl.gz", "wb", mtime=0) as file:
        file.write((folder / "talks.jsonl").read_bytes())
    _formats(folder / "formats")
    _ratings(folder)


def _formats(folder: Path) -> None:
    """Write the sample of each format that the page on formats shows."""
    folder.mkdir()
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    for name, text in re.findall(r"(?ms)^## (\w+)\n.*?^```text\n(.*?)^```", page):
        (folder / f"{name}.txt").write_text(text, "utf-8")


def _ratings(folder: Path) -> None:
    """Write labelled replies, a rated set, ratings of scored items and a table to train on."""
    draw = random.Random(0)
    topics = ["music", "the garden", "trains", "old films", "bread", "the sea", "chess", "maps"]
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["id", "history", "reply", "label"])
    rated, labels = [], []
    for i in range(60):
        topic, good = draw.choice(topics), draw.random() < 0.5
        reply = f"I love {topic} and could talk of it all day." if good else "Not really."
        writer.writerow([f"r{i}", f"Do you care for {topic}?", reply, int(good)])
        score = 1 + 3 * good + draw.choice([0, 1])
        rated.append({"id": f"r{i}", "context": f"Do you care for {topic}?", "response": reply,
                      "ratings": {"overall": [score, score, max(1, score - 1)], "odd": score % 2},
                      "system": draw.choice(["a", "b"])})  # fmt: skip
        if i % 3:
            labels.append({"conversation": f"r{i}", "turn": 1, "rating": score})
    (folder / "train.csv").write_text(table.getvalue(), "utf-8")
    write_lines(folder / "rated.jsonl", rated)
    write_lines(folder / "labels.jsonl", labels)


class Case(NamedTuple):
    """One command."""

    name: str
    words: list[str]
    stdin: str | None
    stdout: str | None


def read_groups() -> dict[str, list[Case]]:
    """Return the commands by group, with those that ask for help."""
    lines = (HERE / "golden_outputs.txt").read_text("utf-8").splitlines()
    groups: dict[str, list[Case]] = {}
    for line in (*lines, "[metric pages]", *metric_pages()):
        if line.startswith("["):
            name = line.strip("[]")
            groups[name] = []
        elif line and not line.startswith("#"):
            groups[name].append(case(line))
    return groups


def case(line: str) -> Case:
    """Return the command of a line."""
    name, _, command = line.partition(":")
    words = shlex.split(command)
    files = {mark: words[words.index(mark) + 1] for mark in "<>" if mark in words}
    words = words[: len(words) - 2 * len(files)]
    return Case(name, words, files.get("<"), files.get(">"))


def metric_pages() -> list[str]:
    """Return commands that describe every metric."""
    table = run(["list"], Path.cwd()).stdout.partition(" format ")[0].partition(" metric ")[2]
    metrics = re.findall(r"^ ([a-z_]+)\*? ", table, re.MULTILINE)
    return [f"list {name}: list {name}" for name in metrics]


def run(
    words: list[str], folder: Path, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command at 80 columns, in a folder that hides where it lies."""
    python = [sys.executable, *words[1:]] if words[:1] == ["python"] else None
    source = str(Path(grice.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    stated = {"PYTHONPATH": paths, "COLUMNS": "80", "GRICE_CACHE": "cache",
              "GRICE_CONFIG": "config", "GRICE_MODELS": "models", "USER": "golden",
              "LOGNAME": "golden", "TZ": "UTC", "SOURCE_DATE_EPOCH": "1767225600",
              "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    if (folder / "data").exists():
        stated["GRICE_DATA"] = "data"
    kept = {name: value for name, value in os.environ.items() if name != "GRICE_DATA"}
    with open(folder / stdin if stdin else os.devnull, encoding="utf-8") as given:  # noqa: PTH123
        return subprocess.run(
            python or [sys.executable, "-m", "grice", *words], cwd=folder, env={**kept, **stated},
            stdin=given, capture_output=True, text=True, errors="surrogateescape", check=False,
        )  # fmt: skip


def write(out: Path, only: str) -> None:
    """Run all groups, or those whose name holds a text."""
    chosen = {name: some for name, some in read_groups().items() if only in name}
    if not os.environ.get("GRICE_DATA"):
        chosen = {name: some for name, some in chosen.items() if not name.startswith(PUBLISHED)}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        for name in workers.map(lambda item: run_group(out, *item), chosen.items()):
            print(f"{name}: {len(chosen[name])} commands", flush=True)


def run_group(out: Path, name: str, some: list[Case]) -> str:
    """Run the commands of a group, keep what they print and leave, and return its name."""
    shutil.rmtree(out / name, ignore_errors=True)
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_inputs(folder)
        if name.startswith(PUBLISHED):
            (folder / "data").symlink_to(Path(os.environ["GRICE_DATA"]).resolve())
        given = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        for case in some:
            done = run(case.words, folder, case.stdin)
            if case.stdout:
                (folder / case.stdout).write_text(done.stdout, "utf-8")
            parts = {"command": shlex.join(case.words), "status": str(done.returncode),
                    "stdout": done.stdout, "stderr": done.stderr}  # fmt: skip
            for part, text in parts.items():
                keep(out / name / case.name / part, text.encode("utf-8", "surrogateescape"), place)
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            made = path.is_file() and given.get(path) != path.stat().st_mtime_ns
            if made and inside.parts[0] not in LEFT_OUT:
                keep(out / name / "files" / inside, path.read_bytes(), place)
    return name


def keep(path: Path, content: bytes, place: str) -> None:
    """Write a content that does not say where it was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.replace(place.encode(), b"PLACE"))


def compare(before: Path, after: Path) -> int:
    """Print what differs and return the exit status."""
    first, second = ({str(path.relative_to(folder)): path.read_bytes()
                      for path in folder.rglob("*") if path.is_file()}
                     for folder in (before, after))  # fmt: skip
    differ = 0
    for name in sorted(first.keys() | second.keys()):
        if name not in first or name not in second:
            print(f"only {'after' if name not in first else 'before'}: {name}")
        elif first[name] != second[name]:
            print(f"differs: {name}")
            show(first[name], second[name])
        differ += first.get(name) != second.get(name)
    print(f"{len(first.keys() & second.keys()):,} files in both; {differ:,} differ")
    return 1 if differ else 0


def show(old: bytes, new: bytes) -> None:
    """Print the first lines that differ, or that bytes do."""
    try:
        texts = old.decode("utf-8").splitlines(), new.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        print(f"    {len(old):,} bytes before, {len(new):,} after")
        return
    lines = [line for line in difflib.unified_diff(*texts, lineterm="", n=0)
             if not line.startswith(("---", "+++", "@@"))]  # fmt: skip
    for line in lines[:SHOWN]:
        print(f"    {line[:200]}")
    if len(lines) > SHOWN:
        print(f"    … {len(lines) - SHOWN:,} more lines")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    writing = steps.add_parser("write")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--only", default="", metavar="TEXT", help="groups whose name holds this")
    comparing = steps.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "write":
        write(arguments.folder, arguments.only)
        return 0
    return compare(arguments.before, arguments.after)


if __name__ == "__main__":
    sys.exit(main())
