"""Write ``docs/perturbations.md``: every kind, with broken conversations read and judged.

    GRICE_DATA=... python docs/perturbations.py

The conversations are those of PersuasionForGood (Apache-2.0), for graphs the two of
``conversations.amr``. What a reader thought of a sample stands in ``perturbations.tsv`` beside the
text it was about; a sample that has changed since is shown without a verdict and not counted.
"""

from __future__ import annotations

import csv
import json
import os
from hashlib import sha256
from itertools import islice, pairwise, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import grice_research
from grice.readers import read
from grice.perturb import Material
from grice.perturb.meaning import graphs_of_file
from grice.perturb.mixture import MIXTURES, mixture
from grice.perturb.registry import find_perturbations
from grice.perturb.run import perturb
from grice.records import Conversation, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grice.perturb import Change, Perturbation, Perturbed
    from grice.perturb.declaration import Level

HERE = Path(__file__).parent
ABLATION = Path(grice_research.__file__).parent / "recipes" / "coherence" / "ablation.json"
CORPUS = "persuasion_for_good/dialogues.jsonl.gz"
SAMPLES, LONGEST, SIDE = 25, 230, 110
SEAMS = 2
"""Places of a conversation with moved turns that are shown."""
TURNS = 8
"""Of a conversation of graphs."""
JUDGED = {
    "text": "{wrong} of {count} can be told to be broken by what is shown",
    "semantic": "{fluent} of {count} fluent, {wrong} of {count} wrong",
    "amr": "{fluent} of {count} are graphs of sentences that one might say, {wrong} of {count} are "
    "wrong where they stand",
}
MISSED = {"text": "cannot be told here", "semantic": "not wrong", "amr": "not wrong"}
HEAD = """# Perturbations

Written by `python docs/perturbations.py`; see there. `grice perturb FILE --kind NAME` breaks your
own conversations, `grice.testing.check_prefers_intact` tests your own metric with them. A
perturbation is one function in one file; the same conversation, kind and seed give the same
result. One that finds nothing to break gives nothing.

**Levels.** *text* moves whole turns. *semantic* changes wording: no parser is needed, and a word is
touched only where the words around it leave no doubt what kind of word it is. *amr* changes AMR
graphs, which `--graphs FILE.amr` or a parser gives (`--amr-parser MODEL`, or amrlib), and needs a
generator to say them again (`--amr-generator MODEL`, or amrlib's); without one the changed turns
are written as graphs. `grice train amr-parser` and `amr-generator` make both.

**Where the paper and its code differ** (DEAM), grice follows the code, but: it works on graphs
instead of printed lines, so every pronoun node is found; antonyms are WordNet's and ConceptNet's,
of verbs and adjectives alone (ConceptNet has a dog against a car); questions and requests, which
nobody can contradict, are not repeated in the negative; concepts that stand for relations
(`have-rel-role-91`, `contrast-01`) are not exchanged for words; and where a turn offers nothing to
take out, another is tried instead of giving up.

**Read and judged.** Up to 25 samples of each kind, by one of us who knew what was changed. Of
*text*, the first two places are shown (‖) where turns meet that did not before, and the question is
whether one who reads only those would know. Of *amr*, the graphs are of two conversations of our
own (`conversations.amr`), and no generator smoothed them.

**Trained on one set, tested on each** (recipe `coherence.cross`): a small network that learned
from one paper's perturbations, on held-out conversations broken by each.

![Heat map of accuracies](coherence-cross.svg)
"""


def main() -> None:
    """Write the page."""
    data = Path(os.environ["GRICE_DATA"])
    (HERE / "perturbations.md").write_text(page(data), "utf-8")


def page(data: Path) -> str:
    """Return the page."""
    whole = [item for item in read(data / CORPUS) if isinstance(item, Conversation)]
    sample = Random(5).sample(whole, 200)
    graphs = graphs_of_file(HERE / "conversations.amr")
    table = json.loads(ABLATION.read_text("utf-8"))
    return "\n".join([HEAD, *_ablation(table), *_sections(sample, graphs)]) + "\n"


