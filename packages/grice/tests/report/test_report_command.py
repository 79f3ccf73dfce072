"""``grice report``: the page of scores that are there is that of the run that wrote them."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
from report_trial import Page

import grice
from grice.cli import main
from grice.integrations import Grading
from grice.integrations.engines import planned, score_shard

pytest.importorskip("pyarrow")

EXAMPLE = Path(__file__).parents[4] / "examples" / "convai.jsonl"
METRICS = ("log_length", "repetition")


@pytest.fixture
def chats(tmp_path):
    folder = tmp_path / "chats"
    folder.mkdir()
    lines = EXAMPLE.read_text().splitlines()[:9]
    for part in range(3):
        text = "\n".join([*lines[part::3], '{"messages": []}']) + "\n"
        (folder / f"{part}.jsonl").write_text(text)
    return folder


@pytest.fixture
def shards(chats, tmp_path):
    tasks, _ = planned([chats], tmp_path / "shards", Grading(METRICS, speakers=("all",)))
    assert not any(score_shard(task).problem for task in tasks)
    return tmp_path / "shards"


def blocks(page):
    """Return the data that a page holds, block by block."""
    scripts = Page(page.read_text("utf-8")).scripts
    packed = {name: text for name, text in scripts.items() if name.startswith(("g-chunk", "g-ind"))}
    return {
        name: [json.loads(line) for line in gzip.decompress(base64.b64decode(text)).split(b"\n")]
        for name, text in packed.items()
    }


def test_the_page_of_shards_is_that_of_the_run(chats, shards, tmp_path, capsys):
    run = grice.score_files(
        sorted(chats.iterdir()), metrics=METRICS, report=tmp_path / "run.html", speakers=["all"]
    )
    page = tmp_path / "shards.html"
    assert main(["report", str(shards), str(chats), "-o", str(page), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary == json.loads(json.dumps(run.record() | {"metrics": summary["metrics"]}))
    assert summary["skipped"] == 3
    assert [metric["mean"] for metric in summary["metrics"]] == [
        metric.mean.value for metric in run.metrics
    ]
    assert blocks(page) == blocks(tmp_path / "run.html")


def test_files_that_were_named_in_another_order_are_put_in_that_of_the_shards(
    chats, shards, tmp_path
):
    files = [str(file) for file in sorted(chats.iterdir(), reverse=True)]
    assert main(["report", str(shards), *files, "-o", str(tmp_path / "page.html")]) == 0


def test_conversations_that_are_not_there_are_named_and_no_page_is_left(
    chats, shards, tmp_path, capsys
):
    page = tmp_path / "page.html"
    assert main(["report", str(shards), str(chats / "0.jsonl"), "-o", str(page)]) == 2
    assert "is not in the files given" in capsys.readouterr().err
    assert not page.exists()


def test_scores_from_standard_input_are_refused(tmp_path, capsys):
    words = ["-", str(EXAMPLE), "-o", str(tmp_path / "page.html")]
    assert main(["report", *words]) == 2
    assert "read twice" in capsys.readouterr().err
