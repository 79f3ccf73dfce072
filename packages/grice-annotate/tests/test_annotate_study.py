import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
import sqlalchemy

from grice_annotate.begin import Source
from grice_annotate.export import data_card
from grice_annotate.records import AnswerError
from grice_annotate.study import Study
from grice_annotate.templates import Submitted
from studio import ask, studio_of, talks, write


@pytest.fixture(scope="module")
def postgres():
    """Start a server of our own, reached by a socket in a folder, and give its address."""
    places = [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ["PATH"]]
    program = shutil.which("pg_ctl", path=os.pathsep.join(places))
    if program is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="grice-"))  # folders of pytest are closed to others
    options = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            shutil.chown(folder, "postgres", "postgres")
        except LookupError:
            pytest.skip("PostgreSQL runs as no root, and there is no user postgres")
        options |= {"user": "postgres", "group": "postgres", "extra_groups": []}

    def failed(*words):
        words = [program, "-D", folder / "data", *words]
        return subprocess.run(words, check=False, **options).returncode

    if failed("init", "-o", "-U grice -A trust --no-sync"):
        pytest.skip("PostgreSQL could not begin")
    assert not failed("start", "-w", "-o", f"-k {folder} -h '' -F")
    yield f"postgresql://grice@/postgres?host={folder}"
    assert not failed("stop", "-m", "immediate")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """Give an address of an empty database."""
    if request.param == "sqlite":
        yield tmp_path / "study.db"
        return
    import psycopg

    url = request.getfixturevalue("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    yield url


@pytest.fixture
def clock(monkeypatch):
    """Give a clock that a test sets."""
    clock = SimpleNamespace(now=time.time())
    monkeypatch.setattr(time, "time", lambda: clock.now)
    return clock


def test_a_failed_check_sets_the_answers_before_it_aside(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(6))
    settings = {"judges": 1, "check_every": 3}

    def choose(name, task):
        said = task["content"]["reply"]["text"]
        asked = "".join(letter for letter in said if letter.isdigit())
        return {"aspect0": asked if asked and name == "bo" else 3}

    with studio_of(database, "rating", [file], ("ann", "bo"), **settings) as studio:
        checks = [task for task in studio.study.tasks() if task.expected]
        wrong = {"aspect0": 1 if checks[1].expected["overall"] != 1 else 2}
        for sent in ({"aspect0": checks[0].expected["overall"]}, wrong):
            for _ in range(3):
                last = studio.task("ann")["task"]
                assert studio.answer("ann", aspect0=5).status == 303
            assert studio.task("ann")["key"].startswith("check:")
            assert studio.answer("ann", **sent).status == 303
        assert len(studio.records()) == 3  # those before the check that was passed stay
        assert sum(answer.set_aside for answer in studio.study.answers()) == 4
        with pytest.raises(AnswerError, match="was set aside"):
            studio.study.submit(studio.judges["ann"], last, {"overall": 4}, change=True)
        studio.all_answer(choose, ["bo"])
        judges = sorted(record["annotators"] for record in studio.records())
        assert judges == [["ann"]] * 3 + [["bo"]] * 3


def test_a_quiz_comes_first_level_by_level_and_is_in_no_record(database, tmp_path):
    keyed = [talk | {"expected": {"overall": 5}, "why": "It is kind."} for talk in talks(2)]
    rows = {"talks": talks(2), "first": keyed, "second": keyed[:1]}
    file, *quiz = (write(tmp_path / f"{name}.jsonl", *rows[name]) for name in rows)
    settings = {"judges": 1, "pass_mark": 0.5, "source": Source([file], quiz=quiz)}
    with studio_of(database, "rating", [file], ("ann", "bo"), **settings) as studio:
        task = studio.task("ann")
        assert not {"kind", "expected"} & set(re.findall(r"\w+", str(task)))
        told = studio.answer("ann", aspect0=5).headers["location"]
        page = ask(studio.app, "GET", told).text
        assert "<b>Right.</b> It is kind." in page
        assert "<form" not in page
        changed = {"task": task["task"], "change": 1, "aspect0": 4}
        assert ask(studio.app, "POST", studio.path("ann"), changed).status == 422
        assert [studio.answer("ann", abstain=1).status for _ in range(2)] == [303, 303]
        assert "0 of 1 answers were right" in studio.page("ann")  # half of the first level was
        assert studio.all_answer(lambda *_: {"aspect0": 5}) == 5
        assert [record["annotators"] for record in studio.records()] == [["bo"]] * 2
        card = data_card(studio.study)
    assert re.findall(r"\| (\w+) \|.* (\d of 3) \|", card) == [("ann", "1 of 3"), ("bo", "3 of 3")]


def test_a_task_whose_time_is_over_goes_to_somebody_else(database, clock, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(1))
    with studio_of(database, "rating", [file], judges=1, minutes=1) as studio:
        first = studio.task("ann")["task"]
        clock.now += 61
        assert studio.task("ann")["task"] == first  # whose time begins again
        assert studio.task("bo")["task"] is None
        for name in ("bo", "ann"):
            clock.now += 61
            assert studio.task(name)["task"] == first
        clock.now += 61
        ann, bo = studio.judges["ann"], studio.judges["bo"]
        studio.study.submit(ann, first, {"overall": 2})  # late, but nobody else has answered
        studio.task("cy")
        with pytest.raises(AnswerError, match="time for this task was over"):
            studio.study.submit(bo, first, {"overall": 5})
        assert [record["ratings"] for record in studio.records()] == [[2]]


def test_a_try_counts_before_the_model_is_asked_in_any_window(database, clock, tmp_path):
    file = write(tmp_path / "t.jsonl", {"id": "t", "topic": "Zoos", "stance": "counter"})
    with studio_of(database, "stance", [file], ("ann", "bo"), judges=1, tries=2) as studio:
        study, asked = studio.study, []
        given = study.next(studio.judges["ann"])

        def post(place):
            process = Study(study.database, study.template, study.settings, predict)
            form = {"belief": [f"belief {place}"], "argument": ["argument"]}
            return study.template.answer(Submitted(form, process.page(given)))

        def predict(belief, _):
            asked.append(belief)
            if len(asked) < 4:
                with suppress(AnswerError):  # the page is sent again while the model is asked
                    post(len(asked))
            return "counter"

        with pytest.raises(AnswerError, match="you have 1 try left"):
            post(0)
        assert asked == ["belief 0", "belief 1"]
        study.predict = predict
        clock.now += 7200  # the task is late, and given again
        tried = studio.task("ann")["draft"]["tries"]
        assert [each["predicted"] for each in tried] == ["counter"] * 2
        assert studio.answer("ann", belief="belief 2", argument="argument").status == 303
        studio.answer("bo", stance="counter")
        [record] = studio.records()
        assert (record["belief"], record["fooled"], len(asked)) == ("belief 1", False, 2)


def test_two_windows_of_one_judge_show_one_task_and_keep_one_answer(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(2))
    with studio_of(database, "rating", [file], judges=1) as studio:
        task = studio.task("ann")["task"]
        assert studio.task("ann")["task"] == task
        ann = studio.judges["ann"]
        studio.study.submit(ann, task, {"overall": 2})
        studio.study.submit(ann, task, {"overall": 2})  # sent twice, as by a slow network
        with pytest.raises(AnswerError, match="another window"):
            studio.study.submit(ann, task, {"overall": 5})
        studio.study.submit(ann, task, {"overall": 3}, change=True)
        assert [answer.value for answer in studio.study.answers()] == [{"overall": 3}]


def test_judges_who_answer_at_once_leave_no_task_with_too_many_answers(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(10))
    names = [f"judge{number}" for number in range(8)]
    with studio_of(database, "rating", [file], names, judges=2) as studio:

        def work(judge):
            while (given := studio.study.next(judge)) is not None:
                studio.study.submit(judge, given.task.id, {"overall": 3})

        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(work, [studio.judges[name] for name in names]))
        answers = studio.study.answers()
        assert len(answers) == len({(each.task, each.judge) for each in answers}) == 20


