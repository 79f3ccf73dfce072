"""Options of ``grice score`` from ``grice.toml``, or ``[tool.grice]`` of ``pyproject.toml``.

    metrics = ["relevance", "coherence"]
    speaker = ["assistant"]
    relevance-history = 3

A key is an option without its dashes. Paths are relative to the file. Two files are read: the one
of the project, which is the nearest one from the working folder up to the root of its repository or
the user's home folder, and the user's own ``grice.toml`` in the folder of settings. The command
line takes precedence over the project's file, and that over the user's own.

A project may come from a stranger. Its file cannot run code, reach the network, decide what is
spent, or write outside of its folder; a file of another user is refused.
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
JOINED = frozenset({"metrics"})
"""Options that take a list in one word."""

REFUSED = {
    "plugin": "runs code",
    "engine": "sends texts to other processes and machines",
    "address": "sends texts to other machines",
    "limit-requests": "decides how much is sent",
    "cache": "decides where answers of models are read and written",
}
"""Options that the file of a project may not set, and what each one does."""

SCHEMES = ("bundle:", "model:", "hf:")
"""References that the file of a project may name: models that the user has installed or fetched.

A bundle by its path (``file:``) may stand on a model of an endpoint, and a scheme of another
package may open anything.
"""

NO_REFERENCES = frozenset({"speaker", "blend"})
"""Options of free text, in which a colon does not mark a reference."""

Value: TypeAlias = str | int | float | bool


class Settings(NamedTuple):
    """Options that a file sets, by their names without dashes; the user's own may set all."""

    file: Path
    options: dict[str, list[Value]]
    of_user: bool = False

    def words(self, given: Collection[str] = ()) -> Iterator[str]:
        """Yield the options as words of a command line, those that are given there left out."""
        for name, values in self.options.items():
            flag = f"--{name}"
            if any(word.partition("=")[0] in (flag, f"--no-{name}") for word in given):
                continue
            if name in SHORT and any(_is_short(word, SHORT[name]) for word in given):
                continue
            if _is_switch(values):
                yield from [flag] if values[0] else []
            elif name in JOINED:
                yield f"{flag}={','.join(map(str, values))}"
            else:
                yield from (f"{flag}={self._text(name, value)}" for value in values)

    def shown(self) -> str:
        """Return the path of the file, relative to the working folder where that is shorter."""
        try:
            relative = os.path.relpath(self.file)
        except ValueError:  # on another drive
            return str(self.file)
        if not relative.startswith(os.pardir):
            relative = f"{os.curdir}{os.sep}{relative}"
        return min(relative, str(self.file), key=len)

    def _text(self, name: str, value: Value) -> str:
        text = str(value)
        return str(self.file.parent / text) if name in PATHS and not is_url(text) else text


def find_settings(folder: Path) -> list[Settings]:
    """Return the settings that count in a folder: of the project, and the user's own beneath.

    An option that both set is left out of the user's own.
    """
    found: list[Settings] = []
    if project := _project_settings(folder):
        _check_project(project)
        found.append(project)
    own = user_file()
    if os.path.isfile(own):  # noqa: PTH113 - False also where a folder cannot be entered
        nearer = project.options if project else {}
        options = _read(own, of_user=True) or {}
        left = {name: values for name, values in options.items() if name not in nearer}
        found.append(Settings(own, left, of_user=True))
    return found


def user_file() -> Path:
    """Return where the user's own file lies, which may set every option."""
    return config_folder() / OWN


def searched_folders(folder: Path) -> list[Path]:
    """Return the folders that may hold the file of a project, the nearest first.

    The last one is the root of the repository or the user's home folder, whichever is nearer.
    Outside of both, it is the folder alone.
    """
    home = _home()
    places = [folder, *folder.parents]
    for i, place in enumerate(places, 1):
        if place == home or os.path.lexists(place / ".git"):
            return places[:i]
    return [folder]


def with_settings(words: Sequence[str]) -> tuple[list[str], list[Settings]]:
    """Return the words of a command line with options from files, and the files they are from.

    Only ``score`` has such options; they stand in front of those that were typed.
    """
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), 0)
    if words[place : place + 1] != ["score"]:
        return list(words), []
    files = find_settings(Path.cwd())
    given = words[place + 1 :]
    options = [word for settings in files for word in settings.words(given)]
    return [*words[: place + 1], *options, *given], files


