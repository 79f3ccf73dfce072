"""Options of ``grice score`` from ``grice.toml``, or ``[tool.grice]`` of ``pyproject.toml``.

    metrics = ["relevance", "coherence"]
    speaker = ["assistant"]
    relevance-history = 3

A key is an option without its dashes; paths are relative to the file. Two files are read: that of
the project, the nearest one from the working folder up to the root of its repository or the home
folder, and the user's own ``grice.toml`` in the folder of settings. The command line takes
precedence over the project's file, and that over the user's own.

A project may come from a stranger. Its file cannot run code, reach the network, decide how many
requests are sent, or write outside of its folder; a file of another user is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grice import distributions
from grice.errors import InputError, did_you_mean, os_reason
from grice.files import config_folder
from grice.stores import is_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Sequence

OWN, PROJECT = "grice.toml", "pyproject.toml"
OUTPUTS = frozenset({"output", "report"})
PATHS = OUTPUTS | {"plugin", "cache"}
SHORT = {"metrics": "-m", "output": "-o"}
REFUSED = {
    "plugin": "runs code",
    "engine": "sends texts to other processes and machines",
    "address": "sends texts to other machines",
    "limit-requests": "decides how much is sent",
    "cache": "decides where answers of models are read and written",
}
"""Options that the file of a project may not set, and their effect."""
SCHEMES = ("builtin:", "model:", "hf:")
"""References to installed or fetched models; others may reach an endpoint, or run code."""
NO_REFERENCES = frozenset({"speaker", "blend"})
"""Options of free text, in which a colon does not mark a reference."""

Value: TypeAlias = str | int | float | bool


class Settings(NamedTuple):
    """Options of a file by their names without dashes; the user's own may set all."""

    file: Path
    options: dict[str, list[Value]]
    of_user: bool = False

    def words(self, given: Collection[str] = ()) -> Iterator[str]:
        """Yield the options as words of a command line, without those that are given there."""
        for name, values in self.options.items():
            flag, short = f"--{name}", SHORT.get(name, "--")
            named = {word.partition("=")[0] for word in given}
            if not named.isdisjoint({flag, f"--no-{name}"}) or any(
                word.startswith(short) and not word.startswith("--") for word in given
            ):
                continue
            texts = [str(value) for value in values]
            if name in PATHS:
                texts = [text if is_url(text) else str(self.file.parent / text) for text in texts]
            if _is_switch(values):
                yield from [flag] if values[0] else []
            elif name == "metrics":
                yield f"{flag}={','.join(texts)}"
            else:
                yield from (f"{flag}={text}" for text in texts)

    def shown(self) -> str:
        """Return the path of the file, relative to the working folder if that is shorter."""
        try:
            relative = os.path.relpath(self.file)
        except ValueError:  # on another drive
            return str(self.file)
        if not relative.startswith(os.pardir):
            relative = f"{os.curdir}{os.sep}{relative}"
        return min(relative, str(self.file), key=len)


def with_settings(words: Sequence[str]) -> tuple[list[str], list[Settings]]:
    """Put the options of files in front of those typed after ``score``, and return the files."""
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), 0)
    if words[place : place + 1] != ["score"]:
        return list(words), []
    files = find_settings(Path.cwd())
    given = words[place + 1 :]
    options = [word for settings in files for word in settings.words(given)]
    return [*words[: place + 1], *options, *given], files


def find_settings(folder: Path) -> list[Settings]:
    """Return the settings for a folder: of the project, then the user's own without those."""
    own = config_folder() / OWN
    found: list[Settings] = []
    for file in _project_files(folder, own):
        if (options := _read(file)) is not None:
            _check_project(file, options, own)
            found.append(Settings(file, options))
            break
    if os.path.isfile(own):  # noqa: PTH113 - False also for a folder that cannot be entered
        nearer = found[0].options if found else {}
        options = _read(own, of_user=True) or {}
        left = {name: values for name, values in options.items() if name not in nearer}
        found.append(Settings(own, left, of_user=True))
    return found