def test_what_no_database_holds_is_no_link_number_or_name(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(1))
    with studio_of(database, "rating", [file]) as studio:
        app, judge, owner = studio.app, studio.path("ann"), studio.path("owner")
        task = studio.task("ann")["task"]
        for number in ("²", 2**31, 2**63, "9" * 5000, -1, "1,2", "\0"):
            aside = {"action": "set_aside", "judge": number}
            assert ask(app, "POST", judge, {"task": number, "aspect0": 3}).status == 409
            assert ask(app, "GET", f"{owner}/task/{number}").status == 404
            assert ask(app, "POST", owner, aside).status == 400
            for none in (number, 99):
                page = studio.page("ann", f"?{urlencode({'task': none})}")
                assert f'name="task" value="{task}"' in page
        for name, status in (("a\0b", 400), ("a\nb", 400), ("a" * 65, 400), ("a" * 64, 303)):
            assert ask(app, "POST", owner, {"action": "add", "name": name}).status == status
        assert (ask(app, "GET", "/j/\0").status, len(studio.study.judges())) == (404, 5)


def test_a_study_whose_creation_is_ended_is_begun_whole_by_the_same_command(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(1))

    def end(*_):
        executed.append(place)
        if len(executed) == place:
            raise KeyboardInterrupt

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", end)
    for place in range(1, 40):  # noqa: B007 - the statement that is not executed
        executed = []
        with suppress(KeyboardInterrupt), studio_of(database, "rating", [file], ()):
            pass
    sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", end)
    assert len(executed) < place
    with studio_of(database, "rating", [file], ()) as studio:
        assert "<b>0</b> of 1 tasks are done" in studio.page("owner")


def test_a_study_is_paused_and_goes_on_where_it_was(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(2))
    with studio_of(database, "rating", [file], judges=1) as studio:
        studio.answer("ann", aspect0=1)
        studio.study.pause(paused=True)
        assert studio.task("bo") == {"task": None, "paused": True}
        assert "come back to this link later" in studio.page("bo")
        links = {name: judge.token for name, judge in studio.judges.items()}
    with studio_of(database, "rating", [file], judges=1) as studio:
        assert {name: judge.token for name, judge in studio.judges.items()} == links
        studio.study.pause(paused=False)
        assert studio.all_answer(lambda *_: {"aspect0": 4}) == 1
        assert len(studio.records()) == 2
