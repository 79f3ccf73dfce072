"""``grice report``: the page of scores that are there is that of the run that wrote them."""

import base64
import gzip
import json
from pathlib import Path

import pytest

import grice
from grice.cli import main
from grice.integrations import Grading
from grice.integrations.engines import planned, score_shard
from report_trial import Page

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


def test_files_may_be_named_in_another_order_but_all_of_them(chats, shards, tmp_path, capsys):
    files = [str(file) for file in sorted(chats.iterdir(), reverse=True)]
    out = tmp_path / "out.jsonl"
    grice.score_files(sorted(chats.iterdir()), out, metrics=METRICS, speakers=["all"])
    for scores in (shards, out):
        assert main(["report", str(scores), *files, "-o", str(tmp_path / "page.html")]) == 0
    page = tmp_path / "another.html"
    for words, problem in (
        ([str(shards), files[-1]], "is not in the files given"),
        (["-", str(EXAMPLE)], "read twice"),
    ):
        assert main(["report", *words, "-o", str(page)]) == 2
        assert problem in capsys.readouterr().err
        assert not page.exists()
