"""Judges by an endpoint, tried on a server of this machine that speaks the chat protocol.

python bench/endpoint.py faults       what becomes of each fault of a server
python bench/endpoint.py busy         how busy a server of 50 ms is kept at its concurrency limit
python bench/endpoint.py audit        grice audit of a stub judge that does what a text asks for
python bench/endpoint.py plan         what 1,000 replies would cost, with and without a price
"""

from __future__ import annotations

import json
import sys
import tempfile
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from grice.cli import main  # noqa: E402
from grice.metrics.judging import Rating  # noqa: E402
from grice.models.endpoint.spending import Terms  # noqa: E402
from grice.models.models import Models  # noqa: E402
from grice.models.protocols import Chat, ChatRequest, Message, Unanswered  # noqa: E402
from stub_endpoint import StubEndpoint, gullible  # noqa: E402

FAULTS = (
    "429", "500", "truncated", "cut", "prose", "out of range", "two objects", "two answers",
    "no answer", "slow", "closed", "no schema",
)  # fmt: skip
REQUESTS = 100
DELAY = 0.05
REPLIES = 1000
PRICES = """\
currency = "USD"
source = "an example"
[models.stub]
prompt = 0.15
completion = 0.60
"""


def asked(model: str, terms: Terms, count: int) -> tuple[list, object]:
    requests = [
        ChatRequest((Message("user", json.dumps({"history": [], "reply": f"reply {i}"})),))
        for i in range(count)
    ]
    with Models(mode="fast", workers=1, cache=None, terms=terms) as models:
        return models.open(model, Chat).answers(requests, Rating), models.usage[0]


def faults() -> None:
    """Each fault, once for each of ten items, and then always."""
    terms = Terms(pause=0.01, longest_pause=0.05, timeout=0.5, attempts=3, concurrency=10)
    print(f"{'fault':<14}{'when':<8}{'answered':>9}{'failed':>7}{'requests':>9}  why")
    for fault in FAULTS:
        for when in ("once", "always"):
            always = fault if when == "always" else ""
            once = fault if when == "once" else ""
            with StubEndpoint(once=once, always=always) as server:
                answers, usage = asked(server.model, terms, 10)
            failed = sum(isinstance(answer, Unanswered) for answer in answers)
            reason = next(iter(usage.unanswered or usage.repeated), "")
            print(f"{fault:<14}{when:<8}{10 - failed:>9}{failed:>7}{usage.requests:>9}  {reason}")


def busy() -> None:
    """Mean requests under way at the server, a process of its own, of as many as may be."""
    print(f"{'limit':>6}{'requests':>9}{'seconds':>9}{'least':>7}{'kept busy':>10}")
    for limit in (1, 4, 8, 16, 32):
        ours, theirs = Pipe()
        process = Process(target=serve, args=(theirs,))
        process.start()
        asked(ours.recv(), Terms(concurrency=limit), REQUESTS * limit)
        ours.send("end")
        held, took = ours.recv()
        process.join()
        least = REQUESTS * DELAY
        kept = held / took / limit
        print(f"{limit:>6}{REQUESTS * limit:>9}{took:>9.2f}{least:>7.2f}{kept:>10.1%}")


def serve(pipe: Connection) -> None:
    """Run a server until something comes; send how long its requests took, and all together."""
    with StubEndpoint(delay=DELAY) as server:
        pipe.send(server.model)
        pipe.recv()
        pipe.send((server.seconds, server.last - server.times[0]))


def audit() -> None:
    """A judge that believes what a text says of itself."""
    with StubEndpoint(gullible) as server:
        main(["audit", server.model, "-m", "judge_relevance", "--items", "40", "--yes"])


def plan() -> None:
    """What judging 1,000 replies would cost."""
    with tempfile.TemporaryDirectory() as folder, StubEndpoint() as server:
        talks = Path(folder) / "talks.jsonl"
        messages = [
            [
                {"role": "user", "content": f"What did you do on day {i} of your holiday?"},
                {"role": "assistant", "content": "We walked along the coast and swam twice."},
            ]
            for i in range(REPLIES)
        ]
        talks.write_text("".join(json.dumps({"messages": m}) + "\n" for m in messages))
        prices = Path(folder) / "prices.toml"
        prices.write_text(PRICES)
        words = ["score", str(talks), "--models", server.model, "--dry-run"]
        main(words)
        main([*words, "--prices", str(prices)])
        assert not server.requests


if __name__ == "__main__":
    {"faults": faults, "busy": busy, "audit": audit, "plan": plan}[sys.argv[1]]()
