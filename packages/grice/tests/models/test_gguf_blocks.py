"""Blocks of 256 weights of GGUF, beside the reading of one number after the other."""

from __future__ import annotations

import numpy as np
import pytest

from grice.models.conversion.gguf import ENCODINGS

Q4_K, Q5_K, Q6_K = 12, 13, 14


def half(block, place):
    return float(block[place : place + 2].view(np.float16)[0])


def six_bits(packed, part):
    """Return scale and offset of a part, as get_scale_min_k4 of llama.cpp reads them."""
    if part < 4:
        return packed[part] & 63, packed[part + 4] & 63
    low, high = packed[part + 4] & 15, packed[part + 4] >> 4
    return low | packed[part - 4] >> 6 << 4, high | packed[part] >> 6 << 4


def scaled(block, *, fifth_bits):
    numbers = block[48:] if fifth_bits else block[16:]
    for place in range(256):
        chunk, rest = divmod(place, 64)
        upper, byte = divmod(rest, 32)
        number = numbers[32 * chunk + byte] >> 4 * upper & 15
        if fifth_bits:
            number += (block[16 + byte] >> 2 * chunk + upper & 1) * 16
        scale, offset = six_bits([int(value) for value in block[4:16]], 2 * chunk + upper)
        yield half(block, 0) * scale * int(number) - half(block, 2) * offset


def sixteenths(block):
    scales = block[192:208].view(np.int8)
    for place in range(256):
        side, rest = divmod(place, 128)
        quarter, byte = divmod(rest, 32)
        low = block[64 * side + 32 * (quarter % 2) + byte] >> 4 * (quarter // 2) & 15
        high = block[128 + 32 * side + byte] >> 2 * quarter & 3
        scale = int(scales[8 * side + 2 * quarter + byte // 16])
        yield half(block, 208) * scale * (int(low) + 16 * int(high) - 32)


READ = {
    Q4_K: lambda block: scaled(block, fifth_bits=False),
    Q5_K: lambda block: scaled(block, fifth_bits=True),
    Q6_K: sixteenths,
}


@pytest.mark.parametrize("kind", READ)
def test_blocks_are_read_as_their_layout_says(kind):
    random = np.random.default_rng(kind)
    encoding = ENCODINGS[kind]
    blocks = random.integers(0, 256, (3, encoding.bytes), dtype=np.uint8)
    for place in (208,) if kind == Q6_K else (0, 2):
        blocks[:, place : place + 2] = (
            random.normal(size=(3, 1)).astype(np.float16).view(np.uint8).reshape(3, 2)
        )
    expected = [list(READ[kind](block)) for block in blocks]
    assert np.allclose(encoding.decode(blocks).reshape(3, 256), expected, rtol=1e-5, atol=1e-4)
