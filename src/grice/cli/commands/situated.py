"""``grice situated``: contrasting sentences of place and time built, scored and generated."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli._options import positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from grice.runtime.protocols import Encoder
    from grice.situated.models import ContextModels, ContrastModels
    from grice.situated.records import Question, Sample, Statement
    from grice.situated.scores import Row
    from grice.situated.tagger import Tagger

HELP = "build, score and answer tests of contrasting sentences of place and time"

ACTIONS = (
    ("score", "a system's sentences against references, under every reading, floors below"),
    ("generate", "two sentences from each list of keywords, by the embedded baseline"),
    ("build", "a benchmark from your questions or statements, in one go"),
    ("statements", "step 1: statements from questions with answers"),
    ("mark", "step 2: context, keywords and masked sentences of statements"),
    ("mine", "step 3: pairs of marked statements that are alike"),
    ("split", "step 4: samples in splits that share no statement"),
    ("describe", "tables 1 and 2 and figure 3 of a file of samples"),
)
SHOWN = (
    "match_first", "match_exclusive", "coverage", "bleu4", "bleu4_best", "rouge2", "rouge2_best",
    "rouge_l", "rouge_l_best", "meteor", "meteor_best", "cider_d", "cider_d_best", "spice",
    "plausibility",
)  # fmt: skip

BESIDE = ("halved", "swapped", "reference")
"""What stands beside a system's figures."""


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the arguments of each action."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    for name, about in ACTIONS:
        action = actions.add_parser(name, help=about, description=about)
        action.add_argument("--debug", action="store_true", help="show the trace of an error")
        action.add_argument("file", type=Path, metavar="FILE", help=_FILES[name])
        if name == "score":
            action.add_argument(
                "outputs",
                type=Path,
                metavar="OUTPUTS",
                help="JSON lines with id and output, or plain lines in order",
            )
        if name == "mine":
            action.add_argument(
                "--search",
                choices=("exact", "nearby"),
                help="all pairs, or neighbouring cells; default: by size",
            )
        if name == "split":
            action.add_argument("marked", type=Path, metavar="MARKED", help="what `mark` wrote")
        if name == "score":
            action.add_argument(
                "--plausibility",
                choices=("shipped", "none"),
                default="shipped",
                help="also the learned score (default), or not",
            )
            action.add_argument("--spice", type=Path, metavar="JAR",
                                help="SPICE by its Java program: spice-1.0.jar")  # fmt: skip
            action.add_argument("--meteor", type=Path, metavar="JAR",
                                help="METEOR by its Java program, with paraphrases")  # fmt: skip
            action.add_argument("--java-seconds", type=positive, default=1800, metavar="N",
                                help="stop a Java program that takes longer (1800)")  # fmt: skip
        if name in ("build", "mine"):
            action.add_argument(
                "--rules",
                choices=("paper", "released"),
                default="paper",
                help="as the paper says (default), or as the released code does",
            )
        if name in ("build", "mark"):
            tagger = action.add_mutually_exclusive_group()
            tagger.add_argument("--spacy", metavar="MODEL", help="an installed spaCy model")
            tagger.add_argument("--flair", metavar="MODEL", help="a flair model of entities")
        if name == "build":
            title = "A benchmark of place and time"
            action.add_argument("--title", default=title, help=f"of the datasheet ({title})")
            action.add_argument(
                "--source",
                action="append",
                default=[],
                metavar="TEXT",
                help="where the file is from, with its licence",
            )
            action.add_argument(
                "--contrast",
                choices=("shipped", "none"),
                default="shipped",
                help="drop pairs that do not depend on their context (default)",
            )
        if name in ("build", "split"):
            action.add_argument(
                "--seed", type=int, default=17, help="of splits and of the order of keywords (17)"
            )
            action.add_argument(
                "-o", "--output", type=Path, required=True, metavar="FOLDER",
                help="where the splits are written; made if it is not there",
            )  # fmt: skip
        elif name in ("score", "describe"):
            action.add_argument("--json", action="store_true", help="print JSON lines")


