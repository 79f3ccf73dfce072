"""Studies begun, and gone on with."""

from __future__ import annotations

import random
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import sqlalchemy as sa

from grice.errors import InputError
from grice_annotate.database import Database, studies, tasks
from grice_annotate.order import bins
from grice_annotate.records import Settings
from grice_annotate.rows import task_row
from grice_annotate.source import hashes, tasks_of
from grice_annotate.study import OWNER, Study
from grice_annotate.templates import find_templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grice_annotate.records import Task
    from grice_annotate.source import Source
    from grice_annotate.templates import Template


def begin(
    database: Database,
    template: Template,
    settings: Settings,
    fresh: Sequence[Task],
    source: Mapping[str, str],
) -> Study:
    """Return a new study of tasks."""
    if not fresh:
        raise InputError("there is nothing to ask: no item of the input fits the template")
    places = list(range(len(fresh)))
    if settings.order == "seed":
        random.Random(settings.seed).shuffle(places)
    ordered = sorted(zip(places, fresh, strict=True), key=lambda pair: pair[0])
    numbers = bins([task.score for _, task in ordered]) if settings.order == "uncertain" else None
    between = settings.check_every
    count = -(-len(fresh) // between) if between else 0
    checks = template.checks(count, fresh, settings)
    study = Study(database, template, settings)
    database.create()
    with database.writing() as connection:
        for place, task in [*ordered, *((len(fresh) + i, task) for i, task in enumerate(checks))]:
            number = None if numbers is None or place >= len(fresh) else numbers[place]
            connection.execute(
                tasks.insert().values(place=float(place), bin=number, **task_row(task))
            )
        connection.execute(
            studies.insert().values(
                version=1,
                template=template.name,
                settings=msgspec.json.encode(settings).decode(),
                source=msgspec.json.encode(source).decode(),
                begun=time.time(),
                paused=False,
            )
        )
    study.add_judges([OWNER])
    return study


@contextmanager
def begun_study(
    url: str, template: Template, settings: Settings, source: Source
) -> Iterator[Study]:
    """Give a new study, or the same one that was begun before."""
    digests = hashes(source.names)
    # A file is not made for an input that does not fit.
    fresh = tasks_of(source, template, settings) if _is_new_file(url) else None
    with closing(Database(url)) as database:
        if database.check():
            study = _resumed(database)
            check_same(study, template, settings, digests)
        else:
            fresh = fresh or tasks_of(source, template, settings)
            study = begin(database, template, settings, fresh, digests)
        yield study


def _is_new_file(url: str) -> bool:
    return "://" not in url and not Path(url).exists()


@contextmanager
def opened_study(url: str) -> Iterator[Study]:
    """Give the study that is there."""
    if _is_new_file(url):
        raise InputError(f"{url}: there is no such study; begin one by grice annotate TEMPLATE")
    with closing(Database(url)) as database:
        if not database.check():
            raise InputError(f"{url}: there is no study; begin one by grice annotate TEMPLATE")
        yield _resumed(database)


def _resumed(database: Database) -> Study:
    with database.reading() as connection:
        row = connection.execute(sa.select(studies)).one()
    templates = find_templates()
    if row.template not in templates:
        raise InputError(f"{database.name}: a study of {row.template!r}, which is no template")
    settings = msgspec.json.decode(row.settings, type=Settings)
    return Study(database, templates[row.template], settings)


def check_same(
    study: Study, template: Template, settings: Settings, source: Mapping[str, str]
) -> None:
    """Raise InputError if a study was begun with something else than is asked for now."""
    known = study.source()
    if study.template.name != template.name:
        asked = f"the study there is one of {study.template.name}"
    elif known != dict(source):
        asked = f"the study there was begun with {', '.join(known)}, whose content was another"
    elif study.settings != settings:
        names = [
            name
            for name in Settings.__struct_fields__
            if getattr(study.settings, name) != getattr(settings, name)
        ]
        asked = f"the study there was begun with other values of {', '.join(names)}"
    else:
        return
    raise InputError(
        f"{study.database.name}: {asked}; name a new file by --db, or go on by "
        "grice annotate resume"
    )
