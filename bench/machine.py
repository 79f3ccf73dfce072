"""Describe the machine that computes scores: processor, kernels, versions, memory, variables.

python bench/machine.py     prints the description as JSON
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import ctranslate2
import msgspec
import numpy as np
from threadpoolctl import threadpool_info

import grice
from grice.models.models import default_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INSTRUCTIONS: Mapping[str, Mapping[str, str]] = {
    "x86": {
        "AVX": "avx",
        "AVX2": "avx2",
        "FMA": "fma",
        "AVX-VNNI": "avx_vnni",
        "AVX-512": "avx512f",
        "AVX-512 VNNI": "avx512_vnni",
        "AVX-512 BF16": "avx512_bf16",
        "AVX-512 FP16": "avx512_fp16",
        "AMX int8": "amx_int8",
    },
    "arm": {"NEON": "asimd", "dot product": "asimddp", "int8 matrices": "i8mm", "SVE": "sve"},
}
"""Instruction sets that choose kernels, each with its flag in ``/proc/cpuinfo``."""
NUMPY_FLAGS: Mapping[str, str] = {
    "AVX": "avx",
    "AVX2": "avx avx2",
    "FMA3": "fma",
    "X86_V3": "avx avx2 fma",
    "AVX512F": "avx512f",
    "AVX512_SKX": "avx512f",
    "X86_V4": "avx512f",
    "AVX512_CLX": "avx512f avx512_vnni",
    "AVX512_ICL": "avx512f avx512_vnni",
    "AVX512_SPR": "avx512f avx512_vnni avx512_bf16 avx512_fp16",
    "NEON": "asimd",
    "ASIMD": "asimd",
    "ASIMDDP": "asimddp",
    "SVE": "sve",
}
"""Features as numpy names them, for systems without ``/proc/cpuinfo``."""
VARIABLES = re.compile(
    r"(BLIS|CT2|DNNL|GLIBC|GOTO|KMP|MKL|NPY|OMP|ONEDNN|OPENBLAS|VECLIB)_(?!DUPLICATE_LIB_OK)"
)
"""Environment variables that choose kernels or numbers of threads; threadpoolctl sets the other."""
PACKAGES = ("ctranslate2", "numpy", "tokenizers")
OPTIONAL = ("onnxruntime", "scipy", "torch", "transformers")
CPUINFO = Path("/proc/cpuinfo")
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
REPORT = "import ctranslate2; ctranslate2.Encoder('')"
"""Makes the engine print its kernels; there is no such model, and none is needed for that."""
SECONDS = 20


class Machine(msgspec.Struct, frozen=True):
    """What decides the last bits of a score, and what there is to compute it with.

    Attributes:
        processor: Its name, with family and model where the system tells them.
        system: Operating system and architecture, such as ``Linux x86_64``.
        instructions: Instruction sets that it has, of those that choose kernels.
        missing: Those of its architecture that it has not.
        kernels: What multiplies matrices here, by library.
        cores: Cores that this process may use, which is the default number of workers.
        memory: Bytes that this process may use; None if the system does not tell.
        gpus: Devices that the engine sees; language models run on them.
        variables: Environment variables that are set and change kernels or threads.
        versions: Version of grice, Python and the packages that compute, as far as installed.
    """

    processor: str
    system: str
    instructions: tuple[str, ...]
    missing: tuple[str, ...]
    kernels: dict[str, str]
    cores: int
    memory: int | None
    gpus: int
    variables: dict[str, str]
    versions: dict[str, str]


def describe_machine() -> Machine:
    """Return what this machine computes with; what cannot be learnt is left empty."""
    info = _cpuinfo()
    present, missing = _instructions(info)
    return Machine(
        processor=_processor(info),
        system=f"{platform.system()} {platform.machine()}",
        instructions=present,
        missing=missing,
        kernels=_kernels(),
        cores=default_workers(),
        memory=_memory(),
        gpus=_gpus(),
        variables={
            name: printable(os.environ[name])
            for name in sorted(os.environ)
            if VARIABLES.match(name)
        },
        versions={
            "grice": grice.__version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in PACKAGES},
            **dict(_optional()),
        },
    )


def _optional() -> Iterator[tuple[str, str]]:
    for name in OPTIONAL:
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def printable(text: str) -> str:
    """Return what the system gave, with a mark for each byte that is no text."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _cpuinfo() -> dict[str, str]:
    """Return what the system tells of the first core, by name."""
    try:
        first = CPUINFO.read_text("utf-8", "replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _processor(info: Mapping[str, str]) -> str:
    name = info.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in info and "model" in info:
        return f"{name} (family {info['cpu family']}, model {info['model']})"
    return name


def _instructions(info: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the instruction sets that are there and those that are not."""
    flags = set((info.get("flags") or info.get("Features") or _numpy_flags()).split())
    arm = platform.machine().lower().startswith(("arm", "aarch"))
    known = INSTRUCTIONS["arm" if arm else "x86"]
    present = tuple(name for name, flag in known.items() if flag in flags)
    return present, tuple(name for name in known if name not in present)


def _numpy_flags() -> str:
    extensions = np.show_config("dicts").get("SIMD Extensions", {})
    names = [*extensions.get("baseline", ()), *extensions.get("found", ())]
    return " ".join(NUMPY_FLAGS.get(name, "") for name in names)


def _kernels() -> dict[str, str]:
    """Return which matrix kernels the engine and numpy chose."""
    kernels = _engine_kernels()
    for library in threadpool_info():
        if library["user_api"] == "blas":
            kernels["numpy"] = f"{library['internal_api']} {library.get('architecture') or ''}"
    return kernels


def _engine_kernels() -> dict[str, str]:
    # The engine tells only by its log, once a process and on the stream of errors.
    try:
        log = subprocess.run(
            [sys.executable, "-P", "-c", REPORT],
            env={**os.environ, "CT2_VERBOSE": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return {}
    stated = dict(re.findall(r"- (Selected ISA|SGEMM backend|GEMM_S8 backend): (\w+)", log))
    if len(stated) < 3:
        return {}
    isa, float32, int8 = (
        stated[name] for name in ("Selected ISA", "SGEMM backend", "GEMM_S8 backend")
    )
    return {"ctranslate2": f"{isa}, float32 {float32}, int8 {int8}"}


def _gpus() -> int:
    try:
        return int(ctranslate2.get_cuda_device_count())
    except RuntimeError:  # a driver that the engine cannot use
        return 0


def _memory() -> int | None:
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system without it
        return None
    for limit in map(Path, LIMITS):
        with suppress(OSError, ValueError):  # no container, or one without a limit
            whole = min(whole, int(limit.read_text("ascii")))
    return whole


if __name__ == "__main__":
    print(msgspec.json.encode(describe_machine()).decode())
