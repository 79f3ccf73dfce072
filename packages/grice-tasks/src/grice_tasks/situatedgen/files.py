"""Files of contrasting sentences: scored, built in one go, or step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grice.data import json_line
from grice.files import make_folder, write_lines, write_text
from grice.models.protocols import Encoder
from grice_tasks.situatedgen.build import build_benchmark, datasheet
from grice_tasks.situatedgen.examples import halved, swapped
from grice_tasks.situatedgen.models import ContextModels, ContrastModels, with_contexts
from grice_tasks.situatedgen.recompose import KeywordLine
from grice_tasks.situatedgen.records import (
    Output,
    Sample,
    read_given,
    read_outputs,
    read_records,
    read_samples,
)
from grice_tasks.situatedgen.scores import score_outputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grice.models.loader import ModelLoader
    from grice_tasks.situatedgen.build import Built
    from grice_tasks.situatedgen.models import KeywordWriter
    from grice_tasks.situatedgen.scores import Row


class SituatedModels(NamedTuple):
    """Opened models that ship for contrasting sentences."""

    context: ContextModels  # finds places, times and clauses: ``builtin:context``
    contrast: ContrastModels  # judges pairs and writes them: ``builtin:situated``
    encoder: Encoder  # compares sentences: ``builtin:encoder``

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return two sentences for each list of keywords, by the embedded baseline."""
        return self.contrast.recomposer(self.context.tagger).generate(keywords)


def open_models(models: ModelLoader) -> SituatedModels:
    """Open what ships for contrasting sentences."""
    return SituatedModels(
        models.load("builtin:context", ContextModels),
        models.load("builtin:situated", ContrastModels),
        models.load("builtin:encoder", Encoder),
    )


def score_files(
    samples_path: Path,
    outputs_path: Path,
    *,
    models: SituatedModels | None = None,
    seed: int = 0,
) -> list[list[Row]]:
    """Score a system's sentences against references, with trivial baselines."""
    samples = read_samples(samples_path)
    outputs = {line.id: line.output for line in read_outputs(outputs_path)}
    if models is not None:
        samples = with_contexts(samples, models.context.tagger)
    systems = {outputs_path.name: outputs, **_baselines(samples)}
    rows = [
        score_outputs(
            samples, written, name=name, extra=_plausibility(samples, written, models), seed=seed
        )
        for name, written in systems.items()
    ]
    if models is not None:  # the contexts were looked for: of a sample that states none too
        without = sum(not sample.context for sample in samples)
        if without:
            problems = {**rows[0][0].problems, "no context in the input": without}
            rows[0][0] = msgspec.structs.replace(rows[0][0], problems=problems)
    return rows


def _baselines(samples: Sequence[Sample]) -> dict[str, dict[str, str]]:
    baselines = {"halved keywords": {sample.id: halved(sample.keywords) for sample in samples}}
    if any(map(swapped, samples)):
        baselines["swapped reference"] = {
            sample.id: swapped(sample) or sample.reference for sample in samples
        }
    baselines["reference"] = {sample.id: sample.reference for sample in samples}
    return baselines


def _plausibility(
    samples: Sequence[Sample], written: Mapping[str, str], models: SituatedModels | None
) -> dict[str, Sequence[float]]:
    if models is None:
        return {}
    texts = [written.get(sample.id, "") for sample in samples]
    judged = models.contrast.judge.judge_outputs(samples, texts)
    return {"plausibility": [judgement.plausibility for judgement in judged]}


def generate_file(path: Path, writer: KeywordWriter) -> list[Output]:
    """Return two sentences for each list of keywords of a file."""
    lines = list(read_records(path, KeywordLine))
    written = writer.generate([line.keywords for line in lines])
    return [
        Output(str(number if line.id is None else line.id), text)
        for number, (line, text) in enumerate(zip(lines, written, strict=True))
    ]


def build_folder(
    path: Path,
    folder: Path,
    models: SituatedModels,
    *,
    contrast: bool = True,
    rules: str = "paper",
    seed: int = 17,
    title: str,
    sources: Sequence[str] = (),
    command: str,
) -> Built:
    """Build a benchmark from a file of questions or statements, with its datasheet."""
    built = build_benchmark(
        read_given(path),
        clauses=models.context.clauses,
        tagger=models.context.tagger,
        encoder=models.encoder,
        judge=models.contrast.judge if contrast else None,
        rules=rules,
        seed=seed,
    )
    _write_splits(folder, built.splits)
    sheet = datasheet(built, title=title, settings=command, sources=sources or [path.name])
    write_text(folder / "DATASHEET.md", sheet)
    return built


def _write_splits(folder: Path, splits: Mapping[str, Sequence[Sample]]) -> None:
    make_folder(folder)
    for name, samples in splits.items():
        write_lines(folder / f"{name}.jsonl", [json_line(sample) + b"\n" for sample in samples])
