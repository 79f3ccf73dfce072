"""Files of options that another person may have written, and the user's own file."""

import json
import os
from pathlib import Path

import pytest

from grice.cli import command_parser, main
from grice.cli.settings import ALLOWED, Settings, find_settings

PLUGIN = """
from pathlib import Path
from grice import Judgement
from grice.metrics import Example, metric

Path(__file__).with_name("ran").touch()


@metric(
    "shout", version="1", summary="Made for a test.", judges="response", source="none",
    example=Example(["a", "b"], 1.0, 1.0),
)
def shout(responses):
    return [Judgement(1.0) for _ in responses]
"""
NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The home of the user, which holds no repository; the user's own file is elsewhere."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home))
    monkeypatch.setenv("GRICE_CONFIG", str(tmp_path / "config"))
    return home


@pytest.fixture
def project(home, tmp_path, monkeypatch):
    """The working folder: a repository outside of the home."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    go_to(project, monkeypatch)
    return project


@pytest.fixture
def own(home, tmp_path):
    """The user's own file, which is not there yet."""
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "grice.toml"


def go_to(folder, monkeypatch):
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    Path("talks.jsonl").write_text('{"turns": ["Is it far?", "Ten minutes."]}\n')


def scored(capsys, *words):
    """Score, and return the metrics that ran and the lines of standard error."""
    assert main(["score", "talks.jsonl", *words]) == 0
    shown = capsys.readouterr()
    return {json.loads(line)["metric"] for line in shown.out.splitlines()}, shown.err.splitlines()


def refused(capsys, *words):
    """Score in vain, and return the message."""
    assert main(["score", "talks.jsonl", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize(
    ("folder", "repository", "file", "is_found"),
    [
        ("root/a/b", "root", "", False),
        ("root/a/b", "root", "root", True),
        ("home/a/b", None, "", False),
        ("home/a/b", None, "home", True),
        ("home/a/b", "home/a", "home", False),
        ("a/b", None, "a", False),
        ("a/b", None, "a/b", True),
    ],
)
@pytest.mark.parametrize("worktree", [False, True])
def test_files_are_searched_up_to_the_repository_or_the_home(
    home, tmp_path, folder, repository, file, is_found, worktree
):
    (tmp_path / folder).mkdir(parents=True)
    if repository and worktree:
        (tmp_path / repository / ".git").write_text("gitdir: elsewhere\n")
    elif repository:
        (tmp_path / repository / ".git").mkdir()
    path = tmp_path / file / "grice.toml"
    path.write_text('metrics = ["turn_count"]\n')
    found = [settings.file for settings in find_settings(tmp_path / folder)]
    assert found == [path] * is_found


def test_a_home_that_is_the_root_of_the_system_ends_no_search(home, tmp_path, monkeypatch):
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, tmp_path.anchor)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "grice.toml").write_text('metrics = ["turn_count"]\n')
    assert find_settings(tmp_path / "a" / "b") == []


