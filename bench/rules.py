"""Precision of the rules of ``grice check`` on natural replies, and their recall on written logs.

    GRICE_DATA=../shared/data python bench/rules.py [--unread] [--development] [--write]

Natural findings in replies of bots, or of people in their place, were read and judged once:
``rules.jsonl`` holds the verdicts by a hash of rule and texts, which may not be passed on. Of rules
with many findings those with the lowest hashes were read; the others are left out. It also holds
the flaws of 100 random replies of the same sets: how often a random finding is right. ``--unread``
prints findings to read. Recall is on the closed logs of grice-research with keyed flaws, and on the
written items of ``tests/detectors/written.jsonl`` of grice. ``--write`` records the figures in
grice/detectors/measured.json, which decides what runs by default, and lists findings that were read
in ``docs/rules-read.md``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

import grice
from grice import Conversation, Turn
from grice.detectors import ALL, find_flaws
from grice.detectors.rules import FEWEST, Rule
from grice.errors import excerpt
from grice.readers import from_objects
from grice.scoring.loaded import judged_turns
from grice.stats.estimate import wilson_interval

HERE = Path(__file__).parent
PACKAGES = HERE.parent / "packages"
VERDICTS = HERE / "rules.jsonl"
WRITTEN = PACKAGES / "grice/tests/detectors/written.jsonl"
RECORD = PACKAGES / "grice/src/grice/detectors/measured.json"
LOGS = PACKAGES / "grice-research/src/grice_research/data/check_logs"
CLOSED = ("closed.jsonl", "closed_second.jsonl", "closed_third.jsonl", "closed_fourth.jsonl")
USED_UP = {
    "closed_second.jsonl": ("A401", "A402", "A405", "T110", "U501", "V601"),
    "closed_third.jsonl": ("A404",),
}
"""Rules that became stricter after a part was read; it does not count for them."""
READ = HERE.parent / "docs/rules-read.md"
LISTED, QUOTED = 10, 60
"""Right and wrong findings of a rule that are listed, and characters of their words."""
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
Counts = Counter[tuple[str, bool | str | None]]


class Finding(NamedTuple):
    """A finding whose verdict is known; ``key`` orders them at random."""

    code: str
    right: bool
    key: str
    place: str
    words: str


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
    read: list[Finding] = []
    replies, natural, seconds = measured(root, names, read, unread=given.unread)
    print(f"{replies:,} replies, {replies / seconds:,.0f} a second", file=sys.stderr)
    planted = written(read)
    for name in ("development.jsonl",) if given.development else CLOSED:
        used_up = USED_UP.get(name, ())
        planted.update(on_logs(LOGS / name, read, used_up, show=given.development))
    record = {rule.code: figures(rule, natural, planted, replies) for rule in ALL}
    text = ",\n".join(f'"{code}": {json.dumps(figures)}' for code, figures in record.items())
    print(text)
    if given.write and not given.development:
        RECORD.write_text(f"{{\n{text}\n}}\n", "utf-8")
        grice.detectors.rules.figures.cache_clear()
        READ.write_text(page(read), "utf-8")


def measured(
    root: Path, names: list[str], read: list[Finding], *, unread: bool
) -> tuple[int, Counts, float]:
    """Count replies and findings (rule, verdict), each different reply once."""
    verdicts = {line["key"]: line["flaw"] for line in _verdicts() if "key" in line}
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
                found[flaw.code, verdict := verdicts.get(hashed)] += 1
                if verdict is not None:
                    at = f"{name}, {talk.id}, turn {flaw.turn}"
                    read.append(Finding(flaw.code, verdict, hashed, at, " … ".join(flaw.quotes)))
                if hashed not in verdicts and unread:
                    before = [turn.text for turn in talk.turns[: flaw.turn][-3:]]
                    shown = {"key": hashed, "rule": flaw.rule, "set": name, "before": before}
                    print(json.dumps(shown | {"text": text, "others": others}))
    return replies, found, seconds


def _verdicts() -> list[dict]:
    return [json.loads(line) for line in VERDICTS.read_text("utf-8").splitlines()]


def on_logs(
    path: Path, read: list[Finding], used_up: Collection[str], *, show: bool = False
) -> Counts:
    """Count the keyed flaws of logs (True), those found (None), other findings (False), replies.

    Rules that are ``used_up`` do not count.
    """
    counts = Counts()
    for log in map(json.loads, path.read_text("utf-8").splitlines()):
        talk = from_objects(log["messages"], log["id"])
        expected = {name: log[name] for name in ("expected_trajectory",) if name in log}
        flaws = find_flaws(replace(talk, meta=expected), ALL, judged := judged_turns(talk))
        flaws = [flaw for flaw in flaws if flaw.code not in used_up]
        keyed = {(f["turn"], f["rule"]) for f in log["flaws"] if f["rule"] not in used_up}
        found = {(flaw.turn, flaw.code): flaw for flaw in flaws}
        for turn, code in keyed | found.keys():
            counts[code, True] += (turn, code) in keyed
            counts[code, None] += (turn, code) in keyed & found.keys()
            counts[code, False] += (turn, code) in found.keys() - keyed
        counts.update(
            (rule.code, "replies") for rule in ALL if rule.code not in used_up for _ in judged
        )
        for place, flaw in found.items():
            words = " … ".join(flaw.quotes) or flaw.message
            at = f"{path.stem}, {log['id']}, turn {flaw.turn}"
            read.append(Finding(flaw.code, place in keyed, at, at, words))
        if show:
            print(*(f"{log['id']} {each} {each in keyed}" for each in sorted(keyed ^ found.keys())))
    return counts


def written(read: list[Finding]) -> Counts:
    """Count the same of single written replies."""
    counts, codes = Counts(), {rule.name: rule.code for rule in ALL}
    for number, line in enumerate(WRITTEN.read_text("utf-8").splitlines(), 1):
        item = json.loads(line)
        turns = Turn("user", item["user"], "user"), Turn("bot", item["reply"], "assistant")
        flaws = find_flaws(Conversation("written", turns), ALL, [1])
        found = {flaw.code: flaw for flaw in flaws}
        code = codes[item["rule"]]
        counts[code, "replies"] += 1
        at = f"written.jsonl, line {number}"
        if code in found:
            quoted = " … ".join(found[code].quotes) or found[code].message
            read.append(Finding(code, item["flaw"], at, at, quoted))
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
    by_chance = [line["flaws"] for line in _verdicts() if "random" in line]
    natural_floor = sum(rule.code in flaws for flaws in by_chance) / len(by_chance)
    natural_floor = natural[rule.code, "flawed"] / max(replies, 1) or natural_floor
    written_floor = planted[rule.code, True] / max(planted[rule.code, "replies"], 1)
    floor = (read * natural_floor + (n - read) * written_floor) / n if n else 0.0
    return {
        "precision": round(share, 4), "low": round(low, 4), "high": round(high, 4), "n": n,
        "floor": round(floor, 4),
        "natural": read, "right": right, "replies": replies,
        "planted": planted[rule.code, True], "found": found,
    }  # fmt: skip


def page(read: list[Finding]) -> str:
    """Return the page with the findings that were read, of each default rule some."""
    lines = [
        "# Findings that were read", "",
        "Written by `python bench/rules.py --write`. Of each default rule, up to "
        f"{LISTED} right and {LISTED} wrong findings, at random: natural ones by set, conversation "
        "and turn, as the texts of the sets may not be passed on beyond a short quotation; and "
        "those in the closed written logs "
        "(`packages/grice-research/src/grice_research/data/check_logs`). "
        "See [rules](rules.md) for the counts.", "",
    ]  # fmt: skip
    for rule in (rule for rule in ALL if rule.is_default):
        lines += [f"## {rule.code} {rule.title}", ""]
        for right, title in ((True, "Right"), (False, "Wrong")):
            own = sorted(each for each in read if (each.code, each.right) == (rule.code, right))
            lines += [f"{title}: {len(own):,} in all" + ("" if own else ", none to list"), ""]
            for each in own[:LISTED]:
                plain = each.words.isprintable()
                words = json.dumps(excerpt(each.words, QUOTED), ensure_ascii=not plain)
                quoted = f"``{words.replace('`', chr(39))}``"
                shown = quoted if each.words.strip() else f"*{rule.title}*"
                lines.append(f"- {each.place}: {shown}")
            lines += [""] if own else []
    return "\n".join(lines)


if __name__ == "__main__":
    main()
