"""Studies for tests, and somebody who opens their pages without a network."""

import asyncio
import json
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from grice.cli import main
from grice.errors import GriceError
from grice_annotate.app import application
from grice_annotate.begin import Source, begun_study, settings_of
from grice_annotate.templates import find_templates


def ask(app, method, path, fields=None, *, body=b"", headers=(), fault=()):
    """Return what an application answers; fields are those of a page, a body None never arrives."""
    content = urlencode(fields, doseq=True).encode() if fields else body
    path, _, query = path.partition("?")
    sent = []

    async def receive():
        if content is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "scheme": "http", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": query.encode(),
        "server": ("study", 80), "client": ("study", 1),
        "headers": [(b"host", b"study"), *((a.encode(), b.encode()) for a, b in headers)],
    }  # fmt: skip
    with suppress(fault):
        asyncio.run(app(scope, receive, send))
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    text = b"".join(part.get("body", b"") for part in sent[1:]).decode()
    return SimpleNamespace(status=sent[0]["status"], headers=answered, text=text)


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def talks(count, *, reply="Fine, and you?"):
    turns = [{"speaker": "Ann", "text": "How are you?"}, {"speaker": "Bot", "text": reply}]
    return [{"id": f"talk{number}", "turns": turns, "targets": [1]} for number in range(count)]


class Studio:
    """A study whose judges answer by its pages."""

    def __init__(self, study) -> None:
        self.study = study
        self.app = application(study)
        self.judges = {judge.name: judge for judge in study.judges()}

    def path(self, name: str) -> str:
        judge = self.judges[name]
        return f"/{'o' if judge.owner else 'j'}/{judge.token}"

    def task(self, name):
        headers = (("accept", "application/json"),)
        return json.loads(ask(self.app, "GET", self.path(name), headers=headers).text)

    def page(self, name, query=""):
        return ask(self.app, "GET", self.path(name) + query).text

    def answer(self, name, **fields):
        """Return the answer to the page that somebody has before them, sent with fields."""
        task = self.task(name)["task"]
        return ask(self.app, "POST", self.path(name), {"task": task, **fields})

    def all_answer(self, choose, names=None):
        """Let judges answer in turn until nobody has a task; return how many answers there were."""
        names = names or [name for name in self.judges if name != "owner"]
        answers, idle = 0, 0
        while idle < len(names):
            idle = 0
            for name in names:
                task = self.task(name)
                if task["task"] is None:
                    idle += 1
                    continue
                fields = {"task": task["task"], **choose(name, task)}
                reply = ask(self.app, "POST", self.path(name), fields)
                assert reply.status in (303, 422), reply.text
                answers += 1
        return answers

    def records(self):
        reply = ask(self.app, "GET", f"{self.path('owner')}/answers.jsonl")
        return [json.loads(line) for line in reply.text.encode().splitlines()]


@contextmanager
def studio_of(url, template, files, names=("ann", "bo", "cy"), source=None, **settings):
    """Give a study with its judges, of files or of records beside its database."""
    if isinstance(files[0], dict):
        files = [write(url.with_suffix(".jsonl"), *files)]
    stated = settings_of({"check_every": 0, **settings}, settings.pop("scale", (1, 5)))
    source = source or Source(files)
    with begun_study(str(url), find_templates()[template], stated, source) as study:
        study.add_judges(names)
        yield Studio(study)


def refused(problem, *words, **settings):
    """Check that a study is refused with a problem."""
    with pytest.raises(GriceError, match=problem), studio_of(*words, **settings):
        pass


def command(*words):
    """Return the status of ``grice annotate``."""
    return main(["annotate", *map(str, words)])
