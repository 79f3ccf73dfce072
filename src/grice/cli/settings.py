"""Options of ``grice score`` from ``grice.toml``, or ``[tool.grice]`` of ``pyproject.toml``.

    metrics = ["relevance", "coherence"]
    speaker = ["assistant"]
    relevance-history = 3

A key is an option without its dashes. The nearest file counts, in the folder where the command runs
or further out; what the command line says counts more. Paths are relative to the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grice.errors import InputError, did_you_mean, os_reason

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Sequence

OWN, PROJECT = "grice.toml", "pyproject.toml"
PATHS = frozenset({"output", "report", "plugin", "cache"})
SHORT = {"metrics": "-m", "output": "-o"}
JOINED = frozenset({"metrics"})
"""Options that take a list in one word."""

Value: TypeAlias = str | int | float | bool


class Settings(NamedTuple):
    """What a file sets.

    Attributes:
        file: Where it lies.
        options: Values by the name of the option, without dashes in front.
    """

    file: Path
    options: dict[str, list[Value]]

    def words(self, given: Collection[str] = ()) -> Iterator[str]:
        """Yield the options as words of a command line, those that are given there left out."""
        for name, values in self.options.items():
            flag = f"--{name}"
            if any(word.partition("=")[0] in (flag, f"--no-{name}") for word in given):
                continue
            if name in SHORT and any(_is_short(word, SHORT[name]) for word in given):
                continue
            if values in ([True], [False]):
                yield from [flag] if values[0] else []
            elif name in JOINED:
                yield f"{flag}={','.join(map(str, values))}"
            else:
                yield from (f"{flag}={self._text(name, value)}" for value in values)

    def _text(self, name: str, value: Value) -> str:
        return str(self.file.parent / str(value)) if name in PATHS else str(value)


def find_settings(folder: Path) -> Settings | None:
    """Return the settings that count in a folder; None where no file has any.

    Raises:
        InputError: If a file cannot be read, or has a value that no option takes.
    """
    for place in (folder, *folder.parents):
        for file in (place / OWN, place / PROJECT):
            if file.is_file() and (options := _read(file)) is not None:
                return Settings(file, options)
    return None


def with_settings(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, those of ``score`` with what a file sets in front."""
    if "score" not in words or (settings := find_settings(Path.cwd())) is None:
        return list(words)
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), 0)
    if words[place] != "score":
        return list(words)
    given = words[place + 1 :]
    return [*words[: place + 1], *settings.words(given), *given]


def check_settings(parser: argparse.ArgumentParser) -> Settings | None:
    """Return the settings that count here, if the parser knows all of them.

    Raises:
        InputError: For a key that is no option.
    """
    settings = find_settings(Path.cwd())
    if settings is None:
        return None
    known = [option[2:] for option in parser._option_string_actions if option.startswith("--")]
    for name in settings.options:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(f"{settings.file}: no option {name!r} of grice score{near}")
    return settings


def _read(file: Path) -> dict[str, list[Value]] | None:
    import tomllib  # few commands need it, and none without a file

    try:
        content: object = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {os_reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if file.name == PROJECT:  # of other tools, which say so themselves
            return None
        raise InputError(f"{file}: no TOML: {error}") from None
    for table in ("tool", "grice") if file.name == PROJECT else ():
        content = content.get(table) if isinstance(content, dict) else None
    if content is None:
        return None
    if not isinstance(content, dict):
        raise InputError(f"{file}: tool.grice: a table of options is expected")
    return {name.replace("_", "-"): _values(value, file, name) for name, value in content.items()}


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


def _is_short(word: str, flag: str) -> bool:
    return word.startswith(flag) and not word.startswith("--")