def test_the_first_line_names_the_file(project, own, capsys, monkeypatch):
    (project / "grice.toml").write_text('metrics = ["log_length"]\n')
    for words in ([], ["--json"], ["-o", "out.jsonl", "--json"]):
        assert main(["score", "talks.jsonl", *words]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == f"grice: options from {project / 'grice.toml'}"
        assert sum("options from" in line for line in lines) == 1
    own.write_text("seed = 1\n")
    go_to(project / "a", monkeypatch)
    sources = f"{project / 'grice.toml'} and {own}"
    assert scored(capsys)[1][0] == f"grice: options from {sources}"
    assert scored(capsys, "-q")[1] == []
    assert main(["list"]) == 0
    assert "options from" not in capsys.readouterr().err, "other commands have no such options"


def test_a_plugin_comes_from_the_user_alone(project, own, capsys):
    (project / "evil.py").write_text(PLUGIN)
    (project / "grice.toml").write_text('plugin = "evil.py"\n')
    for words in ([], ["-m", "log_length"], ["--plugin", "evil.py"]):
        message = refused(capsys, *words)
        assert f"{project / 'grice.toml'}: plugin: the file of a project may not" in message
        assert "--plugin on the command line" in message
        assert str(own) in message
    assert not (project / "ran").exists()
    (project / "grice.toml").unlink()
    assert scored(capsys, "--plugin", "evil.py", "-m", "shout")[0] == {"shout"}
    (own.parent / "mine.py").write_text(PLUGIN)
    own.write_text('plugin = "mine.py"\nmetrics = ["shout"]\n')
    assert scored(capsys)[0] == {"shout"}, "relative to the user's own file"
    assert find_settings(Path.cwd()) == [
        Settings(own, {"plugin": ["mine.py"], "metrics": ["shout"]})
    ]


@pytest.mark.parametrize(
    "options",
    [
        f'models = "openai:m@{NOBODY}"',
        f'models = " openai:m@{NOBODY}"',
        'models = "mine.toml"',
        f'judge-relevance-model = "openai:m@{NOBODY}"',
        f'judge_relevance_model = ["x", "openai:m@{NOBODY}"]',
        'relevance-model = "file:bundle"',
        'relevance-model = "other:place"',
        'engine = "ray"',
        'address = "ray://127.0.0.1:9"',
        "limit-requests = 9999",
        'cache = "answers"',
        'output = "../out.jsonl"',
        'output = "link/out.jsonl"',
        'output = "s3://bucket/out.jsonl"',
        'report = "a/../../page.html"',
        'report = "page\\u0000.html"',
    ],
)
def test_a_project_sets_nothing_that_reaches_beyond_it(project, tmp_path, capsys, options):
    (project / "link").symlink_to(tmp_path)
    name = options.partition(" ")[0].replace("_", "-")
    for file, table in (("grice.toml", ""), ("pyproject.toml", "[tool.grice]\n")):
        (project / file).write_text(f"{table}{options}\n")
        message = refused(capsys, "-m", "log_length")
        assert f"{project / file}: {name}: the file of a project may not set it so" in message
        assert NOBODY not in message, "an address may hold a password"
        (project / file).unlink()


@pytest.mark.parametrize(
    "options",
    [
        'models = "small"',
        'relevance-model = "builtin:relevance"',
        'relevance-model = "model:large"',
        'relevance-model = "hf:owner/name@0123456789012345678901234567890123456789"',
        'speaker = ["A", "B:"]\nblend = "min:relevance,repetition"\n'
        'metrics = "relevance,repetition"',
        "no-cache = true",
        'output = "./out.jsonl"',
        'report = "page.html"',
    ],
)
def test_a_project_sets_what_stays_inside(project, capsys, options):
    (project / "grice.toml").write_text(f"{options}\n")
    words = ["talks.jsonl", *([] if "metrics" in options else ["-m", "log_length"])]
    assert main(["score", *words]) == 0
    assert "options from" in capsys.readouterr().err
    assert (project / "page.html").exists() == options.startswith("report")
    assert (project / "out.jsonl").exists() == options.startswith("output")


def test_a_project_sets_options_that_exist_and_no_new_one_unseen(project, capsys):
    parser = command_parser(["score"]).commands()["score"]
    options = {
        option[2:]
        for action in parser._actions
        if "." not in action.dest  # of metrics, whose values are checked
        for option in action.option_strings
        if option.startswith("--")
    }
    assert options >= ALLOWED
    for option in options - ALLOWED - {"output", "report", "help"}:
        (project / "grice.toml").write_text(f'{option} = "x"\n')
        assert f"{option}: the file of a project may not" in refused(capsys)


def test_the_user_may_set_everything_and_the_project_comes_before(project, own, capsys):
    own.write_text(
        f'models = "openai:m@{NOBODY}"\nmetrics = ["log_length"]\ncache = "answers"\n'
        'limit-requests = 1\noutput = "../out.jsonl"\n'
    )
    assert main(["score", "talks.jsonl"]) == 0
    assert "models: openai:m@" in capsys.readouterr().err
    assert (own.parents[1] / "out.jsonl").exists()
    (project / "grice.toml").write_text('models = "small"\noutput = "here.jsonl"\n')
    assert main(["score", "talks.jsonl"]) == 0
    assert "models: " not in capsys.readouterr().err
    assert "log_length" in (project / "here.jsonl").read_text()
    assert main(["score", "talks.jsonl", "-m", "turn_count", "-o", "-"]) == 0
    assert '"metric":"turn_count"' in capsys.readouterr().out, "the command line comes first"
    here, mine = find_settings(Path.cwd())
    assert here.options["models"] == ["small"]
    assert "models" not in mine.options, "what does not count"


def test_the_own_file_is_no_file_of_a_project_in_its_own_folder(own, capsys, monkeypatch):
    go_to(own.parent, monkeypatch)
    (own.parent / "mine.py").write_text(PLUGIN)
    own.write_text('plugin = "mine.py"\nmetrics = ["shout"]\n')
    assert scored(capsys)[0] == {"shout"}


def someone_else(monkeypatch):
    """Run the commands as another user than the one who wrote the files."""
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    return user


def test_a_file_of_another_user_without_options_is_no_matter(project, capsys, monkeypatch):
    (project / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    someone_else(monkeypatch)
    assert scored(capsys, "-m", "log_length")[0] == {"log_length"}


LINK, TARGET = "lstat", "fstat"


def owned(monkeypatch, user, *files):
    """Let files belong to another user: links, the files that they stand for, or both."""
    lstat, fstat = Path.lstat, os.fstat

    def of_user(status):
        values = list(status)
        values[4] = user
        return os.stat_result(values)

    if LINK in files:
        monkeypatch.setattr(Path, "lstat", lambda path: of_user(lstat(path)))
    if TARGET in files:
        monkeypatch.setattr(os, "fstat", lambda number: of_user(fstat(number)))


@pytest.mark.parametrize("file", [LINK, TARGET])
def test_the_owner_of_a_link_and_that_of_its_target_count(project, capsys, monkeypatch, file):
    (project / "target").write_text('metrics = ["log_length"]\n')
    (project / "grice.toml").symlink_to("target")
    assert scored(capsys)[0] == {"log_length"}
    user = os.geteuid() + 1
    with monkeypatch.context() as patched:
        owned(patched, user, file)
        assert f"belongs to user {user}" in refused(capsys)


@pytest.mark.parametrize(("runs", "owns"), [(0, 1000), (1000, 0), (1000, 1001)])
def test_nobody_follows_another_user_root_included(project, capsys, monkeypatch, runs, owns):
    (project / "grice.toml").write_text('metrics = ["log_length"]\n')
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: runs)
        owned(patched, owns, LINK, TARGET)
        assert f"belongs to user {owns}, and the command runs as user {runs}" in refused(capsys)
        owned(patched, runs, LINK, TARGET)
        assert scored(capsys)[0] == {"log_length"}


def test_on_a_system_without_user_ids_the_owner_is_not_checked(project, capsys, monkeypatch):
    (project / "grice.toml").write_text('metrics = ["log_length"]\n')
    monkeypatch.delattr(os, "geteuid")
    assert scored(capsys)[0] == {"log_length"}


def test_the_own_file_is_written_by_its_owner_alone(project, own, capsys, monkeypatch):
    own.write_text('metrics = ["log_length"]\n')
    own.chmod(0o664)
    assert scored(capsys)[0] == {"log_length"}
    own.chmod(0o646)
    message = refused(capsys)
    assert f"chmod o-w {own}" in message
    own.chmod(0o644)
    someone_else(monkeypatch)
    assert f"{own}: belongs to user" in refused(capsys)
