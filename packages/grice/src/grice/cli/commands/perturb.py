"""``grice perturb``: conversations broken on purpose, with a record of each change."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from grice.cli.options import check_options, conversations, load_grader
from grice.cli.output import DONE, PARTIAL, Output, listing, note, warn
from grice.errors import LONGEST, InputError, RecordError, plural
from grice.tables import Lines, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grice.cli.derive import Input, OutputPath, Scoring
    from grice.data import Conversation
    from grice.evaluation.perturbed import PerturbedBlock
    from grice.perturb import Material, Perturbation
    from grice.tables import View


def run(
    files: Sequence[str] = (),
    *,
    reading: Input,
    kind: Sequence[str] = (),
    seed: int = 0,
    score: str | None = None,
    speaker: Sequence[str] = (),
    resource: Sequence[str] = (),
    output: OutputPath | None = None,
    scoring: Scoring,
) -> Output | int:
    """Break conversations on purpose and record each change.

    Args:
        files (FILE): conversations; list, or none, lists the kinds
        kind (NAME): perturbation or mixture; may be repeated; default deam
        seed: every choice
        score (METRICS): print for each of these metrics the share of broken conversations that
            score lower
        resource (NAME=VALUE): file or model that a kind of a plug-in reads; may be repeated
        output: a conversation a line; default: standard output
    """
    from grice.evaluation.perturbed import judge_pairs, perturbed_pairs
    from grice.files import write_lines
    from grice.perturb.run import material_for, named

    if list(files) in ([], ["list"]):
        return _kinds()
    scoring.metrics = score
    if score:
        check_options(scoring)
    kinds = [named(name) for name in kind or ["deam"]]
    records = list(conversations(files, reading))
    broken = [record for record in records if isinstance(record, RecordError)]
    sound = [record for record in records if not isinstance(record, RecordError)]
    resources: dict[str, object] = {}
    for text in resource:
        name, _, value = text.partition("=")
        if not (name and value):
            raise InputError(f"--resource {text}: write NAME=VALUE")
        resources[name] = value
    material = material_for(kinds, sound, resources)
    lines = _lines(sound, kinds, seed, material)
    if output:
        write_lines(output, (line.encode() for line in lines))
    elif not score:
        sys.stdout.writelines(lines)
    for error in broken:
        warn(str(error))
    status = PARTIAL if broken else DONE
    if not score:
        return status
    name = ", ".join(files)
    pairs = perturbed_pairs(name, sound, kinds, seed=seed, material=material)
    with load_grader(scoring, speaker) as grader:
        block = judge_pairs(name, pairs, grader, f",seed:{seed}")
    return Output([block], _view(block), status)


def _lines(
    sound: Sequence[Conversation], kinds: Sequence[Perturbation], seed: int, material: Material
) -> Iterator[str]:
    from grice.data import to_json
    from grice.perturb.run import perturb_all

    for kind in kinds:
        written = 0
        for perturbed in perturb_all(sound, kind, seed=seed, material=material):
            written += 1
            yield f"{to_json(perturbed)}\n"
        whole = len(sound) - written
        left = f"; nothing to break in {whole:,}: left out" if whole else ""
        note(f"{kind.name}: {written:,} of {plural(len(sound), 'conversation')} broken{left}")


def _view(block: PerturbedBlock) -> View:
    """Show the share of originals scored above their perturbed version, by kind."""
    from grice.cli.commands.meta_eval import figure

    yield Lines([f"{block.data} · original scored above its perturbed version"], style="bold")
    pairs = f"{plural(block.pairs, 'pair')} of {plural(block.sources, 'conversation')}"
    about = f"{pairs}; ties count half, chance is .500; in brackets 95 % intervals"
    yield Lines([about], "dim", longest=LONGEST)
    for row in block.rows:
        rows = [(f"  {kind}", f"{hits.n:,}", figure(hits)) for kind, hits in row.kinds.items()]
        yield Table((row.metric, "pairs", "share"), rows)
        failed = f"; {plural(row.failed, 'pair')} failed" if row.failed else ""
        yield Lines([f"ties {row.ties:.1%}{failed}"], "dim", 2, LONGEST)
    yield Lines([""])


def _kinds() -> Output:
    """List the kinds by level, and the mixtures."""
    from grice.perturb.run import MIXTURES, find_perturbations, mixture

    kinds = list(find_perturbations().values())
    levels = dict.fromkeys(("text", "semantic", *(kind.level for kind in kinds)))
    groups = {level: [kind for kind in kinds if kind.level == level] for level in levels}
    groups["mixtures"] = [mixture(names) for names in MIXTURES.values()]
    return listing(
        {"name": kind.name, "level": level, "about": kind.summary}
        for level, group in groups.items()
        for kind in group
    )
