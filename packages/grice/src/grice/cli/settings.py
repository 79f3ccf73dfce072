"""Options of ``score`` and ``check`` from ``grice.toml`` or ``[tool.grice]`` of pyproject.toml.

    metrics = ["relevance", "coherence"]
    speaker = ["assistant"]
    relevance-history = 3

    [check]                # [tool.grice.check] in pyproject.toml
    ignore = ["T107"]

A key is an option without its dashes; paths are relative to the file. Two files are read: that of
the project, the nearest one from the working folder up to the root of its repository or the home
folder, and the user's own ``grice.toml`` in the folder of settings. The command line takes
precedence over the project's file, and that over the user's own.

A project may not be trustworthy. Its file can set only the options of :data:`ALLOWED` and those of
metrics: it cannot run code, reach the network or write outside its folder. A file of another user
is refused.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from grice.cli.derive import SHORT, option_names
from grice.errors import InputError, did_you_mean, os_reason
from grice.files import config_folder, is_url

OWN, PROJECT = "grice.toml", "pyproject.toml"
ALLOWED = frozenset({
    "bad-records", "blend", "column", "concurrency", "debug", "dry-run", "format", "full", "json",
    "metrics", "mode", "models", "no-cache", "no-resume", "quiet", "resume", "sample", "seed",
    "speaker", "timeout", "workers",
})  # fmt: skip
"""Options of ``grice score`` that the file of a project may set."""
ALLOWED_IN_CHECK = frozenset({
    "column", "debug", "format", "full", "ignore", "input-format", "json", "limit",
    "min-confidence", "quiet", "select", "speaker",
})  # fmt: skip
SCORE, CHECK = "score", "check"
PATHS = ("baseline", "cache", "output", "plugin", "report")
LISTS = ("metrics", "select", "ignore")  # one option for a list, comma-separated
MODEL_NAME = re.compile(r"[\w-]*")  # a preset by its name; anything else is a file or an endpoint
SCHEMES = ("builtin:", "model:", "hf:")
"""References to installed or fetched models; others may reach an endpoint, or run code."""

Value: TypeAlias = str | int | float | bool


class Settings(NamedTuple):
    """Options of a file by their names without dashes."""

    file: Path
    options: dict[str, list[Value]]

    def words(self, given: Collection[str]) -> Iterator[str]:
        """Yield the options as words of a command line, without those that are given there."""
        typed = {word.partition("=")[0] for word in given}
        for name, values in self.options.items():
            short = SHORT.get(name)
            if not typed.isdisjoint({f"--{name}", f"--no-{name}"}) or (
                short and any(word.startswith(short) for word in given)
            ):
                continue
            texts = [str(value) for value in values]
            if name in PATHS:
                texts = [text if is_url(text) else str(self.file.parent / text) for text in texts]
            if _is_switch(values):
                yield from [f"--{name}"] if values[0] else []
            else:
                texts = [",".join(texts)] if name in LISTS else texts
                yield from (f"--{name}={text}" for text in texts)


def with_settings(words: Sequence[str]) -> tuple[list[str], list[Settings]]:
    """Put the options of files in front of those typed after the command; return the files."""
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), 0)
    command = words[place] if words else ""
    if command not in (SCORE, CHECK):
        return list(words), []
    files = find_settings(Path.cwd(), command)
    given = words[place + 1 :]
    options = [word for settings in files for word in settings.words(given)]
    return [*words[: place + 1], *options, *given], files


def find_settings(folder: Path, command: str = SCORE) -> list[Settings]:
    """Return the settings for a folder: of the project, then the user's own without those."""
    own = config_folder() / OWN
    found: list[Settings] = []
    for file in _project_files(folder, own):
        if (options := _read(file, command)) is not None:
            _check_project(file, options, own, command)
            found.append(Settings(file, options))
            break
    # os.path returns False also for a folder that cannot be entered.
    options = _read(own, command, is_own=True) if os.path.isfile(own) else None  # noqa: PTH113
    if options is not None:
        nearer = found[0].options if found else {}
        left = {name: values for name, values in options.items() if name not in nearer}
        found.append(Settings(own, left))
    return found


def check_settings(
    files: Sequence[Settings], parser: argparse.ArgumentParser, command: str
) -> None:
    """Refuse a key that is not an option of the command."""
    actions = parser._option_string_actions
    known = [option[2:] for option in actions if option.startswith("--")]
    for file, options in files:
        for name, values in options.items():
            if name not in known:
                near = did_you_mean(name, known)
                raise InputError(f"{file}: no option {name!r} of grice {command}{near}")
            if _is_switch(values) and actions[f"--{name}"].nargs != 0:
                raise InputError(f"{file}: {name}: a value is expected, found bool")


