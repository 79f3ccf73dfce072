"""Files of scores and labels for tests."""

from __future__ import annotations

import json
from pathlib import Path


def line(conversation, turn, value, metric="relevance", status="ok", **more):
    row = {
        "conversation": conversation,
        "turn": turn,
        "metric": metric,
        "value": value,
        "status": status,
        "reason": None,
        "flags": [],
        "evidence": [],
        "signature": f"{metric}:1",
    }
    return {**row, **more}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def rows_of(file):
    return [json.loads(row) for row in Path(file).read_text("utf-8").splitlines()]
