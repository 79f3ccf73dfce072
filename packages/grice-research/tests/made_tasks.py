"""Small made data sets of tasks, written as the published ones are laid out."""

import gzip
from pathlib import Path

from fake_metrics import packed

CHAINS = [
    ("overslept", "missed the bus", "late for work", "buy a new clock"),
    ("forgot my umbrella", "got wet", "cold all day", "drink hot tea"),
    ("ate too much cake", "felt sick", "in bed", "eat soup only"),
    ("lost my keys", "slept at the office", "tired this morning", "change the lock"),
    ("broke my leg", "stayed at home", "bored for weeks", "read long books"),
    ("won the race", "got a prize", "proud of myself", "train even harder"),
    ("burnt the dinner", "ordered a pizza", "full and happy", "take cooking lessons"),
    ("sold my car", "walked to work", "fit again", "keep walking home"),
    ("drank strong coffee", "stayed awake", "sleepy at noon", "drink water instead"),
    ("missed my sister", "called her up", "glad to hear her", "visit her soon"),
]
"""A cause, its effect on a person, and the wish that follows: one per dialogue."""


def place(text: str, part: str) -> list[int]:
    """Return where a part stands first in a text."""
    return [text.index(part), text.index(part) + len(part)]


def cider(folder: Path) -> None:
    """Write ten dialogues in five folds, with four triplets and five negatives each."""
    # Of four answers the right one is once the nearest to the head, once the second, third and
    # last; in two of the four it is the longest.
    dialogues, items, folds, negatives = [], [], ["dialogue\ttest_fold"], []
    for i, (cause, event, state, wish) in enumerate(CHAINS):
        name = f"talk-{i:02}"
        turns = [f"I {event} because I {cause} .", f"So you were {state} ?",
                 f"Yes , and now I want to {wish} .", "That sounds good to me ."]  # fmt: skip
        spoken = "    ".join(f"{'AB'[j % 2]}: {turn}" for j, turn in enumerate(turns))
        context = " ".join(turns)
        triples = [
            ((cause, "Causes", event), ["That", "Yes", "want"]),
            ((event, "Causes", state), ["I", "Yes", "That"]),
            ((state, "CausesDesire", wish), ["So", "Yes", "That sounds good to me"]),
            ((event, "CausesDesire", wish), ["I", "So", "Yes , and now I want to"]),
        ]
        dialogues.append({
            "id": name, "source": "made", "fold": 1 + i % 5, "utterances": spoken,
            "context": context, "appended": " ",
            "triplets": [[head, relation, tail, place(spoken, head), place(spoken, tail), 0]
                         for (head, relation, tail), _ in triples],
        })  # fmt: skip
        for j, ((head, relation, tail), others) in enumerate(triples):
            items.append({
                "d": name, "i": j, "h": head, "r": relation, "t": tail, "hl": head, "tl": tail,
                "qa": [j + 1, context.index(tail)], "mcq": [*others, tail], "label": 3,
                "mcq0": [*others, tail],
            })  # fmt: skip
            negatives.append(f"{name}\t{j}\treverse\t{tail}\t{relation}\t{head}\t1")
        negatives.append(f"{name}\t0\tspan\t{cause}\tCauses\t{wish}\t0")
        folds.append(f"{name}\t{1 + i % 5}")
    packed(folder / "cider" / "dialogues.jsonl.gz", dialogues)
    packed(folder / "cider" / "experiment.jsonl.gz", items)
    (folder / "cider" / "folds.tsv").write_text("\n".join(folds) + "\n")
    table = "\n".join(["dialogue\ti\tstrategy\th\tr\tt\ttrain", *negatives]) + "\n"
    (folder / "cider" / "nli_frozen_negatives.tsv.gz").write_bytes(gzip.compress(table.encode()))


