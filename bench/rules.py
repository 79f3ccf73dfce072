"""Precision of the rules for certain flaws on natural replies, and their recall on written ones.

    GRICE_DATA=../shared/data python bench/certain_flaws.py [--unread]

Each finding was read and judged once; ``certain_flaws.jsonl`` holds the verdicts by a hash of rule,
side and reply, so that texts that may not be passed on stay where they are. Equal replies of bots,
or of people, count once. Findings without a verdict are counted apart, and ``--unread`` prints them
for reading. Recall is on the written items of ``tests/detectors/written.jsonl`` of grice. Prints
tables in Markdown.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from grice import Conversation, Turn
from grice.detectors import RULES, certain_flaws
from grice.stats.estimate import wilson_interval

HERE = Path(__file__).parent
VERDICTS = HERE / "certain_flaws.jsonl"
WRITTEN = HERE.parent / "packages/grice/tests/detectors/written.jsonl"
DEVELOPMENT = (
    "ab_redial casino chatterbot_corpus convai2017 dbdc3 dices everyday_conversations "
    "irc_disentangled persuasion_for_good schema_guided/dev star synthetic_persona_chat/valid "
    "taskmaster4 topical_chat/valid"
)
"""Sets on which the rules were made."""
EVALUATION = (
    "abc_eval ci_tod convai2_rated dailydialog decode_human_bot grounded_replies hh_harmless "
    "llm_pairs rated/conture_dialogue rated/dailydialog rated/dstc9 rated/fed_dialogue rated/grade "
    "rated/predictive rated/reliable rated/usr rgm_contradiction synthetic_persona_chat/test "
    "topical_chat/test uss_satisfaction wow_plus_plus"
)
"""Sets that no rule was made on. False findings of a first reading made three rules stricter, so
that the figures of these sets are no longer those of unseen data."""
REPLIES = ("response", "reply", "chosen", "rejected")
BOTS = frozenset({"system", "bot", "assistant", "Bot"})


def key(rule: str, text: str, *, bot: bool) -> str:
    said_by = "bot" if bot else "person"
    return blake2b(f"{rule}\n{said_by}\n{text.strip()}".encode(), digest_size=8).hexdigest()


def talks(root: Path, name: str) -> Iterator[tuple[Conversation, dict[int, bool]]]:
    """Yield conversations of a set, with the turns to judge and whether a bot says them."""
    folder, _, part = name.partition("/")
    for path in sorted((root / folder).glob(f"{part}*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for record in map(json.loads, file):
                if not record.get("meta", {}).get("amt50"):  # 50 conversations that only evaluate
                    yield from _of_record(record, folder)


def _of_record(record: dict, folder: str) -> Iterator[tuple[Conversation, dict[int, bool]]]:
    said = record.get("turns") or record.get("context") or []
    if "message" in record:  # its context is a list of texts
        texts = [*said, record["message"]]
        said = [{"speaker": "ab"[i % 2], "text": text} for i, text in enumerate(texts)]
    turns = tuple(Turn(turn["speaker"] or "?", turn["text"]) for turn in said)
    users = record.get("meta", {}).get("users", {})
    if "turns" in record:
        bots = (users.get(turn.speaker, turn.speaker) in BOTS for turn in turns)
        made = folder in ("everyday_conversations", "synthetic_persona_chat")
        yield Conversation(record["id"], turns), {i: made or bot for i, bot in enumerate(bots)}
    for field in REPLIES:
        if isinstance(reply := record.get(field), str):
            whole = (*turns, Turn("system", reply))
            yield Conversation(record["id"], whole), {len(turns): True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unread", action="store_true")
    unread = parser.parse_args().unread
    if not (root := Path(os.environ.get("GRICE_DATA", ""))).is_dir() or not root.name:
        sys.exit("name the folder of the data sets: GRICE_DATA")
    read = map(json.loads, VERDICTS.read_text("utf-8").splitlines())
    verdicts = {verdict["key"]: verdict["flaw"] for verdict in read}
    for title, names in (("development", DEVELOPMENT), ("evaluation", EVALUATION)):
        replies, found, seconds = measured(root, names.split(), verdicts, unread=unread)
        print(f"\n{title}: {replies[False]:,} replies of people, {replies[True]:,} of bots,"
              f" {sum(replies.values()) / seconds:,.0f} a second\n")  # fmt: skip
        print("| rule | people: right of read | bots: right of read | precision | 95 % | unread |")
        print("|---|---:|---:|---:|---:|---:|")
        for rule in RULES:
            print(row(rule, found))
    print("\n| rule | recall on written flaws | false alarms on near misses |\n|---|---:|---:|")
    for rule, counts in written().items():
        flaws, sound = counts[True, True] + counts[True, False], counts[False, True]
        near = sound + counts[False, False]
        print(f"| {rule} | {counts[True, True]} of {flaws} | {sound} of {near} |")


def measured(
    root: Path, names: list[str], verdicts: dict[str, bool], *, unread: bool
) -> tuple[Counter[bool], Counter[tuple[str, bool, bool | None]], float]:
    """Count replies and findings (rule, by a bot, verdict), each different reply once."""
    replies: Counter[bool] = Counter()
    found: Counter[tuple[str, bool, bool | None]] = Counter()
    seen = set()
    seconds = 0.0
    for name in names:
        for talk, judged in talks(root, name):
            replies.update(judged.values())
            start = time.process_time()
            flaws = certain_flaws(talk, judged)
            seconds += time.process_time() - start
            for flaw in flaws:
                text = talk.turns[flaw.turn].text
                # An empty reply has no text that could tell it from others.
                hashed = key(flaw.rule, text, bot=judged[flaw.turn])
                place = (hashed, "" if text.strip() else f"{name} {talk.id} {flaw.turn}")
                if place in seen:
                    continue
                seen.add(place)
                verdict = verdicts.get(hashed)
                found[flaw.rule, judged[flaw.turn], verdict] += 1
                if verdict is None and unread:
                    shown = {"key": hashed, "rule": flaw.rule, "bot": judged[flaw.turn]}
                    print(json.dumps({**shown, "text": text}))
    return replies, found, seconds


def row(rule: str, found: Counter[tuple[str, bool, bool | None]]) -> str:
    """Return a line of the table."""
    right = {bot: found[rule, bot, True] for bot in (False, True)}
    read = {bot: right[bot] + found[rule, bot, False] for bot in (False, True)}
    n = sum(read.values())
    share = sum(right.values()) / n if n else None
    low, high = (0.0, 0.0) if share is None else wilson_interval(share, n)
    shown = "– | –" if share is None else f"{share:.3f} | {low:.3f} – {high:.3f}"
    cells = " | ".join(f"{right[bot]:,} of {read[bot]:,}" for bot in (False, True))
    unread = found[rule, False, None] + found[rule, True, None]
    return f"| {rule} | {cells} | {shown} | {unread:,} |"


def written() -> dict[str, Counter[tuple[bool, bool]]]:
    """Count written items by rule: whether each has the flaw, and whether it is found."""
    counts: dict[str, Counter[tuple[bool, bool]]] = {rule: Counter() for rule in RULES}
    for line in WRITTEN.read_text("utf-8").splitlines():
        item = json.loads(line)
        turns = Turn("user", item["user"], "user"), Turn("bot", item["reply"], "assistant")
        rules = {flaw.rule for flaw in certain_flaws(Conversation("written", turns))}
        counts[item["rule"]][item["flaw"], item["rule"] in rules] += 1
    return counts


if __name__ == "__main__":
    main()