def check_settings(parser: argparse.ArgumentParser) -> list[Settings]:
    """Return the settings that count here; refuse a key that is no option of the parser."""
    files = find_settings(Path.cwd())
    actions = parser._option_string_actions
    known = [option[2:] for option in actions if option.startswith("--")]
    for settings in files:
        for name, values in settings.options.items():
            if name not in known:
                former = (f"score --{name}", f"--{name}")
                if instead := next(filter(None, map(distributions.instead_of, former)), None):
                    raise InputError(f"{settings.file}: {name} is no longer available: {instead}")
                near = did_you_mean(name, known)
                raise InputError(f"{settings.file}: no option {name!r} of grice score{near}")
            if _is_switch(values) and actions[f"--{name}"].nargs != 0:
                raise InputError(f"{settings.file}: {name}: a value is expected, found bool")
    return files


def _project_settings(folder: Path) -> Settings | None:
    for place in searched_folders(folder):
        for file in (place / OWN, place / PROJECT):
            if not os.path.isfile(file) or _is_same(file, user_file()):  # noqa: PTH113
                continue
            if (options := _read(file)) is not None:
                return Settings(file, options)
    return None


def _home() -> Path | None:
    try:
        home = Path.home().resolve()
    except (RuntimeError, OSError):
        return None
    return home if home != home.parent else None  # users of services may have / for a home


def _is_same(file: Path, other: Path) -> bool:
    try:
        return file.samefile(other)
    except OSError:
        return False


def _read(file: Path, *, of_user: bool = False) -> dict[str, list[Value]] | None:
    import tomllib  # few commands need it, and none without a file

    try:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            content: object = tomllib.load(stream)
        link = file.lstat()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {os_reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        if file.name == PROJECT:  # of other tools, which say so themselves
            return None
        raise InputError(f"{file}: no TOML: {error}") from None
    for table in ("tool", "grice") if file.name == PROJECT else ():
        content = content.get(table) if isinstance(content, dict) else None
    if content is None:
        return None
    _check_owner(file, status, link)
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
        options[name] = _values(value, file, name)
    return options


def _check_owner(file: Path, *found: os.stat_result) -> None:
    """Refuse a file, or a link in its place, of another user, root included."""
    if not hasattr(os, "geteuid"):  # a system without user ids
        return
    user = os.geteuid()
    for status in found:
        if status.st_uid != user:
            raise InputError(
                f"{file}: belongs to user {status.st_uid}, and the command runs as user {user}: "
                "options of another user are not followed. Change its owner (chown) if you trust "
                "it, remove it, or run the command in another folder"
            )


def _check_project(settings: Settings) -> None:
    """Refuse what the file of a project may not set, since a stranger may have written it."""
    for name, values in settings.options.items():
        if act := _refused_act(settings, name, list(map(str, values))):
            variable = ", set GRICE_CACHE" if name == "cache" else ""
            raise InputError(
                f"{settings.file}: {name} {act}, which the file of a project may not do. Remove it "
                f"there; give --{name} on the command line{variable}, or set it in {user_file()}, "
                "your own file"
            )


def _refused_act(settings: Settings, name: str, texts: Sequence[str]) -> str:
    """Return what an option does that the file of a project may not do; empty if nothing."""
    if name in OUTPUTS:
        folder = settings.file.parent
        return (
            ""
            if all(_is_inside(text, folder) for text in texts)
            else "writes outside of the folder of that file"
        )
    if name == "models":
        named = any(":" in text or text.endswith(".toml") for text in texts)
        return "names an endpoint, or a preset by its path" if named else ""
    if name in REFUSED or name in NO_REFERENCES:
        return REFUSED.get(name, "")
    named = any(":" in text and not text.startswith(SCHEMES) for text in texts)
    return "names a model by an address or a path" if named else ""


def _is_inside(place: str, folder: Path) -> bool:
    """Return whether a place is in a folder, links followed."""
    try:
        return not is_url(place) and (folder / place).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, a zero byte
        return False


def _values(value: object, file: Path, name: str) -> list[Value]:
    values: list[Value] = []
    for element in value if isinstance(value, list) else [value]:
        if not isinstance(element, (str, int, float, bool)):
            raise InputError(
                f"{file}: {name}: a text, a number, true, false or a list of them is expected, "
                f"found {type(element).__name__}"
            )
        values.append(element)
    return values


def _is_switch(values: Sequence[Value]) -> bool:
    """Return whether a file says true or false; the numbers 1 and 0 equal them."""
    return len(values) == 1 and isinstance(values[0], bool)


def _is_short(word: str, flag: str) -> bool:
    return word.startswith(flag) and not word.startswith("--")
