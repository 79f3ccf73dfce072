"""Describe the machine that computes scores: processor, kernels, versions.

python bench/machine.py     prints the description as JSON
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy  # noqa: F401 (threadpoolctl lists the libraries that are loaded)
from threadpoolctl import threadpool_info

import grice

INSTRUCTIONS = {
    "AVX": "avx", "AVX2": "avx2", "FMA": "fma", "AVX-VNNI": "avx_vnni", "AVX-512": "avx512f",
    "AVX-512 VNNI": "avx512_vnni", "AMX int8": "amx_int8", "NEON": "asimd",
    "dot product": "asimddp", "int8 matrices": "i8mm", "SVE": "sve",
}  # fmt: skip
"""Instruction sets that choose kernels, each with its flag in ``/proc/cpuinfo``."""
VARIABLES = re.compile(
    r"(BLIS|CT2|DNNL|GLIBC|GOTO|KMP|MKL|NPY|OMP|ONEDNN|OPENBLAS|VECLIB)_(?!DUPLICATE_LIB_OK)"
)
"""Environment variables that choose kernels or numbers of threads."""
PACKAGES = ("ctranslate2", "numpy", "tokenizers")
CPUINFO = Path("/proc/cpuinfo")
REPORT = "import ctranslate2; ctranslate2.Encoder('')"
"""Makes the engine print its kernels; there is no such model, and none is needed for that."""


class Machine(NamedTuple):
    """Facts that decide the last bits of a score; names of kernels are by library."""

    processor: str
    system: str
    instructions: tuple[str, ...]
    kernels: dict[str, str]
    versions: dict[str, str]


def describe_machine() -> Machine:
    """Return what this machine computes with; without ``/proc/cpuinfo`` less is known."""
    text = CPUINFO.read_text("utf-8", "replace").split("\n\n")[0] if CPUINFO.exists() else ""
    info = dict(re.findall(r"^(.*?)\s*:\s*(.*)$", text, re.MULTILINE))
    flags = set((info.get("flags") or info.get("Features") or "").split())
    name = info.get("model name") or platform.processor() or platform.machine()
    family = f" (family {info.get('cpu family')}, model {info['model']})" if "model" in info else ""
    versions = {package: metadata.version(package) for package in PACKAGES}
    return Machine(
        processor=name + family,
        system=f"{platform.system()} {platform.machine()}",
        instructions=tuple(name for name, flag in INSTRUCTIONS.items() if flag in flags),
        kernels=_kernels(),
        versions={"grice": grice.__version__, "python": platform.python_version(), **versions},
    )


def _kernels() -> dict[str, str]:
    """Return which matrix kernels the engine and numpy chose."""
    # The engine tells only by its log, once a process and on the stream of errors.
    log = subprocess.run(
        [sys.executable, "-P", "-c", REPORT], env={**os.environ, "CT2_VERBOSE": "1"},
        capture_output=True, text=True, errors="replace", timeout=20, check=False,
    ).stderr  # fmt: skip
    stated = dict(re.findall(r"- (Selected ISA|SGEMM backend|GEMM_S8 backend): (\w+)", log))
    engine = "{Selected ISA}, float32 {SGEMM backend}, int8 {GEMM_S8 backend}"
    kernels = {"ctranslate2": engine.format(**stated)} if len(stated) == 3 else {}
    for library in threadpool_info():
        if library["user_api"] == "blas":
            kernels["numpy"] = f"{library['internal_api']} {library.get('architecture') or ''}"
    return kernels


if __name__ == "__main__":
    print(msgspec.json.encode(describe_machine()._asdict()).decode())
