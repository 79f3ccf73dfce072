"""``grice situatedgen``: contrasting sentences of place and time built, scored and generated."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grice.cli.options import opened_models
from grice.cli.output import DONE, Output, warn, write_rows
from grice.errors import plural
from grice.tables import Lines, Table, estimate_fields, number, value_and_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import OutputPath
    from grice.tables import View
    from grice_tasks.situatedgen.models import SituatedModels
    from grice_tasks.situatedgen.scores import Row

HELP = "build, score and solve tests of contrasting sentences on place and time"
SHIPPED = "builtin:situated"
FEWEST = 4  # keywords of two sentences
MEASURES = (
    "match_first", "match_exclusive", "coverage", "bleu4", "bleu4_best", "rouge2", "rouge2_best",
    "rouge_l", "rouge_l_best", "meteor", "meteor_best", "cider_d", "cider_d_best", "plausibility",
)  # fmt: skip
BASELINES = ("halved", "swapped", "reference")
"""Rows beside a system's figures."""
LEGEND = (
    "match_first: the reading of the paper's example; match_exclusive: the one that",
    "writing keywords twice cannot raise. halved: the keywords cut in two, no model.",
    "swapped: the references with places or times exchanged, false by construction.",
    "..._best: in the better order of both sentences. --json has every interval.",
)


def score(
    file: Path,
    outputs: Path,
    *,
    plausibility: Literal["shipped", "none"] = "shipped",
    seed: int = 0,
) -> Output:
    """A system's sentences against references, under every reading, baselines below.

    Args:
        file (FILE): samples: JSON lines with keywords, keywords_pos, statements
        outputs (OUTPUTS): JSON lines with id and output, or plain lines in order
        plausibility: also the learned score, or not
        seed: resamples behind intervals
    """
    from grice_tasks.situatedgen.scores import score_files

    with _opened_shipped() if plausibility == "shipped" else nullcontext() as models:
        systems = score_files(file, outputs, models=models, seed=seed)
    own = systems[0][0]
    total = own.measures["match_first"].n
    for problem, count in sorted(own.problems.items()):
        warn(f"{count:,} of {total:,}: {problem}")
    rows = [row for system in systems for row in system]
    return Output(_records(rows), _score_view(rows))


@contextmanager
def _opened_shipped() -> Iterator[SituatedModels]:
    """Open the models for contrasting sentences that ship."""
    from grice_tasks.situatedgen.models import open_models

    with opened_models(keep=False) as models:
        yield open_models(models)


def _records(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    for row in rows:
        place = {"row": row.name, "context": row.context}
        for measure, estimate in row.measures.items():
            yield {**place, "measure": measure, **estimate_fields(estimate)}
        yield {**place, "problems": row.problems}


def _score_view(rows: Sequence[Row]) -> View:
    """Yield a table for each kind of context: the system with its intervals, baselines beside."""
    for context in dict.fromkeys(row.context for row in rows):
        own, *baselines = (row.measures for row in rows if row.context == context)
        if len(baselines) < len(BASELINES):  # no context is known that could be exchanged
            baselines.insert(BASELINES.index("swapped"), {})
        yield Lines([f"{context}: {plural(own['match_first'].n, 'sample')}"], style="bold")
        table = [
            (
                measure,
                *value_and_bounds(own[measure]),
                *(number(other[measure].value if other else None) for other in baselines),
            )
            for measure in MEASURES
            if measure in own
        ]
        yield Table(("", "value", "95 %", *BASELINES), table)
    yield Lines(LEGEND, style="dim")


def generate(
    file: Path,
    *,
    output: OutputPath | None = None,
    model: str = SHIPPED,
    models: Literal["small", "medium", "large"] | None = None,
) -> int:
    """Two sentences from each list of keywords.

    Args:
        file (FILE): samples: JSON lines with keywords
        models: the preset whose language model writes; small is a baseline without one
        output (FILE.jsonl): a record a line; default: standard output
    """
    from grice_tasks.situatedgen.models import KeywordWriter, open_models
    from grice_tasks.situatedgen.records import Output as Written
    from grice_tasks.situatedgen.records import read_keywords
    from grice_tasks.situatedgen.written import SentenceWriter
    from grice_tasks.writer import Writer, chosen_model

    lines = read_keywords(file)
    keywords = [words for _, words in lines]
    if few := [name for name, words in lines if len(words) < FEWEST]:
        warn(f"fewer than {FEWEST} keywords cannot contrast two contexts: {', '.join(few[:5])}")
    reference = chosen_model(models, model, SHIPPED)
    with opened_models(keep=reference != SHIPPED) as opened:
        writer: KeywordWriter
        if reference == SHIPPED:
            writer = open_models(opened)
        elif opened.task(reference) == "likelihood":
            writer = SentenceWriter(Writer.open(opened, reference))
        else:
            writer = opened.load(reference, KeywordWriter)
        texts = writer.generate(keywords)
    rows = (Written(name, text) for (name, _), text in zip(lines, texts, strict=True))
    write_rows(rows, output)
    return DONE


def build(
    file: Path,
    *,
    rules: Literal["paper", "released"] = "paper",
    title: str = "A benchmark of place and time",
    source: Sequence[str] = (),
    contrast: Literal["shipped", "none"] = "shipped",
    seed: int = 17,
    output: OutputPath,
) -> Output:
    """A benchmark from your questions or statements.

    Args:
        file (FILE): JSON lines with id, question, answer, form (claim, yes_no, choice, fact); or
            id, statement; or plain lines, each a statement
        title (TITLE): of the datasheet
        source (TEXT): where the file is from, with its licence
        contrast: drop pairs that do not depend on their context
        seed: splits and the order of keywords
        output (FOLDER): the splits; the folder is made if need be
    """
    from grice_tasks.situatedgen.build import build_folder

    with _opened_shipped() as models:
        built = build_folder(
            file,
            output,
            models,
            contrast=contrast == "shipped",
            rules=rules,
            seed=seed,
            title=title,
            sources=source,
            command=f"grice situatedgen build {file.name} --rules {rules} --seed {seed}",
        )
    sizes = {name: len(samples) for name, samples in built.splits.items()}
    steps = Lines(f"{count:>9,}  {what}" for what, count in built.counts.items())
    pairs = Lines((f"{size:>9,}  pairs in {name}" for name, size in sizes.items()), style="bold")
    row = {"output": str(output), "counts": built.counts, "splits": sizes}
    return Output([row], [steps, pairs])


def describe(file: Path) -> Output:
    """Tables 1 and 2 and figure 3 of a file of samples; contexts that it lacks are tagged.

    Args:
        file (FILE): samples: JSON lines with keywords, keywords_pos, statements
    """
    import msgspec

    from grice_tasks.situatedgen.examples import describe as statistics_of
    from grice_tasks.situatedgen.models import with_contexts
    from grice_tasks.situatedgen.records import read_samples

    with _opened_shipped() as models:
        statistics = statistics_of(with_contexts(read_samples(file), models.context.tagger))
    figures = msgspec.to_builtins(statistics).items()
    rows = [(name.replace("_", " "), _figure(value)) for name, value in figures]
    return Output([statistics], [Table(("", "figure"), rows)])


ACTIONS = (score, generate, build, describe)


def _figure(value: float | dict[str, int]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count:,}" for name, count in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