def _check_project(file: Path, options: dict[str, list[Value]], own: Path, command: str) -> None:
    """Refuse options that the file of a project may not set, since it may not be trustworthy."""
    from grice.cli.commands import check, scores

    known = option_names(check.check if command == CHECK else scores.score)
    free = ALLOWED_IN_CHECK if command == CHECK else ALLOWED
    for name, values in options.items():
        texts = [str(value) for value in values]
        if name == "models":
            allowed = all(map(MODEL_NAME.fullmatch, texts))
        elif name in ("baseline", "output", "report"):
            allowed = all(_is_inside(text, file.parent) for text in texts)
        elif name in free or name in known:
            allowed = name in free
        else:  # an option of a metric
            allowed = all(
                text.startswith(SCHEMES) or not re.search(r":|^[/\\]{2}", text) for text in texts
            )
        if not allowed:
            raise InputError(
                f"{file}: {name}: the file of a project may not set this value, which could run "
                "code, reach the network or write outside its folder. Remove it there; give "
                f"--{name} on the command line, or set it in {own}, your own file"
            )


def _is_inside(place: str, folder: Path) -> bool:
    try:
        return not is_url(place) and (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # circular links, a zero byte
        return False


def _project_files(folder: Path, own: Path) -> Iterator[Path]:
    """Yield the files that may hold the settings of a project, the nearest first."""
    try:
        home = Path.home().resolve()
    except (RuntimeError, OSError):
        home = None
    folders = [folder, *folder.parents]
    roots = (
        i
        for i, place in enumerate(folders, 1)
        # Users of services may have / for a home.
        if (place == home != place.parent) or os.path.lexists(place / ".git")
    )
    for place in folders[: next(roots, 1)]:
        for file in (place / OWN, place / PROJECT):
            if os.path.isfile(file) and not (os.path.exists(own) and file.samefile(own)):  # noqa: PTH110, PTH113
                yield file


def _read(file: Path, command: str, *, is_own: bool = False) -> dict[str, list[Value]] | None:
    """Read the options of a file; None for a ``pyproject.toml`` without any."""
    import tomllib  # few commands need it, and none without a file

    try:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            content: Any = tomllib.load(stream)
        link = file.lstat()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {os_reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        if file.name == PROJECT:  # other tools report it
            return None
        raise InputError(f"{file}: not valid TOML: {error}") from None
    if file.name == PROJECT:
        tool = content.get("tool")
        content = tool.get("grice") if isinstance(tool, dict) else None
        if content is None:
            return None
    _check_owner(file, {status.st_uid, link.st_uid})
    if is_own and os.name == "posix" and status.st_mode & stat.S_IWOTH:
        raise InputError(
            f"{file}: writable by every user of this machine, and it may name code to run; "
            f"remove that permission: chmod o-w {file}"
        )
    options: dict[str, list[Value]] = {}
    of_check = content.pop(CHECK, None) if isinstance(content, dict) else {}
    if command == CHECK:
        if of_check is None:
            return None
        content = of_check
    if not isinstance(content, dict):
        raise InputError(f"{file}: tool.grice: a table of options is expected")
    for key, value in content.items():
        name = key.replace("_", "-")
        if not f"_{name}".replace("-", "_").isidentifier():  # "plugin=x.py" is another option
            raise InputError(f"{file}: no option {name!r} of grice {command}")
        options[name] = value if isinstance(value, list) else [value]
        if wrong := [each for each in options[name] if not isinstance(each, str | float | int)]:
            raise InputError(
                f"{file}: {name}: a text, a number, true, false or a list of them is expected, "
                f"found {type(wrong[0]).__name__}"
            )
    return options


def _check_owner(file: Path, owners: set[int]) -> None:
    """Refuse a file of another user, or a link that another user made."""
    user = os.geteuid() if hasattr(os, "geteuid") else None  # None: no user ids on this system
    for owner in owners - {user} if user is not None else ():
        raise InputError(
            f"{file}: belongs to user {owner}, and the command runs as user {user}: options of "
            "another user are not used. Change its owner (chown) if you trust it, remove it, "
            "or run the command in another folder"
        )


def _is_switch(values: Sequence[Value]) -> bool:
    """Return whether a file says true or false; the numbers 1 and 0 equal them."""
    return len(values) == 1 and isinstance(values[0], bool)
