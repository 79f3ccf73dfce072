"""The description of a machine for ``make portability``."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("cpuinfo", "instructions"),
    [
        (X86, ("AVX", "AVX2", "FMA", "AVX-512", "AVX-512 VNNI", "AMX int8")),
        (ARM, ("NEON", "dot product", "SVE")),
    ],
)
def test_a_processor_is_described(cpuinfo, instructions, tmp_path, monkeypatch):
    path = tmp_path / "cpuinfo"
    path.write_text(cpuinfo)
    monkeypatch.setattr(machine, "CPUINFO", path)
    description = describe_machine()
    assert description.instructions == instructions
    if cpuinfo == X86:
        assert description.processor == "Some Processor @ 2.00GHz (family 6, model 143)"


def test_no_module_of_the_working_folder_is_run(tmp_path, monkeypatch):
    (tmp_path / "ctranslate2.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    description = describe_machine()
    assert set(description.kernels) >= {"ctranslate2", "numpy"}
    assert set(description.versions) == {"grice", "python", "ctranslate2", "numpy", "tokenizers"}
    assert not (tmp_path / "ran").exists()
