"""The environments that make other kernels multiply, as other processors would."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["Environment", "environments", "possible"]


class Environment(NamedTuple):
    """What a process is started with.

    Attributes:
        variables: Environment variables, as a shell would set them.
        needs: Instruction sets that the processor must have, or ``x86-64``.
        workers: Workers that score the examples.
        tested: Whether the tests of the promise run in it, not the doctor alone.
        label: What it stands for, where the variables are many.
    """

    variables: str = ""
    needs: tuple[str, ...] = ()
    workers: int = 1
    tested: bool = False
    label: str = ""

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        if self.variables:
            return f"`{self.variables}`"
        return "default" if self.workers == 1 else f"{self.workers} workers"


def environments() -> list[Environment]:
    """Return the environments, the default one first."""
    old = f"NPY_DISABLE_CPU_FEATURES={','.join(numpy_features())}"
    return [
        Environment(tested=True),
        Environment(workers=2),
        Environment("OMP_NUM_THREADS=4"),
        Environment("CT2_FORCE_CPU_ISA=GENERIC", tested=True),
        *(
            Environment(f"CT2_FORCE_CPU_ISA={isa}", (need, "x86-64"))
            for isa, need in (("AVX", "AVX"), ("AVX2", "AVX2"), ("AVX512", "AVX-512"))
        ),
        Environment("CT2_USE_MKL=1", ("x86-64",)),
        Environment("CT2_USE_MKL=1 MKL_NUM_THREADS=4", ("x86-64",), tested=True),
        *(
            Environment(f"CT2_USE_MKL=1 MKL_ENABLE_INSTRUCTIONS={isa}", needs, tested=isa == "AVX2")
            for isa, needs in (
                ("SSE4_2", ("x86-64",)), ("AVX", ("AVX",)), ("AVX2", ("AVX2",)),
                ("AVX512", ("AVX-512",)),
            )
        ),
        *(
            Environment(f"CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA={isa}", needs)
            for isa, needs in (
                ("SSE41", ("x86-64",)), ("AVX", ("AVX",)), ("AVX2", ("AVX2",)),
                ("AVX512_CORE", ("AVX-512",)),
            )
        ),
        *(
            Environment(f"OPENBLAS_CORETYPE={core}", needs)
            for core, needs in (
                ("Prescott", ("x86-64",)), ("Nehalem", ("x86-64",)), ("Sandybridge", ("AVX",)),
                ("Haswell", ("AVX2",)), ("Zen", ("AVX2",)), ("SkylakeX", ("AVX-512",)),
            )
        ),
        Environment(old, ("x86-64",)),
        Environment(
            "CT2_FORCE_CPU_ISA=GENERIC CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=SSE41 "
            f"OPENBLAS_CORETYPE=Prescott {old}",
            ("x86-64",),
            tested=True,
            label="an old processor",
        ),
    ]  # fmt: skip


def numpy_features() -> Iterable[str]:
    """Return what numpy dispatches on here; it does without whatever it is told to disable."""
    return np.show_config("dicts")["SIMD Extensions"].get("found", ())


def possible(environment: Environment, instructions: Collection[str]) -> bool:
    """Return whether a process can run so here: forcing what is not there would abort it."""
    x86 = ("x86-64",) if platform.machine().lower() in ("x86_64", "amd64") else ()
    return {*environment.needs} <= {*instructions, *x86}