DEBATES = [
    ("Zoos should be abolished.", "Zoos keep wild animals in cages.", "support",
     "(zoos; used for; cages)(cages; not desires; wild animals)(wild animals; causes; abolished)"),
    ("Zoos should be abolished.", "Zoos protect rare animals.", "counter",
     "(zoos; capable of; protect)(protect; used for; animals)(animals; not causes; abolished)"),
    ("School uniforms are good.", "Uniforms make all pupils equal.", "support",
     "(school uniforms; causes; equal)(equal; used for; pupils)(pupils; desires; good)"),
    ("School uniforms are good.", "Uniforms cost parents too much money.", "counter",
     "(school uniforms; causes; cost)(cost; has property; money)(money; not causes; good)"),
    ("Cars harm cities.", "Cars make the air dirty.", "support",
     "(cars; causes; dirty)(dirty; has context; air)(air; causes; harm)"),
    ("Cars harm cities.", "Cars bring people to work.", "counter",
     "(cars; used for; bring)(bring; has context; work)(work; not causes; harm)"),
    ("Homework helps children.", "Children never learn without practice.", "support",
     "(homework; is a; practice)(practice; causes; learn)(learn; causes; helps)"),
    ("Homework helps children.", "Homework steals time from play.", "counter",
     "(homework; causes; steals)(steals; has context; play)(play; not causes; helps)"),
]  # fmt: skip
"""Belief, argument, stance and a graph that keeps the rules of the paper."""


def explagraphs(folder: Path) -> None:
    """Write eight samples, and predictions: three of four stances right, and graphs of one fact."""
    samples, right, single = [], [], []
    for i, (belief, argument, stance, graph) in enumerate(DEBATES):
        name = f"dev-{i}"
        samples.append({"id": name, "belief": belief, "argument": argument, "stance": stance,
                        "graph": graph})  # fmt: skip
        printed = stance if i % 4 else {"support": "counter", "counter": "support"}[stance]
        right.append({"id": name, "stance": printed, "graph": graph})
        single.append({"id": name, "given_stance": stance, "graph": graph.split(")")[0] + ")"})
    packed(folder / "explagraphs" / "dev.jsonl.gz", samples)
    packed(folder / "explagraphs" / "pred_maxmargin_dev.jsonl.gz", right)
    packed(folder / "explagraphs" / "pred_codex_dev.jsonl.gz", single)


PAIRED = [
    ("July", "warm", "Spain", "cold", "Chile"), ("Coffee", "cheap", "Brazil", "dear", "Norway"),
    ("Snow", "common", "Canada", "rare", "Egypt"), ("Rice", "popular", "China", "odd", "Ireland"),
    ("Winter", "long", "Finland", "short", "Italy"), ("Rain", "heavy", "India", "scarce", "Libya"),
    ("Football", "loved", "June", "ignored", "January"), ("Cake", "made", "May", "eaten", "March"),
    ("Sand", "hot", "August", "wet", "November"), ("Tea", "iced", "July", "hot", "December"),
    ("Gold", "sold", "April", "bought", "October"), ("Fish", "fresh", "March", "frozen", "August"),
]  # fmt: skip
"""Something, and what it is said to be in one place or month and in another."""
SOURCES = ("creak", "strategyqa", "commonsenseqa", "arc", "openbookqa")


def situatedgen(folder: Path) -> None:
    """Write twelve pairs of sentences on places and months, four in each split, with sources."""
    # Of five yes/no questions three were released with the statement that the plain rule makes.
    statements: dict[str, list[dict]] = {name: [] for name in SOURCES}
    pairs: dict[str, list[dict]] = {"train": [], "dev": [], "test": []}
    for i, (subject, *sides) in enumerate(PAIRED):
        label, asked = ("GPE", "Where") if i < 6 else ("DATE", "When")
        written, ids = [], []
        for j, (quality, entity) in enumerate((sides[:2], sides[2:])):
            source = SOURCES[(2 * i + j) % 5]
            rows = statements[source]
            text = f"{subject} is {quality} in {entity}"
            row = {"id": f"{source}::dev::{len(rows)}", "statement": f"{text}.",
                   "NERs": f"{entity}:{label}"}  # fmt: skip
            if source == "strategyqa":
                released = text if len(rows) < 3 else f"{text} as people say"
                row |= {"question": f"Is {subject.lower()} {quality} in {entity}?", "answer": True,
                        "statement": released}  # fmt: skip
            elif source in ("commonsenseqa", "arc"):
                row |= {"question": f"{asked} is {subject.lower()} {quality}?", "answer": entity}
            rows.append(row)
            written.append(f"{text}.")
            ids.append(row["id"])
        pairs[("train", "dev", "test")[i % 3]].append({
            "keywords": [sides[1], subject, sides[3], subject], "keywords_pos": [0, 0, 1, 1],
            "ids": ids, "statement": " ".join(written), "statements": written,
        })  # fmt: skip
    for name, rows in statements.items():
        packed(folder / "situatedgen" / f"statements_{name}.jsonl.gz", rows)
    for name, rows in pairs.items():
        packed(folder / "situatedgen" / f"{name}.jsonl.gz", rows)
