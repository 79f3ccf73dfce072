"""Put the trained head and its card into the package.

python recipes/events/pack.py
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

from states import WORK, split_of

from grice.evaluation.trained import record_texts
from grice.runtime.bundle import file_sha256, shipped_bundles

DATA = (
    "topical_chat valid_freq, valid_rare (CDLA-Sharing 1.0)",
    "persuasion_for_good (Apache-2.0)",
    "synthetic_persona_chat valid (CC BY 4.0)",
    "casino train, valid (CC BY 4.0)",
    "convai2017 without amt50 (Apache-2.0)",
    "pd_fiction plays and conversations, train (US public domain)",
    "star (MIT)",
    "labels: rules over the parses of spaCy's small English model en_core_web_sm 3.8 (MIT)",
)
SELECTION = (
    "span F1 on valid conversations of the training corpora: epoch, seed, amount of data",
    "DECO train: read by eye to mend the rules for labels and for persons",
)


def value(item: object) -> str:
    """Return a TOML value; JSON strings, numbers and arrays are TOML too."""
    return json.dumps(item, ensure_ascii=False)


def card(settings: dict[str, object], counts: dict[str, int], digest: str) -> str:
    dropped = counts["dropped: stands in an evaluation set"]
    lines = [
        'name = "events"',
        'kind = "span-head"',
        'version = "1"',
        'summary = "Spans of events (a predicate with its core arguments) in a turn of talk."',
        'licence = "Apache-2.0"',
        'encoder = "encoder"',
        'inputs = "a turn: the token states of the encoder, each with its neighbours"',
        'outputs = "character spans, each with its probability under the chain of tags"',
        "",
        "[training]",
        f"data = {value(DATA)}",
        f"selection = {value(SELECTION)}",
        "excluded = "
        + value(
            f"{dropped} turns that stand (letters and digits, lower case) in DECO, the ConTurE "
            f"subset or the rated sets, among {counts['evaluated texts']} such texts; "
            f"{counts['turns']} turns were labelled"
        ),
        f"command = {value(settings['command'])}",
        f"seeds = {value(sorted(int(s) for s in settings['seeds']))}",  # type: ignore[call-overload]
        "",
        "[settings]",
        *(
            f"{name} = {value(settings[name])}"
            for name in ("label", "reach", "start", "transitions")
        ),
    ]
    quality = WORK / "quality.json"
    for row in json.loads(quality.read_text()) if quality.exists() else []:
        lines += ["", "[[quality]]"]
        lines += [
            f"{k} = {value(round(v, 4) if isinstance(v, float) else v)}" for k, v in row.items()
        ]
    return "\n".join([*lines, "", "[files]", f'"head.npz" = "{digest}"', ""])


def learned() -> Iterator[str]:
    """Yield the turns that trained it or chose epoch and seed."""
    for line in (WORK / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if split_of(row["conversation"]) < 2:
            yield row["text"]


def main() -> None:
    folder = shipped_bundles()["encoder"].parent / "events"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(WORK / "head.npz", folder / "head.npz")
    settings = json.loads((WORK / "settings.json").read_text())
    counts = json.loads((WORK / "labels.counts.json").read_text())
    (folder / "card.toml").write_text(
        card(settings, counts, file_sha256(folder / "head.npz")), "utf-8"
    )
    record_texts(folder, learned())
    print(folder.name, (folder / "head.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
