"""``grice annotate``: a study that asks people, on a local web page."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from grice.cli.commands.system import check_output
from grice.cli.output import DONE, Output, note, warn, write_rows, write_text
from grice.errors import plural
from grice.tables import Lines, Table, value_and_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grice.cli.derive import Count, Names, OutputPath, Scale
    from grice_annotate.agreement import Agreement
    from grice_annotate.study import Study
    from grice_annotate.templates import Template

HELP = "collect human labels on a local web page, with agreement and export"
OF_TEMPLATES = {
    "aspect": "aspects",
    "scale": "scale",
    "relation": "relations",
    "model": "model",
    "tries": "model",
    "predictions": "predictions",
    "refiners": "refiners",
}
"""Options that only some templates have, by their name there."""


def ACTIONS() -> list[Callable[..., object]]:  # noqa: N802 - the name that commands have
    """Return an action for each template, and those of a study that is there."""
    from grice_annotate.templates import find_templates

    return [*map(_action_of, find_templates().values()), resume, agreement, export]


def _action_of(template: Template) -> Callable[..., object]:
    """Return :func:`_begin` with the options of a template."""

    def begin(**given: object) -> object:
        return _begin(template, **given)  # type: ignore[arg-type] # as the parser read them

    known = list(inspect.signature(_begin).parameters.values())[1:]
    taken = [each for each in known if OF_TEMPLATES.get(each.name, "") in ("", *template.options)]
    begin.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    begin.__name__ = template.name
    begin.__doc__ = f"{template.about}\n\n{(_begin.__doc__ or '').partition(chr(10))[2]}"
    return begin


def _begin(
    template: Template,
    files: Sequence[str],
    *,
    db: str = "study.db",
    judges: Count = 3,
    judge_: Sequence[str] = (),
    guideline: Path | None = None,
    quiz: Sequence[str] = (),
    pass_: float = 0.8,
    aspect: Sequence[str] = (),
    scale: Scale = (1.0, 5.0),
    relation: Sequence[str] = (),
    model: str | None = None,
    tries: Count = 3,
    predictions: str | None = None,
    refiners: float | None = None,
    check_every: int = 10,
    minutes: float = 30.0,
    order: Literal["seed", "input", "review"] = "seed",
    scores: str | None = None,
    propose: Names = (),
    top: Count = 100,
    seed: int = 0,
    check: bool = False,
    host: str = "127.0.0.1",
    port: int = 8010,
    json: bool,
) -> Output | int:
    """Begin a study, or go on with the same one, and serve it.

    Args:
        files (FILE): the items to be annotated
        db (URL): where the study is kept: a file, or postgresql://…
        judges (N): judges of each item
        judge_ (NAME): pseudonym of somebody who gets a link; may be repeated
        guideline (FILE): text that judges read before their tasks
        quiz (KEYED.jsonl): items with a field expected, the right answer, and perhaps why; judges
            answer them first and are told; may be repeated: each is a level
        pass_ (SHARE): share of right answers in each level that lets a judge take part
        aspect (NAME): aspect that is rated; may be repeated (default overall)
        relation (NAME): only this relation
        model: default builtin:graphs
        tries (N): tries of a writer
        predictions (FILE): graphs of a system, which judges verify; none is written, and those of
            another stance or a wrong form are left out
        refiners (N): only the N judges (below 1: this share) most of whose graphs were verified as
            right refine those of others (default: all judges)
        check_every (N): tasks between two attention checks, 0 for none
        minutes (N): time for a task, which then goes to somebody else
        order: shuffled by the seed, as in the input, or as grice check --rank orders them
        scores (OUT.jsonl): scores that grice score wrote of FILE: for --order, --propose
        propose (METRICS): fill in what these metrics propose, for half of the judges, drawn at
            random
        seed: order, sides, checks and who sees proposals
        check: answer one request of each kind without a network, and end
    """
    from grice_annotate.begin import Source, begun_study, guideline_text, settings_of

    more = [predictions] if predictions else []
    source = Source(files, scores, propose, top, more, quiz)
    given = {
        "judges": judges,
        "aspects": tuple(aspect) or ("overall",),
        "relations": tuple(relation),
        "model": model,
        "tries": tries,
        "predictions": predictions,
        "refiners": refiners,
        "guideline": guideline_text(guideline) if guideline else "",
        "check_every": check_every,
        "pass_mark": pass_,
        "minutes": minutes,
        "order": order,
        "seed": seed,
    }
    settings = settings_of(given, scale)
    with TemporaryDirectory() as folder:
        place = str(Path(folder) / "check.db") if check else db
        with begun_study(place, template, settings, source) as study:
            study.add_judges(judge_ or [f"judge-{i + 1}" for i in range(judges)])
            _warn_of_few(study)
            return _check(study) if check else _serve(study, host, port, as_json=json)


def _warn_of_few(study: Study) -> None:
    wanted, there = study.settings.judges, len(study.judges()) - 1
    if there < wanted:
        warn(
            f"each item is for {plural(wanted, 'judge')} and {there} of them have links; add "
            "others by --judge NAME or on the owner's page"
        )


def _check(study: Study) -> Output:
    """Show each page once without a network, of a study that is kept nowhere."""
    from grice.serve.server import answers
    from grice_annotate.app import application, pages_of
    from grice_annotate.begin import with_model

    note(f"{plural(len(study.tasks()), 'task')} of {plural(study.settings.judges, 'judge')} each")
    pages = [(shown, path, None) for shown, path in pages_of(study).items()]
    with with_model(study) as ready:
        return check_output(answers(application(ready), "GET", pages))


def resume(
    *,
    db: str = "study.db",
    judge_: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 8010,
    json: bool,
) -> int:
    """Go on with a study.

    Args:
        db (URL): where the study is kept: a file, or postgresql://…
        judge_ (NAME): pseudonym of somebody who gets a link; may be repeated
    """
    from grice_annotate.begin import opened_study

    with opened_study(db) as study:
        study.add_judges(judge_)
        return _serve(study, host, port, as_json=json)


def _serve(study: Study, host: str, port: int, *, as_json: bool) -> int:
    from grice.serve.server import serve
    from grice_annotate.app import LIMITS, application
    from grice_annotate.begin import with_model

    def begun(address: str) -> None:
        links = {
            judge.name: f"{address}/{'o' if judge.owner else 'j'}/{judge.token}"
            for judge in study.judges()
        }
        if as_json:
            write_rows(({"name": name, "link": link} for name, link in links.items()), None)
            sys.stdout.flush()  # a program that reads the links waits for them
            return
        for name, link in links.items():
            note(f"{name}: {link}")
        note("Each link is for one person alone. Ctrl-C ends; the same command goes on.")

    with with_model(study) as ready:
        serve(application(ready), host=host, port=port, limits=LIMITS, begun=begun)
    return DONE


def agreement(*, db: str = "study.db") -> Output:
    """How well the judges agree.

    Args:
        db (URL): where the study is kept: a file, or postgresql://…
    """
    from grice_annotate.agreement import agreement_of
    from grice_annotate.begin import opened_study
    from grice_annotate.export import progress_of

    with opened_study(db) as study:
        tasks, answers = study.tasks(), study.answers()
        judges = {judge.id: judge.name for judge in study.judges()}
        rows = agreement_of(study.template, tasks, answers, judges)
        progress = progress_of(study, tasks, answers)
    done, answered = plural(progress.done, "task"), plural(progress.answers, "answer")
    columns = ("of", "measure", "value", "95 % interval", "n")
    table = Table(columns, [_cells(row) for row in rows], words=2)
    return Output(rows, [table, Lines([f"{done} of {progress.tasks:,} done, {answered}"])])


def _cells(row: Agreement) -> tuple[str, ...]:
    if row.estimate is None:
        return row.column, row.measure, "", row.note or "", ""
    return row.column, row.measure, *value_and_bounds(row.estimate), str(row.estimate.n)


def export(
    *,
    db: str = "study.db",
    output: OutputPath | None = None,
    as_: Literal["records", "card"] = "records",
) -> int:
    """Write the answers as records.

    Args:
        db (URL): where the study is kept: a file, or postgresql://…
        output (FILE): the answers
        as_: records that grice reads, or the data card
    """
    from grice_annotate.begin import opened_study
    from grice_annotate.export import data_card, records

    with opened_study(db) as study:
        if as_ == "card":
            write_text(data_card(study), output)
        else:
            rows = list(records(study))
            write_rows(filter(None, rows), output)
            if left := rows.count({}):
                note(f"{plural(left, 'pair')} left out: unfinished, or most judges see no stance")
    return DONE
