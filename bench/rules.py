"""Precision of the rules of ``grice check`` on natural replies, and their recall on written logs.

    GRICE_DATA=../shared/data python bench/rules.py [--unread] [--development] [--write]

Natural findings in replies of bots, or of people in their place, were read and judged once:
``rules.jsonl`` holds the verdicts by a hash of rule and texts, which may not be passed on. Of rules
with many findings those with the lowest hashes were read; the others are left out. ``--unread``
prints findings to read. Recall is on the logs of grice-research with keyed flaws (the closed part),
and on the written items of ``tests/detectors/written.jsonl`` of grice. ``--write`` records the
figures in grice/detectors/measured.json, which decides what runs by default.
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
from itertools import islice
from pathlib import Path

import grice
from grice import Conversation, Turn
from grice.detectors import ALL, find_flaws
from grice.detectors.rules import FEWEST, Rule
from grice.readers import from_objects
from grice.scoring.loaded import judged_turns
from grice.stats.estimate import wilson_interval

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "packages"
VERDICTS = HERE / "rules.jsonl"
WRITTEN = PACKAGES / "grice/tests/detectors/written.jsonl"
RECORD = PACKAGES / "grice/src/grice/detectors/measured.json"
LOGS = PACKAGES / "grice-research/src/grice_research/data/check_logs"
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
"""Sets that no rule was made on, but for three on text that a first reading made stricter."""
REPLIES = ("response", "reply", "chosen", "rejected")
BOTS = frozenset({"system", "bot", "assistant", "Bot"})
PEOPLE = "topical_chat/test"  # conversations of people, to see how often default rules raise
Counts = Counter[tuple[str, bool | None]]


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
    for option in ("--unread", "--development", "--write"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_args()
    if not (root := Path(os.environ.get("GRICE_DATA", ""))).is_dir() or not root.name:
        sys.exit("name the folder of the data sets: GRICE_DATA")
    names = (DEVELOPMENT if given.development else EVALUATION).split()
    replies, natural, seconds = measured(root, names, unread=given.unread)
    print(f"{replies:,} replies, {replies / seconds:,.0f} a second", file=sys.stderr)
    people = [talk for talk, _ in islice(talks(root, PEOPLE), 200)]
    raised = grice.check(*people, speakers=["all"])
    print(raised.count, "findings in", raised.replies, "turns of people", file=sys.stderr)
    part = "development" if given.development else "closed"
    planted, missed = on_logs(LOGS / f"{part}.jsonl")
    planted.update(written())
    record = {rule.code: figures(rule, natural, planted, replies) for rule in ALL}
    text = ",\n".join(f'"{code}": {json.dumps(figures)}' for code, figures in record.items())
    print(text, *(missed if given.development else ()), sep="\n")
    if given.write and not given.development:
        RECORD.write_text(f"{{\n{text}\n}}\n", "utf-8")


def measured(root: Path, names: list[str], *, unread: bool) -> tuple[int, Counts, float]:
    """Count replies and findings (rule, verdict), each different reply once."""
    read = map(json.loads, VERDICTS.read_text("utf-8").splitlines())
    verdicts = {verdict["key"]: verdict["flaw"] for verdict in read}
    replies, seconds, found, seen = 0, 0.0, Counts(), set()
    for name in names:
        for talk, sides in talks(root, name):
            judged = [turn for turn, is_bot in sides.items() if is_bot]
            replies += len(judged)
            start = time.process_time()
            flaws = find_flaws(talk, ALL, judged)
            seconds += time.process_time() - start
            for flaw in flaws:
                text = talk.turns[flaw.turn].text
                # The text does not tell if an empty reply, or one in its context, is flawed.
                others = [talk.turns[s.turn].text for s in flaw.spans if s.turn != flaw.turn]
                whole = f"{flaw.rule}\nbot\n" + "\n".join([text, *others]).strip()
                hashed = blake2b(whole.encode(), digest_size=8).hexdigest()
                place = (hashed, "" if text.strip() else f"{name} {talk.id} {flaw.turn}")
                if place in seen:
                    continue
                seen.add(place)
                found[flaw.code, verdicts.get(hashed)] += 1
                if hashed not in verdicts and unread:
                    before = [turn.text for turn in talk.turns[: flaw.turn][-3:]]
                    shown = {"key": hashed, "rule": flaw.rule, "set": name, "before": before}
                    print(json.dumps(shown | {"text": text, "others": others}))
    return replies, found, seconds


def on_logs(path: Path) -> tuple[Counts, list[str]]:
    """Count the keyed flaws of logs (True), those found (None), and other findings (False)."""
    counts, missed = Counts(), []
    for log in map(json.loads, path.read_text("utf-8").splitlines()):
        talk = from_objects(log["messages"], log["id"])
        keyed = {(flaw["turn"], flaw["rule"]) for flaw in log["flaws"]}
        found = {(f.turn, f.code) for f in find_flaws(talk, ALL, judged_turns(talk))}
        for turn, code in keyed | found:
            counts[code, True] += (turn, code) in keyed
            counts[code, None] += (turn, code) in keyed & found
            counts[code, False] += (turn, code) in found - keyed
        missed += [f"{log['id']} {place} {place in keyed}" for place in sorted(keyed ^ found)]
    return counts, missed


def written() -> Counts:
    """Count the same of single written replies."""
    counts, codes = Counts(), {rule.name: rule.code for rule in ALL}
    for line in WRITTEN.read_text("utf-8").splitlines():
        item = json.loads(line)
        turns = Turn("user", item["user"], "user"), Turn("bot", item["reply"], "assistant")
        found = {flaw.code for flaw in find_flaws(Conversation("written", turns), ALL, [1])}
        code = codes[item["rule"]]
        counts[code, True] += item["flaw"]
        counts[code, None] += item["flaw"] and code in found
        counts[code, False] += not item["flaw"] and code in found
    return counts


def figures(rule: Rule, natural: Counts, planted: Counts, replies: int) -> dict[str, float]:
    """Return the figures of a rule; too few natural findings are pooled with written ones."""
    right, found = natural[rule.code, True], planted[rule.code, None]
    read = right + natural[rule.code, False]
    pooled = read < FEWEST
    n = read + pooled * (found + planted[rule.code, False])
    share = (right + pooled * found) / n if n else 0.0
    low, high = wilson_interval(share, n) if n else (0.0, 1.0)
    return {
        "precision": round(share, 4), "low": round(low, 4), "high": round(high, 4), "n": n,
        "natural": read, "right": right, "replies": replies,
        "planted": planted[rule.code, True], "found": found,
    }  # fmt: skip


if __name__ == "__main__":
    main()
