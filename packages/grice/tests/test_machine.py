"""The description of a machine for ``make portability``."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
try:
    import machine
    from machine import describe_machine
finally:
    sys.path.pop(0)

X86 = """processor\t: 0
model name\t: Some Processor @ 2.00GHz
cpu family\t: 6
model\t\t: 143
flags\t\t: fpu sse2 avx avx2 fma avx512f avx512_vnni amx_int8

processor\t: 1
model name\t: another
"""
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp sve\n"


@pytest.fixture
def description_of(tmp_path, monkeypatch):
    def describe(cpuinfo, architecture):
        path = tmp_path / "cpuinfo"
        if cpuinfo is not None:
            path.write_text(cpuinfo)
        monkeypatch.setattr(machine, "CPUINFO", path)
        monkeypatch.setattr(platform, "machine", lambda: architecture)
        return describe_machine()

    return describe


def test_an_x86_processor_is_described(description_of):
    description = description_of(X86, "x86_64")
    assert description.processor == "Some Processor @ 2.00GHz (family 6, model 143)"
    assert description.instructions == ("AVX", "AVX2", "FMA", "AVX-512", "AVX-512 VNNI", "AMX int8")
    assert description.missing == ("AVX-VNNI", "AVX-512 BF16", "AVX-512 FP16")


def test_an_arm_processor_is_described(description_of):
    description = description_of(ARM, "aarch64")
    assert description.instructions == ("NEON", "dot product", "SVE")
    assert description.missing == ("int8 matrices",)


def test_numpy_is_asked_where_the_system_tells_nothing(description_of, monkeypatch):
    extensions = {"baseline": ["SSE", "SSE2"], "found": ["X86_V3", "AVX512_ICL"], "not found": []}
    monkeypatch.setattr(machine.np, "show_config", lambda _: {"SIMD Extensions": extensions})
    description = description_of(None, "AMD64")
    assert description.instructions == ("AVX", "AVX2", "FMA", "AVX-512", "AVX-512 VNNI")
    assert description.processor


def test_an_engine_that_tells_nothing_is_left_out(description_of, monkeypatch):
    monkeypatch.setattr(machine.sys, "executable", "/nowhere")
    description = description_of(X86, "x86_64")
    assert "ctranslate2" not in description.kernels


def test_the_matrix_library_of_numpy_is_told_with_its_kernels(description_of, monkeypatch):
    libraries = [
        {"user_api": "openmp", "internal_api": "openmp"},
        {"user_api": "blas", "internal_api": "openblas", "architecture": "Haswell"},
    ]
    monkeypatch.setattr(machine, "threadpool_info", lambda: libraries)
    assert description_of(X86, "x86_64").kernels["numpy"] == "openblas Haswell"


def test_this_machine_is_described():
    description = describe_machine()
    assert description.cores >= 1
    assert description.memory is None or description.memory > 2**20
    always = {"grice", "python", "ctranslate2", "numpy", "tokenizers"}
    assert always <= set(description.versions) <= {*always, *machine.OPTIONAL}
    assert all(name.isupper() or "_" in name for name in description.variables)


def test_no_module_of_the_working_folder_is_run(tmp_path, monkeypatch):
    (tmp_path / "ctranslate2.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert "ctranslate2" in describe_machine().kernels
    assert not (tmp_path / "ran").exists()
