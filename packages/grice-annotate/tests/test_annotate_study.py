import os
import pwd
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grice_annotate.records import AnswerError
from studio import refused, studio_of, talks, write


@pytest.fixture(scope="module")
def postgres():
    """Start a server of our own, reached by a socket in a folder, and give its address."""
    psycopg = pytest.importorskip("psycopg")
    places = [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ["PATH"]]
    found = shutil.which("initdb", path=os.pathsep.join(places))
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    programs = Path(found).parent
    folder = Path(tempfile.mkdtemp(prefix="grice-"))  # folders of pytest are closed to others
    options = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL runs as no root, and there is no user postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    options |= {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = [programs / "initdb", "-D", folder / "data", "-U", "grice", "-A", "trust", "--no-sync"]
    if subprocess.run(words, check=False, **options).returncode:
        pytest.skip("PostgreSQL could not begin")
    words = [programs / "postgres", "-D", folder / "data", "-k", folder, "-h", "", "-F"]
    server = subprocess.Popen(words, **options)
    deadline = time.monotonic() + 30
    url = f"postgresql://grice@/postgres?host={folder}"
    while True:  # there is a socket before the server answers at it
        try:
            psycopg.connect(url).close()
            break
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield url
    server.terminate()
    server.wait(30)
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


def rate(_, __):
    return {"aspect0": 4}


def test_each_item_is_answered_by_as_many_judges_as_wanted_and_by_nobody_twice(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(7))
    names = ("ann", "bo", "cy", "di", "eve")
    with studio_of(database, "rating", [file], names, judges=3) as studio:
        assert studio.all_answer(rate) == 7 * 3
        answers = studio.study.answers()
        assert len({(answer.task, answer.judge) for answer in answers}) == 21
        assert all(len(record["ratings"]) == 3 for record in studio.records())


def test_a_failed_check_sets_the_answers_before_it_aside_and_others_give_them_again(
    database, tmp_path
):
    file = write(tmp_path / "talks.jsonl", *talks(6))
    settings = {"judges": 1, "check_every": 3}

    def choose(name, task):
        said = task["content"]["reply"]["text"]
        asked = "".join(letter for letter in said if letter.isdigit())
        return {"aspect0": asked if asked and name == "bo" else 3}

    with studio_of(database, "rating", [file], ("ann", "bo"), **settings) as studio:
        checks = [task for task in studio.study.tasks() if task.expected]
        assert [task.judges for task in checks] == [0, 0]
        wrong = {"aspect0": 1 if checks[0].expected["overall"] != 1 else 2}
        for _ in range(3):
            assert studio.answer("ann", aspect0=5).status == 303
        assert studio.task("ann")["key"].startswith("check:")
        assert studio.answer("ann", **wrong).status == 303
        assert studio.records() == []
        assert sum(answer.set_aside for answer in studio.study.answers()) == 4
        studio.all_answer(choose, ["bo"])
        assert [record["annotators"] for record in studio.records()] == [["bo"]] * 6


def test_a_task_whose_time_is_over_goes_to_somebody_else_and_comes_back_if_nobody_takes_it(
    database, tmp_path
):
    file = write(tmp_path / "talks.jsonl", *talks(1))
    with studio_of(database, "rating", [file], judges=1, minutes=1e-4) as studio:
        first = studio.task("ann")["task"]
        time.sleep(0.05)
        assert studio.task("bo")["task"] == first
        time.sleep(0.05)
        assert studio.task("ann")["task"] == first
        time.sleep(0.05)
        ann, bo = studio.judges["ann"], studio.judges["bo"]
        studio.study.submit(ann, first, {"overall": 2})  # late, but nobody else has answered
        studio.task("cy")
        with pytest.raises(AnswerError, match="time for this task was over"):
            studio.study.submit(bo, first, {"overall": 5})
        assert [record["ratings"] for record in studio.records()] == [[2]]


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


def test_a_study_is_paused_and_goes_on_where_it_was(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(2))
    with studio_of(database, "rating", [file], judges=1) as studio:
        studio.answer("ann", aspect0=1)
        studio.study.pause(paused=True)
        assert studio.task("bo") == {"task": None, "paused": True}
        links = {name: judge.token for name, judge in studio.judges.items()}
    with studio_of(database, "rating", [file], judges=1) as studio:
        assert {name: judge.token for name, judge in studio.judges.items()} == links
        studio.study.pause(paused=False)
        assert studio.all_answer(rate) == 1
        assert len(studio.records()) == 2


def test_another_study_in_the_same_database_is_refused(database, tmp_path):
    file = write(tmp_path / "talks.jsonl", *talks(2))
    with studio_of(database, "rating", [file]):
        pass
    other = write(tmp_path / "other.jsonl", *talks(3))
    for template, files, settings, problem in (
        ("issues", [file], {}, "one of rating"),
        ("rating", [other], {}, "begun with talks.jsonl"),
        ("rating", [file], {"judges": 5}, "other values of judges"),
    ):
        refused(problem, database, template, files, **settings)
