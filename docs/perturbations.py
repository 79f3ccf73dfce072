"""Write ``docs/perturbations.md``: every kind, with broken conversations read and judged.

    GRICE_DATA=... python docs/perturbations.py

The conversations are those of PersuasionForGood (Apache-2.0). What a reader thought of a sample
stands in ``perturbations.tsv`` beside the text it was about; a sample that has changed since is
shown without a verdict and not counted.
"""

from __future__ import annotations

import csv
import json
import os
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from grice.formats import read
from grice.perturb import Material
from grice.perturb.mixture import MIXTURES, mixture
from grice.perturb.registry import find_perturbations
from grice.perturb.run import perturb
from grice.records import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.perturb import Change, Perturbation

HERE = Path(__file__).parent
ABLATION = HERE.parent / "recipes" / "coherence" / "ablation.json"
CORPUS = "persuasion_for_good/dialogues.jsonl.gz"
SAMPLES, LONGEST = 25, 230
HEAD = """# Perturbations

Written by `python docs/perturbations.py`; see there. `grice perturb FILE --kind NAME` breaks your
own conversations, `grice.testing.check_prefers_intact` tests your own metric with them. A
perturbation is one function in one file; the same conversation, kind and seed give the same
result. One that finds nothing to break gives nothing.

**Levels.** *text* moves whole turns. *semantic* changes wording: no parser is needed, and a word is
touched only where the words around it leave no doubt what kind of word it is. *amr* changes AMR
graphs, which a parser (amrlib) or `--graphs FILE.amr` gives, and needs a generator to say them
again; without one the changed turns are written as graphs.

**Where the paper and its code differ** (DEAM), grice follows the code, but: it works on graphs
instead of printed lines, so every pronoun node is found; antonyms are WordNet's and ConceptNet's;
and where a turn offers nothing to take out, another is tried instead of giving up.

**Trained on one set, tested on each** (`recipes/coherence/cross.py`): a small network that learned
from one paper's perturbations, on held-out conversations broken by each.

![Heat map of accuracies](coherence-cross.svg)
"""


def main() -> None:
    """Write the page."""
    data = Path(os.environ["GRICE_DATA"])
    (HERE / "perturbations.md").write_text(page(data), "utf-8")


def page(data: Path) -> str:
    """Return the page."""
    whole = [one for one in read(data / CORPUS) if isinstance(one, Conversation)]
    sample = Random(5).sample(whole, 200)
    table = json.loads(ABLATION.read_text("utf-8"))
    return "\n".join([HEAD, *_ablation(table), *_sections(sample)]) + "\n"


def _ablation(table: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """Yield what each set of perturbations is good for."""
    columns = list(next(iter(table.values())))
    yield (
        "**What each set is good for** (`recipes/coherence/ablation.py`; DEAM's tables 4.2 to "
        "4.5): small networks of three seeds that learned from one set of perturbations and from "
        "nobody's ratings, against people's ratings. Spearman with its 95 % interval, and the "
        "lowest and highest of the seeds by themselves.\n"
    )
    yield "| learned from | " + " | ".join(_column(name, table) for name in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, row in table.items():
        yield f"| {name} | " + " | ".join(_cell(row[column]) for column in columns) + " |"
    yield ""


def _column(name: str, table: dict[str, dict[str, dict[str, Any]]]) -> str:
    count = next(iter(table.values()))[name]["n"]
    of, _, aspect = name.partition(":")
    return f"{of.removesuffix('_dialogue').upper()} {aspect} (n {count})"


def _cell(found: dict[str, Any]) -> str:
    low, high, seeds = found["low"], found["high"], found["seeds"]
    interval = f"[{low:.2f}, {high:.2f}]; {min(seeds):.2f} to {max(seeds):.2f}"
    return f"{found['spearman']:.3f} {interval}"


def _sections(sample: list[Conversation]) -> Iterator[str]:
    verdicts = _verdicts()
    for kind in find_perturbations().values():
        yield f"## {kind.name}\n\n{kind.summary} *{kind.level}*; {kind.source}.\n"
        if kind.level != "amr":
            yield from _samples(kind, sample, verdicts)
    yield "## Mixtures\n"
    for one in MIXTURES.values():
        yield f"- `{one.name}`: {mixture(one).summary}"


def _samples(
    kind: Perturbation, sample: list[Conversation], verdicts: dict[str, tuple[str, str, str]]
) -> Iterator[str]:
    material = Material(sample)
    changes = []
    for conversation in sample:
        found = perturb(conversation, kind, seed=1, material=material)
        if found is not None:
            changes.append(found.changes[0])
        if len(changes) == SAMPLES:
            break
    judged = [verdicts[key(one)] for one in changes if key(one) in verdicts]
    if judged:
        fluent = sum(one[0] == "yes" for one in judged)
        wrong = sum(one[1] == "yes" for one in judged)
        count = len(judged)
        yield f"Read and judged: {fluent} of {count} fluent, {wrong} of {count} wrong.\n"
    for number, change in enumerate(changes, 1):
        yield f"{number}. {_shown(change)}{_said(verdicts.get(key(change)))}"
    yield ""


def key(change: Change) -> str:
    """Return what a verdict is about: the change and both texts."""
    return sha256("\0".join((change.what, change.before, change.after)).encode()).hexdigest()[:12]


def _shown(change: Change) -> str:
    places = ", ".join(map(str, change.turns[:12])) + (", …" if len(change.turns) > 12 else "")
    if not change.after:
        return f"{_plain(change.what)} (turns {places})"
    before, after = _plain(change.before), _plain(change.after)
    return f"turn {places}: {before} → **{after}** ({_plain(change.what)})"


def _plain(text: str) -> str:
    text = " ".join(text.split())
    text = text if len(text) <= LONGEST else f"{text[:90]} … {text[-LONGEST + 95 :]}"
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _said(verdict: tuple[str, str, str] | None) -> str:
    if verdict is None:
        return ""
    fluent, wrong, note = verdict
    parts = [*(["not fluent"] if fluent == "no" else []), *(["not wrong"] if wrong == "no" else [])]
    said = ", ".join(parts) + (f": {note}" if note else "")
    return f" – *{said}*" if said else ""


def _verdicts() -> dict[str, tuple[str, str, str]]:
    path = HERE / "perturbations.tsv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["key"]: (row["fluent"], row["wrong"], row["note"])
                for row in csv.DictReader(lines, delimiter="\t")}  # fmt: skip


if __name__ == "__main__":
    main()
