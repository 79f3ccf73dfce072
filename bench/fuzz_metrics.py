"""Judge every turn of the conversations at hand with every metric: no failure, on any of them.

    python bench/fuzz_metrics.py [--data DIR] [--shuffle] [--skip TURNS] [--limit TURNS]
                                 [--state FILE] [-m NAMES] [--engine shipped|tables]
                                 [--mode fast] [--seed 0]

Takes all conversations under DIR (or GRICE_DATA), of which each turn is judged once, as they are
or with the words of each turn in random order; a turn without references is given the one behind
it, so that metrics of references are asked too. With ``--engine tables`` the large networks give
way to tables (stand_ins.py), and every rule still runs. With ``--state`` the same command goes on
where it was stopped, and a finished one tells its figures again. ``--skip`` leaves out whole
conversations at the start until they hold so many turns to judge. The first failed scores of each
metric are printed with their texts; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import corpora
import msgspec
from stand_ins import StandIns

from grice.metrics.registry import find_metrics
from grice.models.models import Models
from grice.records import Conversation, Score
from grice.scoring.loaded import load_metric
from grice.scoring.run import WINDOW_TURNS, Scorer

SHOWN = 5
"""Failures of a metric that are printed; further ones are counted."""


class Progress(msgspec.Struct):
    """How far a run has come, and what it saw.

    Attributes:
        run: The arguments that decide what is judged, and by what.
        conversations: Conversations that are done.
        turns: Turns of them that were judged.
        seconds: Time spent, reading and start of the models left out.
        scores: Scores by status, by metric.
        failures: The first failures of each metric, as printed.
    """

    run: str
    conversations: int = 0
    turns: int = 0
    seconds: float = 0.0
    scores: dict[str, dict[str, int]] = {}
    failures: list[str] = []


def windows(arguments: argparse.Namespace, done: int) -> Iterator[list[Conversation]]:
    """Yield conversations of about as many turns to judge as a run takes at once."""
    window: list[Conversation] = []
    turns = 0
    everything = corpora.conversations(corpora.folder(arguments.data))
    for conversation in islice(after(everything, arguments.skip), done, None):
        talk = corpora.shuffled(conversation, arguments.seed) if arguments.shuffle else conversation
        window.append(_with_references(talk))
        turns += len(conversation.targets or ())
        if turns >= WINDOW_TURNS:
            yield window
            window, turns = [], 0
    if window:
        yield window


def after(conversations: Iterator[Conversation], turns: int) -> Iterator[Conversation]:
    """Return what follows the first conversations that hold at least so many turns to judge."""
    skipped = 0
    while skipped < turns:
        conversation = next(conversations, None)
        if conversation is None:
            break
        skipped += len(conversation.targets or ())
    return conversations


def _with_references(conversation: Conversation) -> Conversation:
    texts = [turn.text for turn in conversation.turns]
    behind = [*texts[1:], texts[0]]
    turns = tuple(
        msgspec.structs.replace(turn, references=turn.references or (text,))
        for turn, text in zip(conversation.turns, behind, strict=True)
    )
    return msgspec.structs.replace(conversation, turns=turns)


def count(progress: Progress, talk: Conversation, scores: Sequence[Score]) -> None:
    """Count the scores of a conversation and print those that failed."""
    for score in scores:
        counts = progress.scores.setdefault(score.metric, {})
        counts[score.status] = counts.get(score.status, 0) + 1
        if score.status == "failed" and counts["failed"] <= SHOWN:
            place = score.turn or 0
            texts = [turn.text[:300] for turn in talk.turns[max(0, place - 1) : place + 1]]
            line = f"{score.metric}: {talk.id} #{score.turn}: {score.reason}: {texts}"
            progress.failures.append(line)
            print(line, flush=True)


def summary(progress: Progress, order: str) -> str:
    judged = sum(counts.get("ok", 0) for counts in progress.scores.values())
    failed = sum(counts.get("failed", 0) for counts in progress.scores.values())
    total = sum(sum(counts.values()) for counts in progress.scores.values())
    rate = progress.turns / progress.seconds if progress.seconds else 0.0
    return (
        f"{progress.turns:,} turns of {progress.conversations:,} conversations, {order}, by "
        f"{len(progress.scores)} metrics: {total:,} scores, {judged:,} ok, {failed:,} failed; "
        f"{rate:,.1f} turns/s"
    )


def opened(arguments: argparse.Namespace, run: str) -> Progress:
    """Return what an earlier run of the same arguments left, or a beginning."""
    if arguments.state is None or not arguments.state.exists():
        return Progress(run)
    progress = msgspec.json.decode(arguments.state.read_bytes(), type=Progress)
    if progress.run != run:
        sys.exit(f"{arguments.state}: of another run ({progress.run}); remove it or name another")
    return progress


def keep(progress: Progress, path: Path | None) -> None:
    if path is not None:
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(msgspec.json.encode(progress))
        fresh.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("-m", "--metrics", help="comma-separated; all there are without it")
    parser.add_argument("--engine", choices=("shipped", "tables"), default="shipped")
    parser.add_argument("--mode", choices=("exact", "fast"), default="fast")
    parser.add_argument("--shuffle", action="store_true", help="the words of each turn at random")
    parser.add_argument("--skip", type=int, default=0, help="turns left out at the start, about")
    parser.add_argument("--limit", type=int, help="turns that are judged, about")
    parser.add_argument("--state", type=Path, help="file that keeps how far it has come")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = (arguments.metrics or ",".join(find_metrics().metrics)).split(",")
    order = f"shuffled by seed {arguments.seed}" if arguments.shuffle else "as they are"
    if arguments.skip:
        order += f", the first {arguments.skip:,} turns left out"
    progress = opened(arguments, f"{' '.join(names)}, {order}, {arguments.engine}")
    kind = Models if arguments.engine == "shipped" else StandIns
    with closing(kind(mode=arguments.mode, workers=1, cache=None)) as models:
        registry = find_metrics()
        scorer = Scorer([load_metric(registry.named(name), models, {}) for name in names])
        for window in windows(arguments, progress.conversations):
            if arguments.limit is not None and progress.turns >= arguments.limit:
                break
            start = time.monotonic()
            groups = scorer.score(window)
            progress.seconds += time.monotonic() - start
            for talk, scores in zip(window, groups, strict=True):
                count(progress, talk, scores)
            progress.conversations += len(window)
            progress.turns += sum(len(talk.targets or ()) for talk in window)
            keep(progress, arguments.state)
            print(summary(progress, order), file=sys.stderr, flush=True)
    print(summary(progress, order))
    return 1 if any("failed" in counts for counts in progress.scores.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
