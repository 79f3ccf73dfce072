"""What is learnt of a machine, whatever the system tells of it."""

from __future__ import annotations

import platform

import pytest

from grice.scoring import machine
from grice.scoring.machine import describe_machine

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
def told_by(tmp_path, monkeypatch):
    def describe(cpuinfo, architecture):
        path = tmp_path / "cpuinfo"
        if cpuinfo is not None:
            path.write_text(cpuinfo)
        monkeypatch.setattr(machine, "CPUINFO", path)
        monkeypatch.setattr(platform, "machine", lambda: architecture)
        return describe_machine()

    return describe


def test_an_x86_processor_is_described(told_by):
    told = told_by(X86, "x86_64")
    assert told.processor == "Some Processor @ 2.00GHz (family 6, model 143)"
    assert told.instructions == ("AVX", "AVX2", "FMA", "AVX-512", "AVX-512 VNNI", "AMX int8")
    assert told.missing == ("AVX-VNNI", "AVX-512 BF16", "AVX-512 FP16")


def test_an_arm_processor_is_described(told_by):
    told = told_by(ARM, "aarch64")
    assert told.instructions == ("NEON", "dot product", "SVE")
    assert told.missing == ("int8 matrices",)


def test_numpy_is_asked_where_the_system_tells_nothing(told_by, monkeypatch):
    extensions = {"baseline": ["SSE", "SSE2"], "found": ["X86_V3", "AVX512_ICL"], "not found": []}
    monkeypatch.setattr(machine.np, "show_config", lambda _: {"SIMD Extensions": extensions})
    told = told_by(None, "AMD64")
    assert told.instructions == ("AVX", "AVX2", "FMA", "AVX-512", "AVX-512 VNNI")
    assert told.processor


def test_an_engine_that_tells_nothing_is_left_out(told_by, monkeypatch):
    monkeypatch.setattr(machine.sys, "executable", "/nowhere")
    told = told_by(X86, "x86_64")
    assert "ctranslate2" not in told.kernels


def test_the_matrix_library_of_numpy_is_told_with_its_kernels(told_by, monkeypatch):
    libraries = [
        {"user_api": "openmp", "internal_api": "openmp"},
        {"user_api": "blas", "internal_api": "openblas", "architecture": "Haswell"},
    ]
    monkeypatch.setattr(machine, "threadpool_info", lambda: libraries)
    assert told_by(X86, "x86_64").kernels["numpy"] == "openblas Haswell"


def test_this_machine_is_described():
    told = describe_machine()
    assert told.cores >= 1
    assert told.memory is None or told.memory > 2**20
    always = {"grice", "python", "ctranslate2", "numpy", "tokenizers"}
    assert always <= set(told.versions) <= {*always, *machine.OPTIONAL}
    assert all(name.isupper() or "_" in name for name in told.variables)