def _ablation(table: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """Yield what each set of perturbations is good for."""
    columns = list(next(iter(table.values())))
    yield (
        "**What each set is good for** (recipe `coherence.ablation`; DEAM's tables 4.2 to "
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


def _cell(figure: dict[str, Any]) -> str:
    low, high, seeds = figure["low"], figure["high"], figure["seeds"]
    interval = f"[{low:.2f}, {high:.2f}]; {min(seeds):.2f} to {max(seeds):.2f}"
    return f"{figure['spearman']:.3f} {interval}"


def _sections(sample: list[Conversation], graphs: dict[str, str]) -> Iterator[str]:
    verdicts = _verdicts()
    for kind in find_perturbations().values():
        yield f"## {kind.name}\n\n{kind.summary} *{kind.level}*; {kind.source}.\n"
        samples = _on_graphs(kind, graphs) if kind.level == "amr" else _broken(kind, sample)
        yield from _samples(list(islice(samples, SAMPLES)), verdicts, kind.level)
    yield "## Mixtures\n"
    for named in MIXTURES.values():
        yield f"- `{named.name}`: {mixture(named).summary}"


class Sample(NamedTuple):
    """A change, and a key and words for it."""

    key: str
    shown: str


def _broken(kind: Perturbation, sample: list[Conversation]) -> Iterator[Sample]:
    """Yield the first change of each conversation that can be broken."""
    material = Material(sample)
    for conversation in sample:
        perturbed = perturb(conversation, kind, seed=1, material=material)
        if perturbed is not None:
            change = perturbed.changes[0]
            if kind.level == "text":
                seams = list(islice(_seams(conversation, perturbed), SEAMS))
                yield Sample(key(change, *seams), "<br>".join(seams))
            else:
                yield Sample(key(change), _reworded(change))


def _on_graphs(kind: Perturbation, graphs: dict[str, str]) -> Iterator[Sample]:
    """Yield different changes of the conversations with graphs, in turn."""
    material = Material((), graphs.get, lambda graph: graph)
    turns = [Turn("AB"[i % 2], text) for i, text in enumerate(graphs)]
    talks = [Conversation(f"c{i}", tuple(turns[i:][:TURNS])) for i in range(0, len(turns), TURNS)]
    seen = set()
    for seed, talk in product(range(SAMPLES * 2), talks):
        perturbed = perturb(talk, kind, seed=seed, material=material)
        if perturbed is not None and key(perturbed.changes[0]) not in seen:
            seen.add(key(perturbed.changes[0]))
            yield Sample(key(perturbed.changes[0]), _reworded(perturbed.changes[0]))


def _samples(
    samples: list[Sample], verdicts: dict[str, tuple[str, str, str]], level: Level
) -> Iterator[str]:
    judged = [verdicts[example.key] for example in samples if example.key in verdicts]
    if judged:
        fluent = sum(verdict[0] == "yes" for verdict in judged)
        wrong = sum(verdict[1] == "yes" for verdict in judged)
        sentence = JUDGED[level].format(fluent=fluent, wrong=wrong, count=len(judged))
        yield f"Read and judged: {sentence}.\n"
    for number, sample in enumerate(samples, 1):
        yield f"{number}. {sample.shown}{_remark(verdicts.get(sample.key), level)}"
    yield ""


def _seams(whole: Conversation, perturbed: Perturbed) -> Iterator[str]:
    """Yield neighbouring turns that did not stand together before."""
    before = set(pairwise((turn.speaker, turn.text) for turn in whole.turns))
    for place, (left, right) in enumerate(pairwise(perturbed.conversation.turns)):
        if ((left.speaker, left.text), (right.speaker, right.text)) not in before:
            yield f"{place} {_end(left)} ‖ {place + 1} {_start(right)}"


def _end(turn: Turn) -> str:
    text = " ".join(turn.text.split())
    return f"{turn.speaker}: {_marked(text if len(text) <= SIDE else f'… {text[-SIDE:]}')}"


def _start(turn: Turn) -> str:
    text = " ".join(turn.text.split())
    return f"{turn.speaker}: **{_marked(text if len(text) <= SIDE else f'{text[:SIDE]} …')}**"


def key(change: Change, *seams: str) -> str:
    """Return what a verdict is about: the change and the texts that are shown."""
    texts = (change.what, change.before, change.after, *seams)
    return sha256("\0".join(texts).encode()).hexdigest()[:12]


def _reworded(change: Change) -> str:
    before, after = _plain(change.before), _plain(change.after)
    return f"turn {change.turns[0]}: {before} → **{after}** ({_plain(change.what)})"


def _plain(text: str) -> str:
    text = " ".join(text.split())
    return _marked(text if len(text) <= LONGEST else f"{text[:90]} … {text[-LONGEST + 95 :]}")


def _marked(text: str) -> str:
    return text.replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _remark(verdict: tuple[str, str, str] | None, level: Level) -> str:
    if verdict is None:
        return ""
    fluent, wrong, note = verdict
    parts = [
        *(["not fluent"] if fluent == "no" else []),
        *([MISSED[level]] if wrong == "no" else []),
    ]
    remark = ", ".join(parts) + (f": {note}" if note else "")
    return f" – *{remark}*" if remark else ""


def _verdicts() -> dict[str, tuple[str, str, str]]:
    path = HERE / "perturbations.tsv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["key"]: (row["fluent"], row["wrong"], row["note"])
                for row in csv.DictReader(lines, delimiter="\t")}  # fmt: skip


if __name__ == "__main__":
    main()
