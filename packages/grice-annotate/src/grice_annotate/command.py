"""``grice annotate``: a study that asks people, on a local web page."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grice.cli.commands.serve import replies_output
from grice.cli.output import emit_rows, print_json_lines, print_or_write, write_or_print_lines
from grice.cli.streams import DONE
from grice.errors import plural
from grice.tables import Lines, Table, bounds, number
from grice_tasks import flags
from grice_tasks.flags import Action, add_actions, add_model, run_action

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from grice.cli.output import Output
    from grice.tables import View
    from grice_annotate.agreement import Agreement
    from grice_annotate.records import Settings
    from grice_annotate.study import Study
    from grice_annotate.templates import Template

HELP = "collect human labels on a local web page, with agreement and export"
ORDERS = ("seed", "input", "review", "uncertain")


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare an action for each template, and what is done with a study that is there."""
    from grice_annotate.templates import find_templates

    actions = [
        Action(template.name, template.about, partial(_configure, template=template), _begin)
        for template in find_templates().values()
    ]
    actions += [
        Action("resume", "go on with a study", _configure_resume, _resume),
        Action("agreement", "how well the judges agree", _configure_read, _agreement),
        Action("export", "write the answers as records", _configure_export, _export),
    ]
    add_actions(parser, actions)


run = run_action


def _configure(parser: argparse.ArgumentParser, template: Template) -> None:
    parser.set_defaults(template=template.name)
    flags.add_files(parser, "what people are asked about")
    _add_database(parser)
    flags.add_number(parser, "--judges", "N", "judges of each item", 3)
    _add_judge(parser)
    flags.add_path(parser, "--guideline", "FILE", "text that judges read before their tasks")
    if "aspects" in template.options:
        flags.add_list(
            parser, "--aspect", "NAME", "what is rated; may be repeated (default overall)"
        )
    if "scale" in template.options:
        flags.add_scale(parser, (1.0, 5.0))
    if "relations" in template.options:
        flags.add_list(parser, "--relation", "NAME", "only this relation")
    if "model" in template.options:
        add_model(parser, "builtin:graphs")
        flags.add_number(parser, "--tries", "N", "tries of a writer", 3)
    flags.add_number(
        parser, "--check-every", "N", "tasks between two attention checks, 0 for none", 10, type=int
    )
    flags.add_number(
        parser,
        "--minutes",
        "N",
        "time for a task, which then goes to somebody else",
        30.0,
        type=float,
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="seed",
        help="shuffled by the seed, as in the input, as grice review puts them, or first those "
        "whose labels say most for a calibration (default seed)",
    )
    parser.add_argument(
        "--scores",
        metavar="OUT.jsonl",
        help="what grice score wrote of FILE: for --order, --propose",
    )
    parser.add_argument("--metric", metavar="NAME", help="whose scores --order uncertain goes by")
    parser.add_argument(
        "--propose",
        metavar="METRICS",
        help="fill in what these metrics propose, for half of the judges, drawn at random",
    )
    flags.add_top(parser, 100)
    flags.add_seed(parser, "order, sides, checks and who sees proposals")
    flags.add_switch(
        parser, "--check", "answer one request of each kind without a network, and end"
    )
    _add_served(parser)


def _configure_resume(parser: argparse.ArgumentParser) -> None:
    _add_database(parser)
    _add_judge(parser)
    _add_served(parser)


def _configure_read(parser: argparse.ArgumentParser) -> None:
    _add_database(parser)
    flags.add_json(parser)


def _configure_export(parser: argparse.ArgumentParser) -> None:
    _add_database(parser)
    flags.add_output(parser, "FILE", "the answers")
    parser.add_argument(
        "--as",
        dest="form",
        choices=("records", "label-studio", "card"),
        default="records",
        help="records that grice reads, tasks of Label Studio, or the data card (default records)",
    )


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--db",
        default="study.db",
        metavar="URL",
        help="where the study is kept: a file, or postgresql://… (default study.db)",
    )


def _add_served(parser: argparse.ArgumentParser) -> None:
    flags.add_address(parser, 8010)
    flags.add_json(parser)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    flags.add_list(
        parser, "--judge", "NAME", "pseudonym of somebody who gets a link; may be repeated"
    )


def _begin(arguments: argparse.Namespace) -> Output | int:
    """Begin a study, or go on with the same one, and serve it."""
    from grice_annotate.begin import Source, begun_study
    from grice_annotate.templates import find_templates

    metrics = arguments.propose.split(",") if arguments.propose else ()
    source = Source(arguments.files, arguments.scores, arguments.metric, metrics, arguments.top)
    template, settings = find_templates()[arguments.template], _settings(arguments)
    names = arguments.judge or [f"judge-{place + 1}" for place in range(settings.judges)]
    with TemporaryDirectory() as folder:
        db = str(Path(folder) / "check.db") if arguments.check else arguments.db
        with begun_study(db, template, settings, source) as study:
            study.add_judges(names)
            _warn_of_few(study)
            return _check(study) if arguments.check else _serve(study, arguments)


