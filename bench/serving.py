"""What a service costs beside the library: one reply, many clients, and memory in a long run.

    python bench/serving.py [--seconds 20] [--write docs/scale.md]

A process of ``grice serve`` scores the replies of ``examples/convai.jsonl``, with one worker and
without a cache that outlives it; this process asks. Three figures, each beside the library in the
same run: the median time of a single reply; replies a second of 64 clients that ask for a reply
each, beside scoring all of them as one batch; resident memory of the service while they ask. Texts
are numbered, so that no answer is remembered.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import grice
import grice.scoring
from grice.scoring.items import responses

ROOT = Path(__file__).parents[1]
CHATS = ROOT / "examples" / "convai.jsonl"
CLIENTS = 64
SINGLES = 150
METRICS = "relevance,repetition"
MARKS = "<!-- what follows is written by bench/serving.py -->", "<!-- end of what it writes -->"


def bodies(count: int, salt: str) -> list[list[dict[str, str]]]:
    """Return the turns that end in each reply, as often as needed, none like another."""
    talks = [record for record in grice.read(CHATS) if isinstance(record, grice.Conversation)]
    conversations = [
        [*response.history[-4:], grice.Turn(response.speaker, response.text)]
        for talk in talks
        for response in responses(talk)
        if response.history
    ]
    return [
        [
            {"speaker": turn.speaker, "text": f"{turn.text} {salt}{number}"}
            for turn in conversations[number % len(conversations)]
        ]
        for number in range(count)
    ]


def ask(connection: HTTPConnection, turns: list[dict[str, str]]) -> None:
    body = json.dumps({"turns": turns, "targets": [len(turns) - 1]})
    connection.request("POST", "/score", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content


def library_call(grader: grice.scoring.Grader, turns: list[dict[str, str]]) -> None:
    grader.score(conversation(turns))


def conversation(turns: list[dict[str, str]]) -> grice.Conversation:
    spoken = tuple(grice.Turn(turn["speaker"], turn["text"]) for turn in turns)
    return grice.Conversation("talk", spoken, (len(spoken) - 1,))


def median_ms(call: object, items: list[list[dict[str, str]]]) -> float:
    times = []
    for item in items:
        began = time.perf_counter()
        call(item)  # type: ignore[operator]
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times[len(times) // 10 :])


def many_clients(port: int, seconds: float, memory: list[float]) -> tuple[float, float]:
    """Return replies a second of many clients, and the 95th centile of their waiting, in ms."""
    work = iter(bodies(1_000_000 if seconds > 120 else 40_000, "many"))
    lock, times = threading.Lock(), []
    end = time.perf_counter() + seconds

    def client() -> None:
        connection = HTTPConnection("127.0.0.1", port)
        while time.perf_counter() < end:
            with lock:
                turns = next(work)
            began = time.perf_counter()
            ask(connection, turns)
            times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        memory.append(resident(port))
        time.sleep(seconds / 20)
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    return len(times) / took, 1000 * sorted(times)[int(0.95 * len(times))]


def resident(port: int) -> float:
    """Return MiB that the service holds, as it says itself."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    match = re.search(r"^process_resident_memory_bytes (\d+)", text, re.MULTILINE)
    assert match is not None
    return int(match[1]) / 2**20


def measured(seconds: float) -> dict[str, float]:
    command = ["serve", "--port", "0", "-m", METRICS, "--workers", "1", "--no-cache"]
    service = subprocess.Popen(
        [sys.executable, "-m", "grice", *command], stderr=subprocess.PIPE, text=True
    )
    try:
        assert service.stderr is not None
        line = service.stderr.readline()
        port = int(re.search(r":(\d+) ", line)[1])  # type: ignore[index]
        return figures(port, seconds)
    finally:
        service.terminate()
        service.wait()


def figures(port: int, seconds: float) -> dict[str, float]:
    connection = HTTPConnection("127.0.0.1", port)
    with grice.load(*METRICS.split(","), workers=1) as grader:
        library = median_ms(lambda turns: library_call(grader, turns), bodies(SINGLES, "lib"))
        http = median_ms(lambda turns: ask(connection, turns), bodies(SINGLES, "http"))
        memory: list[float] = []
        rate, slow = many_clients(port, seconds, memory)
        talks = [conversation(turns) for turns in bodies(int(rate * seconds / 2) + 1, "batch")]
        began = time.perf_counter()
        grader.score(talks)
        batch = len(talks) / (time.perf_counter() - began)
    half = len(memory) // 2
    return {
        "library_ms": library,
        "http_ms": http,
        "ratio": http / library,
        "clients_rate": rate,
        "clients_p95_ms": slow,
        "batch_rate": batch,
        "share": rate / batch,
        "memory_half": statistics.median(memory[half : half + 3]),
        "memory_end": statistics.median(memory[-3:]),
        "seconds": seconds,
    }


def table(rates: dict[str, float]) -> str:
    rows = [
        ("a single reply, library", f"{rates['library_ms']:.1f} ms (median)"),
        (
            "a single reply, HTTP",
            f"{rates['http_ms']:.1f} ms, {rates['ratio']:.2f} of the library",
        ),
        ("one batch, library", f"{rates['batch_rate']:.0f} replies a second"),
        (
            f"{CLIENTS} clients, HTTP",
            f"{rates['clients_rate']:.0f} replies a second, {rates['share']:.0%} of the batch; "
            f"95 % within {rates['clients_p95_ms']:.0f} ms",
        ),
        (
            "memory of the service",
            f"{rates['memory_half']:.0f} MiB after {rates['seconds'] / 2:.0f} s of that, "
            f"{rates['memory_end']:.0f} MiB after {rates['seconds']:.0f} s",
        ),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join(["| what | measured |", "|---|---|", *lines]) + "\n"


def written_between(page: str, marks: tuple[str, str], content: str) -> str:
    """Return a page with other content between two marks, which it must have."""
    begin, end = marks
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    assert after or rest, f"the page has no mark {begin}"
    return f"{before}{begin}\n\n{content}\n{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    section = table(measured(arguments.seconds))
    print(section)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        arguments.write.write_text(written_between(page, MARKS, section), "utf-8")


if __name__ == "__main__":
    main()
