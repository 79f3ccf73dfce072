"""What a service has done, in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the seconds that requests took."""
PAGE = 4096
STATM = Path("/proc/self/statm")


class Counters:
    """Counts since the service began; several threads may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._batches = 0
        self._batched = 0
        self._turns = 0
        self.waiting_turns = 0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request by its path and how it was answered."""
        with self._lock:
            self._requests[path, status] += 1
            self._seconds[path] += seconds  # type: ignore[assignment] # sums of seconds
            for bound in BOUNDS:
                self._within[path, bound] += seconds <= bound

    def scored(self, requests: int, turns: int) -> None:
        """Count requests whose turns were scored together."""
        with self._lock:
            self._batches += 1
            self._batched += requests
            self._turns += turns

    def text(self) -> str:
        """Return all counts as Prometheus reads them."""
        with self._lock:
            lines = [
                *_head("grice_requests_total", "counter", "Requests by path and status."),
                *(
                    f'grice_requests_total{{path="{path}",status="{status}"}} {count}'
                    for (path, status), count in sorted(self._requests.items())
                ),
                *_head("grice_request_seconds", "histogram", "Seconds until the answer."),
                *self._histogram(),
            ]
            single = (
                ("grice_batches_total", "counter", "Batches scored.", self._batches),
                ("grice_batched_requests_total", "counter", "Requests in them.", self._batched),
                ("grice_turns_total", "counter", "Turns in them.", self._turns),
                ("grice_waiting_turns", "gauge", "Turns accepted, not scored.", self.waiting_turns),
                ("process_resident_memory_bytes", "gauge", "Memory held.", _memory()),
            )
        for name, kind, about, value in single:
            lines += [*_head(name, kind, about), f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        lines = []
        for path, seconds in sorted(self._seconds.items()):
            count = sum(n for (counted, _), n in self._requests.items() if counted == path)
            lines += [
                f'grice_request_seconds_bucket{{path="{path}",le="{bound}"}} '
                f"{self._within[path, bound]}"
                for bound in BOUNDS
            ]
            lines += [
                f'grice_request_seconds_bucket{{path="{path}",le="+Inf"}} {count}',
                f'grice_request_seconds_sum{{path="{path}"}} {seconds:.6f}',
                f'grice_request_seconds_count{{path="{path}"}} {count}',
            ]
        return lines


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _memory() -> int:
    """Return the bytes of memory held; 0 where the system does not tell."""
    try:
        return int(STATM.read_text().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0
