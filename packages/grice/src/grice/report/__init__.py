"""The report: one HTML file with every score and the evidence behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

if TYPE_CHECKING:
    from grice.readers import Reading
    from grice.report.writer import ReportWriter
    from grice.scoring import Settings
    from grice.scoring.api import Scorer
    from grice.scoring.summary import Summary


def score_files(
    paths: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    *,
    metrics: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the flag's name
    columns: Mapping[str, str] | None = None,
    bad_records: Literal["skip", "fail"] = "skip",
    resume: bool = True,
    report: str | Path | None = None,
    sample: int | None = None,
    seed: int = 0,
    **settings: Unpack[Settings],
) -> Summary:
    r"""Score files of conversations, as ``grice score`` does, and return the summary.

    An interrupted run is resumed by the same call; the finished file is the same, byte for byte.
    With several files, the ``meta`` of each score names its file.
    Memory does not grow with the input.

    Args:
        paths: A path, or several: files in any known format, gzipped or not, directories, or
            ``-`` for standard input.
        output: One score a line as JSON, gzipped if its name ends in ``.gz``, or a table if it
            ends in ``.parquet`` or ``.arrow``; ``-`` is standard output, None writes none.
        metrics: Names of metrics; by default those of ``grice score``.
        format: Format of the files; None detects it.
        columns: Column names of tables by their meaning; see :func:`grice.read`.
        bad_records: Count a record that cannot be read in the summary (``skip``), or raise it.
        resume: Resume an interrupted run; if false, start again.
        report: Path of the HTML report.
        sample: Number of conversations to score, drawn at random.
        seed: Seed of the sample.
        settings: See :class:`grice.scoring.Settings`.

    Raises:
        InputError: If an input cannot be read, or an unfinished output is of another run.
        RecordError: For the first record that cannot be read, with ``bad_records="fail"``.
        OutputError: If an output cannot be written, or is one of the inputs.
        MetricError: For an unknown metric or option.
        ModelFolderError: For a model that is missing or changed.

    >>> import grice
    >>> from pathlib import Path
    >>> _ = Path("chat.txt").write_text("Ann: Is it far?\nBob: Ten minutes.\n")
    >>> summary = grice.score_files("chat.txt", "scores.jsonl", metrics=["log_length"])
    >>> [(metric.metric, metric.counts["ok"]) for metric in summary.metrics]
    [('log_length', 2)]
    >>> len(Path("scores.jsonl").read_text().splitlines())
    2
    """
    from grice.files import check_not_input
    from grice.readers import read
    from grice.scoring.api import load
    from grice.scoring.run import Run

    sources = [paths] if isinstance(paths, (str, Path)) else list(paths)
    for written in (output, report):
        if written is not None:
            check_not_input(Path(written), map(Path, sources))
    with ExitStack() as stack:
        readings = [
            stack.enter_context(read(source, format=format, columns=columns)) for source in sources
        ]
        scorer = stack.enter_context(load(*metrics, **settings)).scorer
        run = Run(
            readings, scorer, output,
            format=format, bad_records=bad_records, resume=resume, sample=sample, seed=seed,
        )  # fmt: skip
        command = f"grice.score_files({[str(source) for source in sources]})"
        page = stack.enter_context(page_of(report, readings, scorer, command))
        for talk, scores in run:
            if page is not None:
                page.add(talk, scores)
        if page is not None:
            page.close(run.summary)
    return run.summary


@contextmanager
def page_of(
    path: str | Path | None, readings: Sequence[Reading], scorer: Scorer, command: str
) -> Iterator[ReportWriter | None]:
    """Open the report of a run; None without a path."""
    if path is None:
        yield None
        return
    from grice.report.writer import ReportWriter, title_of

    title = title_of([reading.name for reading in readings])
    with ReportWriter(Path(path), title=title, metrics=scorer.columns, command=command) as page:
        yield page
