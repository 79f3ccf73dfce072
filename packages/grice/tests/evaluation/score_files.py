"""Files of scores and labels for tests."""

import json
from pathlib import Path


def line(conversation, turn, value, metric="relevance", status="ok", **more):
    row = {"conversation": conversation, "turn": turn, "metric": metric, "value": value}
    row |= {"status": status, "reason": None, "flags": [], "evidence": []}
    return {**row, "signature": f"{metric}:1", **more}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def rows_of(file):
    return [json.loads(row) for row in Path(file).read_text("utf-8").splitlines()]