def _warn_of_few(study: Study) -> None:
    from grice.cli.streams import warn

    wanted, there = study.settings.judges, len(study.judges()) - 1
    if there < wanted:
        warn(
            f"each item is for {plural(wanted, 'judge')} and {there} of them have links; add "
            "others by --judge NAME or on the owner's page"
        )


def _check(study: Study) -> Output:
    """Show each page once without a network, of a study that is kept nowhere."""
    import asyncio

    from grice.cli.streams import note
    from grice.serve.server import exchange
    from grice_annotate.app import application, requests_of
    from grice_annotate.begin import with_model

    tasks, judges = len(study.tasks()), plural(study.settings.judges, "judge")
    note(f"{plural(tasks, 'task')} of {judges} each")
    requests = requests_of(study)
    with with_model(study) as ready:
        replies = asyncio.run(exchange(application(ready), list(requests.values())))
    named = [
        reply._replace(request=reply.request._replace(path=path))
        for path, reply in zip(requests, replies, strict=True)
    ]
    return replies_output(named)


def _settings(arguments: argparse.Namespace) -> Settings:
    from grice_annotate.begin import guideline_text, settings_of

    given = {
        "judges": arguments.judges,
        "aspects": tuple(getattr(arguments, "aspect", ())) or ("overall",),
        "relations": tuple(getattr(arguments, "relation", ())),
        "model": getattr(arguments, "model", None),
        "tries": getattr(arguments, "tries", 3),
        "guideline": guideline_text(arguments.guideline) if arguments.guideline else "",
        "check_every": arguments.check_every,
        "minutes": arguments.minutes,
        "order": arguments.order,
        "seed": arguments.seed,
    }
    return settings_of(given, getattr(arguments, "scale", (1.0, 5.0)))


def _resume(arguments: argparse.Namespace) -> int:
    with _opened(arguments) as study:
        study.add_judges(arguments.judge)
        return _serve(study, arguments)


def _opened(arguments: argparse.Namespace) -> AbstractContextManager[Study]:
    from grice_annotate.begin import opened_study

    return opened_study(arguments.db)


def _serve(study: Study, arguments: argparse.Namespace) -> int:
    from grice.cli.streams import note
    from grice.serve import Limits
    from grice.serve.server import serve
    from grice_annotate.app import application
    from grice_annotate.begin import with_model

    def begun(address: str) -> None:
        links = {
            judge.name: f"{address}/{'o' if judge.owner else 'j'}/{judge.token}"
            for judge in study.judges()
        }
        if arguments.json:
            print_json_lines({"name": name, "link": link} for name, link in links.items())
            sys.stdout.flush()  # whoever reads the links waits for them, and the command for judges
            return
        for name, link in links.items():
            note(f"{name}: {link}")
        note("Each link is for one person alone. Ctrl-C ends; the same command goes on.")

    with with_model(study) as ready:
        app = application(ready)
        serve(app, host=arguments.host, port=arguments.port, limits=Limits(), begun=begun)
    return DONE


def _agreement(arguments: argparse.Namespace) -> int:
    """Print how well the judges agree."""
    from grice_annotate.agreement import agreement_of
    from grice_annotate.export import progress_of

    with _opened(arguments) as study:
        tasks, answers = study.tasks(), study.answers()
        names = {judge.id: judge.name for judge in study.judges()}
        rows = agreement_of(study.template, tasks, answers, names)
        progress = progress_of(study, tasks, answers)
    done, answered = plural(progress.done, "task"), plural(progress.answers, "answer")
    columns = ("of", "measure", "value", "95 % interval", "n")
    view: View = [
        Table(columns, [_cells(row) for row in rows], words=2),
        Lines([f"{done} of {progress.tasks:,} done, {answered}"]),
    ]
    emit_rows(rows, view, as_json=arguments.json)
    return DONE


def _cells(row: Agreement) -> tuple[str, ...]:
    estimate = row.estimate
    if estimate is None:
        return row.column, row.measure, "", row.note or "", ""
    return row.column, row.measure, number(estimate.value), bounds(estimate), str(estimate.n)


def _export(arguments: argparse.Namespace) -> int:
    """Write what was answered."""
    from grice_annotate.export import data_card, label_studio, records

    with _opened(arguments) as study:
        if arguments.form == "card":
            print_or_write(data_card(study), arguments.output)
        else:
            rows = records if arguments.form == "records" else label_studio
            write_or_print_lines(rows(study), arguments.output)
    return DONE