_QUESTIONS = (
    "JSON lines with id, question, answer, form (claim, yes_no, choice, fact); or id, statement; "
    "or plain lines, each a statement"
)
_FILES = {
    "score": "samples: JSON lines with keywords, keywords_pos, statements",
    "generate": "samples: JSON lines with keywords",
    "build": _QUESTIONS,
    "statements": _QUESTIONS,
    "mark": "what `statements` wrote",
    "mine": "what `mark` wrote",
    "split": "what `mine` wrote",
    "describe": "samples: JSON lines with keywords, keywords_pos, statements",
}


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen action and return its exit status."""
    actions = {
        "score": _score, "generate": _generate, "build": _build, "statements": _statements,
        "mark": _mark, "mine": _mine, "split": _split, "describe": _describe,
    }  # fmt: skip
    return actions[arguments.action](arguments)


def _score(arguments: argparse.Namespace) -> int:
    import msgspec

    from grice.cli._output import print_json
    from grice.cli._terminal import warn
    from grice.situated.floors import halved, swapped
    from grice.situated.java import JavaMeteor, check_program, spice
    from grice.situated.meteor import meteor_counts
    from grice.situated.models import with_contexts
    from grice.situated.records import read_outputs, read_samples
    from grice.situated.scores import score_outputs

    for jar in filter(None, (arguments.spice, arguments.meteor)):
        check_program(jar)
    samples = read_samples(arguments.file)
    outputs = {one.id: one.output for one in read_outputs(arguments.outputs)}
    judge = None
    if arguments.plausibility == "shipped":
        context, contrast, _ = _models()
        judge, samples = contrast.judge, with_contexts(samples, context.tagger)
    systems = {
        arguments.outputs.name: outputs,
        "halved keywords": {one.id: halved(one.keywords) for one in samples},
    }
    if any(map(swapped, samples)):
        turned = {one.id: swapped(one) or one.reference for one in samples}
        systems["swapped reference"] = turned
    systems["reference"] = {one.id: one.reference for one in samples}
    rows = []
    with ExitStack() as open_programs:
        counts = meteor_counts
        if arguments.meteor is not None:
            counts = open_programs.enter_context(
                JavaMeteor(arguments.meteor, seconds=arguments.java_seconds)
            )
        for name, written in systems.items():
            texts = [written.get(one.id, "") for one in samples]
            extra = {}
            if judge is not None:
                said = judge.judge_outputs(samples, texts)
                extra["plausibility"] = [one.plausibility for one in said]
            if arguments.spice is not None:
                references = [one.reference for one in samples]
                extra["spice"] = spice(arguments.spice, texts, references,
                                       seconds=arguments.java_seconds)  # fmt: skip
            rows.append(score_outputs(samples, written, name=name, extra=extra, meteor_sums=counts))
    if judge is not None:  # the contexts were looked for: of a sample that states none too
        bare = sum(not one.context for one in samples)
        told = {**rows[0][0].problems, **({"no context in the input": bare} if bare else {})}
        rows[0][0] = msgspec.structs.replace(rows[0][0], problems=told)
    for problem, count in sorted(rows[0][0].problems.items()):
        warn(f"{count:,} of {len(samples):,}: {problem}")
    if arguments.json:
        for row in (row for part in rows for row in part):
            for measure, found in row.measures.items():
                print_json({"row": row.name, "context": row.context, "measure": measure,
                             "value": found.value, "low": found.low, "high": found.high,
                             "n": found.n})  # fmt: skip
            print_json({"row": row.name, "context": row.context, "problems": row.problems})
        if arguments.spice is None:
            print_json({"row": "*", "measure": "spice", "value": None, "why": "not computed"})
        return 0
    _print_rows([row for part in rows for row in part])
    return 0


def _print_rows(rows: Sequence[Row]) -> None:
    """Print a table for each kind of context: the system with its intervals, floors beside it."""
    from grice.cli._tables import bounds, number, print_lines, print_table

    for context in dict.fromkeys(row.context for row in rows):
        own, *floors = (row.measures for row in rows if row.context == context)
        if len(floors) < len(BESIDE):  # no context is known that could be exchanged
            floors.insert(BESIDE.index("swapped"), {})
        n = own["match_first"].n
        print_lines([f"{context}: {n:,} sample{'' if n == 1 else 's'}"], style="bold")
        print_table(
            ("", "value", "95 %", *BESIDE),
            [
                (measure, number(own[measure].value), bounds(own[measure]),
                 *(number(other[measure].value if other else None) for other in floors))
                for measure in SHOWN if measure in own
            ],
        )  # fmt: skip
    print_lines([
        "match_first: the reading of the paper's example; match_exclusive: the one that",
        "writing keywords twice cannot raise. halved: the keywords cut in two, no model.",
        "swapped: the references with places or times exchanged, false by construction.",
        "..._best: in the better order of both sentences. --json has every interval.",
        *(() if "spice" in rows[0].measures else
          ("SPICE: not computed, its Java program does not ship (--spice JAR).",)),
    ], style="dim")  # fmt: skip


def _generate(arguments: argparse.Namespace) -> int:
    from grice.cli._output import print_json
    from grice.situated.recompose import KeywordLine
    from grice.situated.records import read_records

    context, contrast, _ = _models()
    lines = list(read_records(arguments.file, KeywordLine))
    texts = contrast.recomposer(context.tagger).generate([line.keywords for line in lines])
    for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
        print_json({"id": str(number if line.id is None else line.id), "output": text})
    return 0


def _given(path: Path) -> list[Question | Statement]:
    from grice.situated.reading import read_given

    return read_given(path)


def _build(arguments: argparse.Namespace) -> int:
    from grice.cli._tables import print_lines
    from grice.files import make_folder, write_lines, write_text
    from grice.situated.build import build_benchmark, datasheet

    context, contrast, encoder = _models()
    built = build_benchmark(
        _given(arguments.file),
        clauses=context.clauses,
        tagger=_tagger(arguments, context.tagger),
        encoder=encoder,
        judge=contrast.judge if arguments.contrast == "shipped" else None,
        rules=arguments.rules,
        seed=arguments.seed,
    )
    make_folder(arguments.output)
    for name, samples in built.splits.items():
        write_lines(arguments.output / f"{name}.jsonl", _encoded(samples))
    command = f"grice situated build {arguments.file.name} --rules {arguments.rules} " \
              f"--seed {arguments.seed}"  # fmt: skip
    sheet = datasheet(built, title=arguments.title, settings=command,
                      sources=arguments.source or [arguments.file.name])  # fmt: skip
    write_text(arguments.output / "DATASHEET.md", sheet)
    print_lines([f"{count:>9,}  {what}" for what, count in built.counts.items()])
    print_lines([f"{len(samples):>9,}  pairs in {name}" for name, samples in built.splits.items()],
                style="bold")  # fmt: skip
    return 0


def _statements(arguments: argparse.Namespace) -> int:
    from grice.situated.records import Statement
    from grice.situated.statements import to_statements

    given = _given(arguments.file)
    asked = [one for one in given if not isinstance(one, Statement)]
    turned = to_statements(asked, _models()[0].clauses)
    _report(len(asked) - len(turned), "gave no statement: false claim or unknown form")
    _write([*(one for one in given if isinstance(one, Statement)), *turned])
    return 0


def _mark(arguments: argparse.Namespace) -> int:
    from grice.situated.marking import mark_statements
    from grice.situated.records import Statement, read_records

    other = arguments.spacy or arguments.flair
    tagger = _tagger(arguments, None) if other else _models()[0].tagger
    kept, left = mark_statements(read_records(arguments.file, Statement), tagger)
    _report(len(left), "statements without context")
    _write(kept)
    return 0


def _mine(arguments: argparse.Namespace) -> int:
    import numpy as np

    from grice.errors import InputError
    from grice.situated.mining import alike_by, mine_pairs
    from grice.situated.records import Marked, read_records

    marked = list(read_records(arguments.file, Marked))
    if not marked:
        raise InputError(f"{arguments.file}: no statement")
    vectors = np.stack(_models()[2].encode([one.masked for one in marked]))
    found = alike_by(arguments.search, vectors)
    pairs, refused = mine_pairs(marked, found, arguments.rules)
    for why, count in sorted(refused.items()):
        _report(count, f"pairs refused: {why}")
    _write(pairs)
    return 0


def _split(arguments: argparse.Namespace) -> int:
    from grice.files import make_folder, write_lines
    from grice.situated.examples import samples_of
    from grice.situated.records import Marked, MinedPair, read_records
    from grice.situated.splitting import split_pairs

    pairs = list(read_records(arguments.file, MinedPair))
    splits, between = split_pairs(pairs, seed=arguments.seed)
    _report(between, "pairs between communities")
    marked = list(read_records(arguments.marked, Marked))
    make_folder(arguments.output)
    for name, part in splits.items():
        samples = samples_of(part, marked, seed=arguments.seed)
        write_lines(arguments.output / f"{name}.jsonl", _encoded(samples))
    return 0


def _describe(arguments: argparse.Namespace) -> int:
    import msgspec

    from grice.cli._output import print_json
    from grice.cli._tables import print_table
    from grice.situated.examples import describe
    from grice.situated.records import read_samples

    found = describe(read_samples(arguments.file))
    if arguments.json:
        print_json(found)
        return 0
    shown = msgspec.to_builtins(found).items()
    print_table(("", "figure"), [
        (name.replace("_", " "), f"{value:,.4g}" if isinstance(value, float) else
         ", ".join(f"{k}: {n:,}" for k, n in value.items()) if isinstance(value, dict) else
         f"{value:,}")
        for name, value in shown
    ])  # fmt: skip
    return 0


def _models() -> tuple[ContextModels, ContrastModels, Encoder]:
    """Open what ships."""
    from grice.runtime.models import Models, default_workers
    from grice.runtime.protocols import Encoder
    from grice.situated.models import ContextModels, ContrastModels

    models = Models(mode="fast", workers=default_workers(), cache=None)
    return (
        models.open("bundle:context", ContextModels),
        models.open("bundle:situated", ContrastModels),
        models.open("bundle:encoder", Encoder),
    )


def _tagger(arguments: argparse.Namespace, shipped: Tagger | None) -> Tagger:
    from grice.situated.installed import FlairTagger, SpacyTagger

    if arguments.spacy:
        return SpacyTagger(arguments.spacy)
    if arguments.flair:
        return FlairTagger(arguments.flair)
    assert shipped is not None
    return shipped


def _report(count: int, what: str) -> None:
    from grice.cli._terminal import warn

    if count:
        warn(f"{count:,} {what}")


def _encoded(samples: Iterable[Sample]) -> list[bytes]:
    from grice.records import json_line

    return [json_line(sample) + b"\n" for sample in samples]


def _write(records: Iterable[object]) -> None:
    from grice.cli._output import print_json

    for record in records:
        print_json(record)
