"""Perturbations: functions that change conversations and list the changes.

A package offers perturbations through the entry point group ``grice.perturbations``; each entry
point names a :class:`Perturbation`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from grice import distributions
from grice.data import Conversation
from grice.errors import InputError, did_you_mean

__all__ = ["Change", "Material", "Perturbation", "Perturbed", "perturbation"]

GROUP = "grice.perturbations"


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change; ``turns`` are those of the new conversation whose text or speaker differs."""

    kind: str
    turns: tuple[int, ...]
    what: str
    before: str = ""
    after: str = ""


class Perturbed(msgspec.Struct, frozen=True):
    """A perturbed conversation with its changes."""

    conversation: Conversation
    changes: tuple[Change, ...]


class Material(NamedTuple):
    """Resources of a perturbation beside the conversation itself."""

    others: Sequence[Conversation] = ()  # for turns from elsewhere
    resources: Mapping[str, object] = {}  # files, models or objects that plug-ins read, by name


Function: TypeAlias = "Callable[[Conversation, Random, Material], Perturbed | None]"


class Perturbation(NamedTuple):
    """A perturbation with its name and publication.

    Attributes:
        level: ``text``: turns are moved; ``semantic``: wording is changed; plug-ins have others.
        apply: Function of a conversation, a random generator and material; None if it does
            not apply.
        prepare: Opens the resources that ``apply`` reads; called once per run.
    """

    name: str
    level: str
    source: str
    summary: str
    apply: Function
    prepare: Callable[[Material], Material] | None = None


def perturbation(
    name: str, level: str, source: str, prepare: Callable[[Material], Material] | None = None
) -> Callable[[Function], Perturbation]:
    """Declare a function as a perturbation; the first line of its docstring is the summary."""

    def declare(function: Function) -> Perturbation:
        summary = (function.__doc__ or "").strip().partition("\n")[0]
        return Perturbation(name, level, source, summary, function, prepare)

    return declare


def with_texts(conversation: Conversation, texts: Mapping[int, str]) -> Conversation:
    """Return the conversation with other texts in some turns."""
    turns = list(conversation.turns)
    for index, text in texts.items():
        turns[index] = replace(turns[index], text=text)
    return replace(conversation, turns=tuple(turns))


def some_turns(
    conversation: Conversation, draw: Random, share: float, change: Callable[[int], Change | None]
) -> Perturbed | None:
    """Change the texts of a share of the turns, at least one, in any order."""
    places = list(range(len(conversation.turns)))
    draw.shuffle(places)
    wanted = max(1, int(share * len(places)))
    changes = list(islice(filter(None, map(change, places)), wanted))
    if not changes:
        return None
    texts = {made.turns[0]: made.after for made in changes}
    return Perturbed(with_texts(conversation, texts), tuple(changes))


MIXTURES = {
    "deam": (4, "DEAM (Ghazarian et al. 2022), on the words",
             "coreference contradiction irrelevancy decreased-engagement"),
    "mesgar": (4, "Mesgar et al. 2020",
               "turn-order turn-insertion speaker-order turn-replacement"),
    "vakulenko": (1, "Vakulenko et al. 2018",
                  "turn-order speaker-sequence half-swap section-replacement"),
    "dynaeval": (1, "DynaEval (Zhang et al. 2021)", "speaker-order turn-replacement"),
}  # fmt: skip
"""The mixtures of papers: most perturbations of one conversation, source, and kinds."""


@cache  # scanning all installed packages takes longer than perturbing a conversation
def find_perturbations() -> Mapping[str, Perturbation]:
    """Return all perturbations by name: built-in first, then installed ones.

    InputError if an installed one cannot be loaded, or takes the name of another.
    """
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    values = (
        value
        for module in modules
        for value in vars(importlib.import_module(f"{__package__}.{module.name}")).values()
        if isinstance(value, Perturbation)
    )
    perturbations = {built_in.name: built_in for built_in in sorted(values)}
    for entry in distributions.entry_points(GROUP):
        try:
            loaded = distributions.load(entry)
        except Exception as error:
            raise InputError(f"perturbation {entry.name!r} cannot be loaded: {error}") from error
        if not isinstance(loaded, Perturbation) or loaded.name in perturbations:
            raise InputError(f"entry point {entry.name!r}: not a Perturbation of a name of its own")
        perturbations[loaded.name] = loaded
    return MappingProxyType(perturbations)


def named(name: str) -> Perturbation:
    """Return a perturbation, or a mixture, by name."""
    if name in MIXTURES:
        return mixture(name, *MIXTURES[name])
    known = find_perturbations()
    if name not in known:
        guess = did_you_mean(name, [*known, *MIXTURES])
        raise InputError(f"no perturbation or mixture {name!r}{guess}")
    return known[name]


def mixture(name: str, most: int, source: str, kinds: str) -> Perturbation:
    """Return one perturbation that applies one to ``most`` of several kinds, in their order."""
    parts = [named(kind) for kind in kinds.split()]

    def apply(conversation: Conversation, draw: Random, material: Material) -> Perturbed | None:
        # Kinds that do not apply are replaced by others.
        wanted = draw.randint(1, min(most, len(parts)))
        order = draw.sample(range(len(parts)), len(parts))
        for tried in (sorted(order[:wanted]), *([i] for i in order[wanted:])):
            broken = conversation
            changes: list[Change] = []
            for i in tried:
                if perturbed := parts[i].apply(broken, draw, material):
                    broken = perturbed.conversation
                    changes += perturbed.changes
            if changes:
                return Perturbed(broken, tuple(changes))
        return None

    level = "semantic" if any(part.level == "semantic" for part in parts) else "text"
    count = "one" if most == 1 else f"1 to {most}"
    summary = f"{source}: {count} of {', '.join(kinds.split())}."
    return Perturbation(name, level, source, summary, apply)


def perturb(
    conversation: Conversation,
    kind: Perturbation | str,
    *,
    seed: int = 0,
    material: Material = Material(),  # noqa: B008 - it cannot be changed
) -> Perturbed | None:
    """Perturb a conversation; None if that changes no turn.

    The result depends only on the seed and the material, on any machine.
    """
    chosen = named(kind) if isinstance(kind, str) else kind
    draw = Random(f"{seed}:{chosen.name}:{conversation.id}")
    perturbed = chosen.apply(conversation, draw, material)
    unchanged = perturbed is not None and perturbed.conversation.turns == conversation.turns
    return None if unchanged else perturbed


def material_for(
    kinds: Sequence[Perturbation],
    others: Sequence[Conversation],
    resources: Mapping[str, object] | None = None,
) -> Material:
    """Return the sources that perturbations draw from."""
    material = Material(others, resources or {})
    prepared = dict.fromkeys(kind.prepare for kind in kinds if kind.prepare is not None)
    if resources and not prepared:
        raise InputError(
            f"{', '.join(resources)}: no resource is read by {', '.join(k.name for k in kinds)}"
        )
    for prepare in prepared:
        material = prepare(material)
    return material


def perturb_all(
    conversations: Sequence[Conversation], kind: Perturbation, *, seed: int, material: Material
) -> Iterator[Conversation]:
    """Yield each conversation that can be perturbed, with its own id and notes in ``meta``."""
    for conversation in conversations:
        if perturbed := perturb(conversation, kind, seed=seed, material=material):
            broken = perturbed.conversation
            meta = {
                **broken.meta,
                "original": conversation.id,
                "perturbation": kind.name,
                "seed": seed,
                "changes": msgspec.to_builtins(perturbed.changes),
            }
            yield replace(broken, id=f"{broken.id}/{kind.name}", meta=meta)
