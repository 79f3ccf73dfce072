"""The same scores by this process, each engine that is installed, and over HTTP.

    python bench/equality.py [--copies 2] [--metrics relevance,repetition]

``examples/convai.jsonl`` is laid into files of other texts each, as often as it takes for 2,000
turns. Every value is compared by its bits, every status, reason and signature as text.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
from timed_shards import files_of

import grice
from grice.evaluation.scores import read_scores
from grice.integrations import ENGINES, Grading, score_on
from grice.records import json_line
from grice.serve import Limits
from grice.serve.app import application
from grice.serve.check import Request, exchange

TURNS = 2000
PATIENT = Limits(seconds=3600)  # all come at once


def of(scores: object) -> Counter[tuple[object, ...]]:
    """Return what of scores must agree, each as often as it is there."""
    return Counter(
        (s.meta["file"], s.conversation, s.turn, s.metric, s.value, s.status, s.reason, s.signature)
        for s in scores  # type: ignore[attr-defined]
    )


def over_http(files: list[Path], metrics: list[str]) -> list[grice.Score]:
    """Return the scores that the application answers with; each conversation is a request."""
    talks = [(file, talk) for file in files for talk in grice.read(file)]
    requests = [
        Request("POST", "/score", json_line({"id": talk.id, "turns": talk.turns}))
        for _, talk in talks
    ]
    with grice.load(*metrics, workers=1) as grader:
        replies = asyncio.run(exchange(application(grader, limits=PATIENT), requests))
    refused = [reply.body for reply in replies if reply.status != 200]
    assert not refused, refused[0]
    return [
        msgspec.convert({**score, "meta": {"file": str(file)}}, grice.Score)
        for (file, _), reply in zip(talks, replies, strict=True)
        for score in json.loads(reply.body)["scores"]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--metrics", default="relevance,repetition")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    arguments = parser.parse_args()
    metrics = arguments.metrics.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name, "in"), Path(name, "local.jsonl")
        turns = files_of(folder, arguments.copies)
        assert turns >= TURNS, turns
        files = sorted(folder.iterdir())
        grice.score_files(files, out, metrics=metrics)
        expected = of(score for _, score in read_scores(str(out)))
        print(f"{turns:,} turns, {expected.total():,} scores by this process", flush=True)
        by = {"HTTP": of(over_http(files, metrics))}
        _compare("HTTP", by["HTTP"], expected)
        for engine in arguments.engines:
            if importlib.util.find_spec(ENGINES[engine]) is None:
                print(f"{engine}: not installed")
                continue
            shards = Path(name, engine)
            for shard in score_on(engine, [folder], shards, Grading(tuple(metrics))):
                assert shard.problem is None, shard
            _compare(engine, of(s for _, s in read_scores(str(shards))), expected)
    print("load of this machine at the end:", f"{os.getloadavg()[0]:.1f}")


def _compare(by: str, found: Counter[object], expected: Counter[object]) -> None:
    missing, others = (expected - found).total(), (found - expected).total()
    same = "the same, bit for bit" if not missing and not others else "OTHERS"
    print(f"{by}: {found.total():,} scores, {missing} missing, {others} others: {same}", flush=True)


if __name__ == "__main__":
    main()
