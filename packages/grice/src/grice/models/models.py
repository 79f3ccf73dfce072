"""Opens whatever a model reference names, each once, for all metrics together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, TypeVar, overload, runtime_checkable

from grice.errors import BundleError, GriceError, ModelError, out_of_memory
from grice.models.registry import dependencies_of, find_bundle, find_kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from grice.models.bundle import Bundle
    from grice.models.embedded import Mode
    from grice.models.endpoint.spending import Spending, Terms, Usage

DEEPEST = 8
MOST_PARTS = 64
"""How many models may stand one on another, and together; those that ship are 4 at most."""

P = TypeVar("P")


@runtime_checkable
class Closing(Protocol):
    """A model that holds something until it is closed."""

    def close(self) -> None:
        """Release it."""


def default_workers() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Models:
    """Opened models by reference.

    A reference is one string: ``bundle:NAME`` for a model that came with the package,
    ``model:NAME`` for one that was fetched (``grice models``) and ``hf:REPO@COMMIT`` for the same
    by its source, ``file:FOLDER`` for a bundle of your own, ``file:MY.tsv`` for triples of your
    own, ``openai:MODEL@URL`` for one of an endpoint, and what other people's packages
    add (:mod:`grice.models.registry`).

    Args:
        mode: ``exact`` or ``fast``; see :mod:`grice.models.embedded`.
        workers: How many batches are computed at the same time.
        cache: Folder of answers kept between runs; None keeps them for this run only.
        terms: How endpoints are used; None for the usual way.
    """

    def __init__(
        self, *, mode: Mode, workers: int, cache: Path | None, terms: Terms | None = None
    ) -> None:
        # Here, not above: reading a signature or a help text needs no engine.
        from grice.models.memo import Memo

        if mode not in ("exact", "fast"):
            raise ModelError(f"mode {mode!r}: write exact or fast")
        if workers < 1:
            raise ModelError(f"{workers} workers: at least one is needed")
        self.mode: Mode = mode
        self.workers = workers
        self.memo = Memo(cache)
        self._terms = terms
        self._spending: Spending | None = None
        self._bundles: dict[str, Bundle] = {}
        self._sizes: dict[str, int] = {}
        self._opened: dict[str, object] = {}
        self._shared: dict[tuple[type, str], object] = {}

    @property
    def spending(self) -> Spending:
        """What is sent to endpoints, of all models together."""
        if self._spending is None:
            from grice.models.endpoint.spending import Spending

            self._spending = Spending(self._terms)
        return self._spending

    @property
    def usage(self) -> tuple[Usage, ...]:
        """What was sent to endpoints, a record for each of their models."""
        return () if self._spending is None else self._spending.usage()

    def close(self) -> None:
        """Release the kept answers, and the connections of models that have some."""
        for model in self._opened.values():
            if isinstance(model, Closing):
                model.close()
        self.memo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def bundle(self, reference: str) -> Bundle:
        """Return the bundle a reference names, checked with those it stands on.

        Raises:
            ModelError: If the reference cannot be understood.
            BundleError: If one of them is missing or changed, or it stands on itself.
        """
        self._check_parts(reference, ())
        return self._bundles[reference]

    def _check_parts(self, reference: str, above: tuple[str, ...]) -> int:
        """Return how many models one is, with those it stands on; shared ones count each time."""
        if reference in above:
            raise BundleError(f"{reference}: stands on itself: {' → '.join((*above, reference))}")
        if len(above) > DEEPEST:
            raise BundleError(f"{above[0]}: stands on more than {DEEPEST} models one on another")
        if reference not in self._bundles:
            self._bundles[reference] = find_bundle(reference)
        if reference not in self._sizes:
            below = dependencies_of(self._bundles[reference].card)
            sizes = (self._check_parts(part, (*above, reference)) for part in below)
            self._sizes[reference] = 1 + sum(sizes)
        if self._sizes[reference] > MOST_PARTS:
            raise BundleError(f"{reference}: stands on more than {MOST_PARTS} models")
        return self._sizes[reference]

    def answers(self, reference: str) -> str:
        """Return what a model answers, such as ``relevance`` or ``knowledge``.

        Raises:
            ModelError: If this version knows no such kind of model.
        """
        card = self.bundle(reference).card
        kind = find_kind(card.kind, reference)
        base = card.settings.get("base")
        return self.answers(str(base)) if kind.like_base and base else kind.answers

    @overload
    def open(self, reference: str) -> object: ...
    @overload
    def open(self, reference: str, protocol: type[P]) -> P: ...
    def open(self, reference: str, protocol: type[P] | None = None) -> P | object:
        """Return the model a reference names.

        Args:
            protocol: What it will be asked for: a runtime-checkable protocol, or a class.

        Raises:
            ModelError: If the reference cannot be understood, names an unknown kind of model, or
                the model does not satisfy the protocol.
            BundleError: If the bundle is missing, changed or damaged.
        """
        if reference not in self._opened:
            self._opened[reference] = self._open(reference)
        model = self._opened[reference]
        if protocol is not None and not isinstance(model, protocol):
            kind = self.bundle(reference).card.kind
            raise ModelError(
                f"{reference}: a model of kind {kind!r}, where a {protocol.__name__} is needed"
            )
        return model

    def _open(self, reference: str) -> object:
        bundle = self.bundle(reference)
        kind = find_kind(bundle.card.kind, reference)
        try:
            return kind.open(bundle, self)
        except (GriceError, ImportError, MemoryError):
            raise
        except Exception as error:
            if out_of_memory(error):
                raise MemoryError(f"{reference}: {error}") from error
            # The files are those of the card, and not what a model of its kind is made of.
            raise BundleError(
                f"{reference}: does not hold what a bundle of kind {kind.name!r} needs: "
                f"{type(error).__name__}: {error}"
            ) from error

    def part(self, bundle: Bundle, reference: str, protocol: type[P], *answers: str) -> P:
        """Return what a bundle stands on, opened; see :class:`grice.models.registry.Opener`."""
        self.check_answers(bundle, reference, *answers)
        return self.open(reference, protocol)

    def check_answers(self, bundle: Bundle, reference: str, *answers: str) -> None:
        """Check what something that a bundle stands on answers.

        Raises:
            BundleError: If that is not among ``answers``.
        """
        if (answered := self.answers(reference)) not in answers:
            raise BundleError(
                f"{bundle.folder}: stands on {reference}, a model of {answered}, where one of "
                f"{' or '.join(answers)} is needed"
            )

    def shared(self, wanted: type[P], bundle: Bundle, make: Callable[[], P]) -> P:
        """Return what is made of a bundle, once for all models that stand on it."""
        made = self._shared.get((wanted, bundle.digest))
        if not isinstance(made, wanted):
            made = self._shared[wanted, bundle.digest] = make()
        return made

    def fingerprint(self, reference: str) -> str:
        """Return name and hash of a model, with those of the models it stands on."""
        bundle = self.bundle(reference)
        below = (self.fingerprint(part) for part in dependencies_of(bundle.card))
        return "+".join((bundle.identity, *below))

    def dependencies(self, reference: str) -> tuple[str, ...]:
        """Return a model reference with those of the models it stands on."""
        below = dependencies_of(self.bundle(reference).card)
        return (
            reference,
            *(part for dependency in below for part in self.dependencies(dependency)),
        )