def check_settings(parser: argparse.ArgumentParser) -> None:
    """Refuse a key that is no option of the parser."""
    actions = parser._option_string_actions
    known = [option[2:] for option in actions if option.startswith("--")]
    for settings in find_settings(Path.cwd()):
        for name, values in settings.options.items():
            if name not in known:
                former = (f"score --{name}", f"--{name}")
                if instead := next(filter(None, map(distributions.instead_of, former)), None):
                    raise InputError(f"{settings.file}: {name} is no longer available: {instead}")
                near = did_you_mean(name, known)
                raise InputError(f"{settings.file}: no option {name!r} of grice score{near}")
            if _is_switch(values) and actions[f"--{name}"].nargs != 0:
                raise InputError(f"{settings.file}: {name}: a value is expected, found bool")


def _project_files(folder: Path, own: Path) -> Iterator[Path]:
    """Yield the files that may hold the settings of a project, the nearest first.

    The last folder is the root of the repository or the home folder; outside of both, there is one.
    """
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
            if os.path.isfile(file):  # noqa: PTH113
                try:
                    is_own = file.samefile(own)
                except OSError:
                    is_own = False
                if not is_own:
                    yield file


def _read(file: Path, *, of_user: bool = False) -> dict[str, list[Value]] | None:
    """Read the options of a file; None for a ``pyproject.toml`` without any."""
    import tomllib  # few commands need it, and none without a file

    try:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            content: object = tomllib.load(stream)
        link = file.lstat()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {os_reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        if file.name == PROJECT:  # other tools report it
            return None
        raise InputError(f"{file}: no TOML: {error}") from None
    for table in ("tool", "grice") if file.name == PROJECT else ():
        content = content.get(table) if isinstance(content, dict) else None
    if content is None:
        return None
    user = os.geteuid() if hasattr(os, "geteuid") else None  # None: no user ids on this system
    for found in (status, link):
        if user is not None and found.st_uid != user:
            raise InputError(
                f"{file}: belongs to user {found.st_uid}, and the command runs as user {user}: "
                "options of another user are not followed. Change its owner (chown) if you trust "
                "it, remove it, or run the command in another folder"
            )
    if of_user and os.name == "posix" and status.st_mode & stat.S_IWOTH:
        raise InputError(
            f"{file}: every user of this machine may write into it, and it may name code to run; "
            f"take that right away: chmod o-w {file}"
        )
    if not isinstance(content, dict):
        raise InputError(f"{file}: tool.grice: a table of options is expected")
    options: dict[str, list[Value]] = {}
    for key, value in content.items():
        name = key.replace("_", "-")
        if not f"_{name}".replace("-", "_").isidentifier():  # "plugin=x.py" is another option
            raise InputError(f"{file}: no option {name!r} of grice score")
        options[name] = value if isinstance(value, list) else [value]
        for element in options[name]:
            if not isinstance(element, (str, int, float, bool)):
                raise InputError(
                    f"{file}: {name}: a text, a number, true, false or a list of them is expected, "
                    f"found {type(element).__name__}"
                )
    return options


def _check_project(file: Path, options: dict[str, list[Value]], own: Path) -> None:
    """Refuse options that the file of a project may not set: a stranger may have written it."""
    for name, values in options.items():
        texts = [str(value) for value in values]
        named = any(":" in text and not text.startswith(SCHEMES) for text in texts)
        effect = REFUSED.get(name, "")
        if name in OUTPUTS:
            inside = all(_is_inside(text, file.parent) for text in texts)
            effect = "" if inside else "writes outside of the folder of that file"
        elif name == "models":
            if any(":" in text or text.endswith(".toml") for text in texts):
                effect = "names an endpoint, or a preset by its path"
        elif named and name not in NO_REFERENCES:
            effect = effect or "names a model by an address or a path"
        if effect:
            variable = ", set GRICE_CACHE" if name == "cache" else ""
            raise InputError(
                f"{file}: {name} {effect}, which the file of a project may not do. Remove it "
                f"there; give --{name} on the command line{variable}, or set it in {own}, "
                "your own file"
            )


def _is_inside(place: str, folder: Path) -> bool:
    """Return whether a place is in a folder, links followed."""
    try:
        return not is_url(place) and (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a zero byte
        return False


def _is_switch(values: Sequence[Value]) -> bool:
    """Return whether a file says true or false; the numbers 1 and 0 equal them."""
    return len(values) == 1 and isinstance(values[0], bool)
