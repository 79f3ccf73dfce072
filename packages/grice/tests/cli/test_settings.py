"""Options from a file: of the project, which a stranger may have written, and of the user."""

import json
import os
import shutil
from pathlib import Path

import pytest

import made_metric
from grice.cli import command_parser, main
from grice.cli.settings import ALLOWED, find_settings

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
    monkeypatch.chdir(project)
    Path("talks.jsonl").write_text('{"turns": ["Is it far?", "Ten minutes."]}\n')
    return project


@pytest.fixture
def own(home, tmp_path):
    """The user's own file, which is not there yet."""
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "grice.toml"


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


def test_a_file_sets_options_of_score_and_the_command_line_counts_more(project, capsys):
    (project / "grice.toml").write_text('metrics = ["log_length", "turn_count"]\nspeaker = ["A"]\n')
    assert main(["score", "talks.jsonl"]) == 0
    shown = capsys.readouterr()
    lines = map(json.loads, shown.out.splitlines())
    places = [(line["metric"], line["turn"]) for line in lines]
    assert places == [("log_length", 0), ("turn_count", None)]
    assert shown.err.splitlines()[0] == f"grice: options from {project / 'grice.toml'}"
    for words in (["-m", "distinct_words"], ["-mdistinct_words"], ["--metrics=distinct_words"]):
        assert scored(capsys, *words)[0] == {"distinct_words"}
    assert main(["score", "talks.jsonl", "--speaker", "B", "-m", "log_length"]) == 0
    assert json.loads(capsys.readouterr().out)["turn"] == 1, "speakers are not added up"
    assert main(["list"]) == 0
    assert "options from" not in capsys.readouterr().err, "other commands have no such options"
    (project / "talks.jsonl").write_text('{"turns": ["Is it far?", "No."]}\n' * 4)
    (project / "grice.toml").write_text('metrics = ["turn_count"]\nsample = 1\nseed = 0\n')
    assert main(["score", "talks.jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1, "a number is no truth value"
    (project / "grice.toml").write_text('seed = "first"\n')
    with pytest.raises(SystemExit, match="2"):
        main(["score", "talks.jsonl", "-m", "log_length"])
    message = capsys.readouterr().err
    assert "--seed: invalid int value: 'first'" in message
    assert f"options from {project / 'grice.toml'}" in message


def test_the_nearest_file_counts_and_paths_are_relative_to_it(project, monkeypatch):
    (project / "pyproject.toml").write_text(
        '[tool.grice]\nmetrics = ["log_length"]\noutput = "out.jsonl"\nresume = false\n'
    )
    inner = project / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    monkeypatch.chdir(inner)
    assert main(["score", "../talks.jsonl"]) == 0
    assert '"metric":"log_length"' in (project / "out.jsonl").read_text()


@pytest.mark.parametrize(("content", "problem"), [
    ('metric = "log_length"', "no option 'metric' of grice score; did you mean 'metrics'?"),
    ("relevance-histroy = 2", "did you mean 'relevance-history'?"),
    ("metrics = {a = 1}", "metrics: a text, a number, true, false or a list"),
    ("metrics = [", "not valid TOML"), ("a = " + "[" * 9999, "not valid TOML"),
    ("timeout = true", "timeout: a value is expected, found bool"),
    ('"sample=1 --seed" = 2', "no option 'sample=1 --seed' of grice score"),
])  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_the_way_out(project, capsys, content, problem):
    (project / "grice.toml").write_text(content + "\n")
    message = refused(capsys)
    assert "grice.toml" in message
    assert problem in message


def test_a_full_command_cuts_no_text(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    long = "It is ten minutes on foot. " * 30
    words = ["explain", "Is it far?", long, "And then?", "-m", "relevance"]
    for more, is_whole in ([], False), (["--full"], True):
        assert main([*words, *more]) == 0
        assert (long.strip() in capsys.readouterr().out) == is_whole


@pytest.mark.parametrize("by_file", [False, True])
def test_a_quiet_command_prints_results_and_errors_alone(project, capsys, by_file):
    if by_file:
        (project / "grice.toml").write_text("quiet = true\n")
    words = [] if by_file else ["--quiet"]
    assert scored(capsys, "-m", "log_length", *words) == ({"log_length"}, [])
    assert main(["score", "missing.jsonl", *words]) == 2
    assert "missing.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(("folder", "repository", "file", "is_found"), [
    ("root/a/b", "root", "", False), ("root/a/b", "root", "root", True),
    ("home/a/b", None, "", False), ("home/a/b", None, "home", True),
    ("home/a/b", "home/a", "home", False), ("a/b", None, "a", False), ("a/b", None, "a/b", True),
])  # fmt: skip
@pytest.mark.parametrize("worktree", [False, True])
def test_files_are_searched(home, tmp_path, folder, repository, file, is_found, worktree):
    (tmp_path / folder).mkdir(parents=True)
    if repository and worktree:
        (tmp_path / repository / ".git").write_text("gitdir: elsewhere\n")
    elif repository:
        (tmp_path / repository / ".git").mkdir()
    path = tmp_path / file / "grice.toml"
    path.write_text('metrics = ["turn_count"]\n')
    assert [settings.file for settings in find_settings(tmp_path / folder)] == [path] * is_found


def test_a_plugin_comes_from_the_user_alone(project, own, capsys, monkeypatch):
    plugin = made_metric.write(
        project / "evil.py", "shout", "return [Judgement(1.0) for _ in responses]"
    )
    with Path(plugin).open("a") as file:
        file.write("\nfrom pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    (project / "grice.toml").write_text('plugin = "evil.py"\n')
    for words in ([], ["-m", "log_length"], ["--plugin", "evil.py"]):
        message = refused(capsys, *words)
        assert f"{project / 'grice.toml'}: plugin: the file of a project may not" in message
        assert "--plugin on the command line" in message
        assert str(own) in message
    assert not (project / "ran").exists()
    (project / "grice.toml").unlink()
    assert scored(capsys, "--plugin", "evil.py", "-m", "shout")[0] == {"shout"}
    shutil.copy(plugin, own.parent / "mine.py")
    own.write_text('plugin = "mine.py"\nmetrics = ["shout"]\n')
    assert scored(capsys)[0] == {"shout"}, "relative to the user's own file"
    (project / "talks.jsonl").rename(own.parent / "talks.jsonl")
    monkeypatch.chdir(own.parent)
    assert scored(capsys)[0] == {"shout"}, "it is no file of a project in its own folder"


@pytest.mark.parametrize("options", [
    f'models = "openai:m@{NOBODY}"', f'models = " openai:m@{NOBODY}"', 'models = "mine.toml"',
    f'judge_relevance_model = ["x", "openai:m@{NOBODY}"]', 'relevance-model = "file:folder"',
    'relevance-model = "other:place"',
    *(f"relevance-model = '{start}host/own.tsv'" for start in ("//", "\\\\", "/\\")),
    "limit-requests = 9999", 'output = "../out.jsonl"', 'output = "link/out.jsonl"',
    'output = "s3://bucket/out.jsonl"', 'report = "a/../../page.html"',
    'report = "page\\u0000.html"',
])  # fmt: skip
def test_a_project_sets_nothing_that_reaches_beyond_it(project, tmp_path, capsys, options):
    (project / "link").symlink_to(tmp_path)
    name = options.partition(" ")[0].replace("_", "-")
    for file, table in (("grice.toml", ""), ("pyproject.toml", "[tool.grice]\n")):
        (project / file).write_text(f"{table}{options}\n")
        message = refused(capsys, "-m", "log_length")
        assert f"{project / file}: {name}: the file of a project may not set this value" in message
        assert NOBODY not in message, "an address may hold a password"
        (project / file).unlink()


@pytest.mark.parametrize("options", [
    'models = "small"', 'relevance-model = "builtin:relevance"', 'relevance-model = "model:large"',
    'relevance-model = "hf:owner/name@0123456789012345678901234567890123456789"',
    'speaker = ["A", "B:"]\nblend = "min:relevance,repetition"\n'
    'metrics = "relevance,repetition"', "no-cache = true", 'output = "./out.jsonl"',
    'report = "page.html"',
])  # fmt: skip
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
    message = capsys.readouterr().err
    assert "models: " not in message
    assert f"options from {project / 'grice.toml'} and {own}" in message
    assert "log_length" in (project / "here.jsonl").read_text()
    assert scored(capsys, "-m", "turn_count", "-o", "-")[0] == {"turn_count"}


def someone_else(monkeypatch, *parts):
    """Let links, the files that they stand for, or both belong to another user."""
    lstat, fstat = Path.lstat, os.fstat

    def of_other(status):
        values = list(status)
        values[4] = os.geteuid() + 1
        return os.stat_result(values)

    if "link" in parts:
        monkeypatch.setattr(Path, "lstat", lambda path: of_other(lstat(path)))
    if "target" in parts:
        monkeypatch.setattr(os, "fstat", lambda number: of_other(fstat(number)))


@pytest.mark.parametrize("part", ["link", "target"])
def test_a_file_of_another_user_is_refused(project, own, capsys, monkeypatch, part):
    (project / "target").write_text('metrics = ["log_length"]\n')
    (project / "grice.toml").symlink_to("target")
    assert scored(capsys)[0] == {"log_length"}
    with monkeypatch.context() as patched:
        someone_else(patched, part)
        user = os.geteuid()
        assert f"belongs to user {user + 1}, and the command runs as user {user}" in refused(capsys)
        (project / "grice.toml").unlink()
        (project / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
        assert scored(capsys, "-m", "log_length")[0] == {"log_length"}, "it has no options"
        own.write_text('metrics = ["log_length"]\n')
        assert f"{own}: belongs to user" in refused(capsys)


def test_the_own_file_is_written_by_its_owner_alone(project, own, capsys):
    own.write_text('metrics = ["log_length"]\n')
    own.chmod(0o664)
    assert scored(capsys)[0] == {"log_length"}
    own.chmod(0o646)
    assert f"chmod o-w {own}" in refused(capsys)
