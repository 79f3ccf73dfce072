"""``grice score --engine``: files scored by the workers of an engine, a shard each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.cli._status import DONE, PARTIAL, UNUSABLE
from grice.cli.options import loader, names
from grice.cli.output import print_json_lines, show
from grice.errors import InputError, plural
from grice.tables import Lines

if TYPE_CHECKING:
    import argparse

ENGINES = ("dask", "ray", "spark")
LOCAL_ALONE = ("sample", "report")
"""Options of a run that sees all conversations."""


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add what scores beyond this process."""
    parser.add_argument(
        "--engine", choices=ENGINES, help="score each file by a worker; -o is then a folder"
    )
    parser.add_argument("--address", help="of a cluster that runs; default: workers started here")


def run_on_engine(arguments: argparse.Namespace) -> int:
    """Score the files on an engine; the status is 4 if a file could not be scored."""
    from grice.cli.terminal import note, warn
    from grice.integrations import Grading, score_on

    for option in LOCAL_ALONE:
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option} needs a run in this process: leave out --engine")
    if arguments.output is None:
        raise InputError("--engine writes a shard for each file: name their folder with -o FOLDER")
    chosen = loader(arguments, arguments.speaker).keywords
    grading = Grading(
        tuple(names(arguments.metrics)),
        options=chosen["options"],
        speakers=tuple(arguments.speaker),
        mode=arguments.mode,
        plugins=tuple(str(path.resolve()) for path in arguments.plugin),
        models=chosen["preset"],
        format=arguments.format,
        columns=arguments.columns,
    )
    shards = []
    for shard in score_on(
        arguments.engine, arguments.files, arguments.output, grading, address=arguments.address
    ):
        shards.append(shard)
        if shard.problem is not None:
            warn(shard.problem)
        elif shard.scores is None:
            note(f"{shard.source}: was scored before")
        else:
            note(f"{shard.source}: {plural(shard.scores, 'score')}, {shard.failed:,} failed")
    broken = sum(shard.problem is not None for shard in shards)
    if arguments.json:
        print_json_lines(shards)
    else:
        written = plural(len(shards) - broken, "shard")
        show([Lines([f"{written} in {arguments.output}, each named by a hash of its input"])])
    failed = any(shard.failed for shard in shards)
    return UNUSABLE if broken == len(shards) else PARTIAL if broken or failed else DONE
