"""Train the upper layers of ``reader`` and its heads on the soft labels of the large heads.

    python -m grice_research.recipes.sense.distil SmolLM2-135M-Instruct.Q4_1.gguf --run first

Every matrix of the upper layers gets a change of low rank. The states below them are computed once
with the weights that ship, and kept on disk. A checkpoint is written every three minutes, and the
same command continues from it. ``--write`` merges the changes and writes both models.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from ctranslate2.specs import ModelSpec
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from grice.data import Response
from grice.models.conversion import (
    Checkpoint,
    quantize,
    read_checkpoint,
    state_network,
    write_network,
)
from grice.models.download import MIDDLE
from grice.models.flaws import reply_states
from grice.models.mlp import Mlp
from grice.models.protocols import Prompt
from grice.models.store import known_models
from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import layers_of, parser_of, perceptron
from grice_research.recipes.sense.fit import LABEL_WEIGHT, response_of, right
from grice_research.recipes.sense.reader import LAYERS, VOCABULARY, coarsen, with_first_tokens
from grice_research.recipes.sense.sources import FLAWS, Item, chatbot_items, written_items
from grice_research.recipes.sense.teacher import labels, windows

Floats = NDArray[np.float32]

RANK, FIRST = 16, 6  # of the changes; layers that are left as they ship
BATCH, LONGEST = 2048, 512  # tokens of a step with padding, and of a tree
CHUNK = 128  # trees of a chunk are sorted by length, so that little is padded
RATES = (1e-3, 1e-3)  # largest ones of the layers and of the heads
DECAY, WARM, SAVE = 0.01, 0.05, 180.0
HIDDEN, DROPOUT = 192, (0.2, 0.3)
MATRICES = ("self_attention/linear_0", "self_attention/linear_1", "ffn/linear_0",
            "ffn/linear_0_noact", "ffn/linear_1")  # fmt: skip


class Tree(NamedTuple):
    """Prompts as one row of tokens, in which a common beginning stands once.

    It has the log odds of its replies, or the item that compares them.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    visible: NDArray[np.bool_]  # which tokens each token attends to
    replies: list[NDArray[np.int64]]  # indices of the tokens of each reply
    odds: Floats | None
    item: Item | None
    validation: bool


class Recorder:
    """An encoder that keeps the prompts it is given."""

    dimensions, identity = 1, "recorder"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)

    def mean_states(self, prompts: Sequence[Prompt]) -> list[list[Floats]]:
        self.prompts += prompts
        return [[np.zeros(1, np.float32)] * sum(p.target for p in prompt) for prompt in prompts]


def tree_of(
    groups: Sequence[Sequence[Response]],
    tokenizer: Tokenizer,
    *,
    odds: Floats | None = None,
    item: Item | None = None,
    validation: bool,
) -> Tree:
    """Return the prompts of groups of replies, each group one conversation."""
    tokens: list[int] = []
    positions: list[int] = []
    above: list[list[int]] = []  # indices of the tokens before each one, itself included
    known: dict[tuple[str, ...], list[int]] = {(): []}
    replies = []
    for group in groups:
        recorder = Recorder()
        reply_states(recorder, group)
        (prompt,) = recorder.prompts
        path: tuple[str, ...] = ()
        for part in prompt:
            before, path = known[path], (*path, part.text)
            if path not in known:
                own = tokenizer.encode(part.text, add_special_tokens=False).ids
                places = [*before, *range(len(tokens), len(tokens) + len(own))]
                above += [places[: len(before) + i + 1] for i in range(len(own))]
                positions += range(len(before), len(places))
                tokens += own
                known[path] = places
            if part.target:
                replies.append(np.array(known[path][len(before) :]))
    visible = np.zeros((len(tokens), len(tokens)), bool)
    for row, places in enumerate(above):
        visible[row, places] = True
    return Tree(np.array(tokens), np.array(positions), visible, replies, odds, item, validation)


def read_trees(data: Path, tokenizer: Tokenizer) -> list[Tree]:
    """Return labelled windows, written items and votes on chatbots, the shortest first."""
    known, trees = labels(), []
    for window in windows(data):
        if window.key in known:
            odds = np.array(known[window.key], np.float32)
            groups, kept = [window.responses()], window.validation
            trees.append(tree_of(groups, tokenizer, odds=odds, validation=kept))
    for item in (*written_items(), *chatbot_items(data)):
        groups = [[response_of(reading)] for reading in item.readings]
        trees.append(tree_of(groups, tokenizer, item=item, validation=item.validation))
    found = (tree for tree in trees if len(tree.tokens) <= LONGEST and all(map(len, tree.replies)))
    return sorted(found, key=lambda tree: len(tree.tokens))


class Adapted(nn.Module):
    """A frozen matrix, and the change of low rank that is added to it."""

    def __init__(self, weight: Floats, rank: int) -> None:
        super().__init__()
        half = torch.from_numpy(weight).to(torch.bfloat16)
        self.register_buffer("weight", half, persistent=False)
        self.rank = rank
        if rank:
            self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / weight.shape[1] ** 0.5)
            self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        plain = functional.linear(values, self.weight)
        if not self.rank:
            return plain
        return plain + functional.linear(functional.linear(values, self.down), self.up)


class Batch:
    """Trees, padded to one length."""

    def __init__(self, trees: Sequence[Tree], rate: float) -> None:
        longest = max(len(tree.tokens) for tree in trees)
        self.tokens = torch.zeros((len(trees), longest), dtype=torch.long)
        positions = torch.zeros((len(trees), longest))
        self.visible = torch.eye(longest, dtype=torch.bool).repeat(len(trees), 1, 1, 1)
        self.means = torch.zeros((sum(len(tree.replies) for tree in trees), longest))
        rows: list[int] = []
        for row, tree in enumerate(trees):
            count = len(tree.tokens)
            self.tokens[row, :count] = torch.from_numpy(tree.tokens)
            positions[row, :count] = torch.from_numpy(tree.positions)
            self.visible[row, 0, :count, :count] = torch.from_numpy(tree.visible)
            for reply in tree.replies:
                self.means[len(rows), reply] = 1 / len(reply)
                rows.append(row)
        self.rows = torch.tensor(rows)
        angles = positions[..., None] * rate ** (-torch.arange(32) / 32)
        angles = angles.repeat(1, 1, 2)[:, None]
        self.turns = angles.cos(), angles.sin()


class Layer(nn.Module):
    """One layer of a Llama decoder."""

    def __init__(self, arrays: Mapping[str, Floats], number: int, rank: int, sizes: Any) -> None:
        super().__init__()
        self.heads, self.pairs = sizes.num_attention_heads, sizes.num_key_value_heads
        self.epsilon = sizes.rms_norm_eps
        name = f"decoder/layer_{number}"
        parts = [Adapted(arrays[f"{name}/{part}/weight"], rank) for part in MATRICES]
        self.parts = nn.ModuleList(parts)
        for norm in ("self_attention", "ffn"):
            gamma = torch.from_numpy(arrays[f"{name}/{norm}/layer_norm/gamma"])
            self.register_buffer(f"{norm}_norm", gamma, persistent=False)

    def forward(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        joint, out, gate, up, down = self.parts
        read = joint(normalized(states, self.epsilon) * self.self_attention_norm)
        split = read.unflatten(-1, (self.heads + 2 * self.pairs, -1)).transpose(1, 2)
        query, key, value = split.split([self.heads, self.pairs, self.pairs], dim=1)
        groups = self.heads // self.pairs
        seen = functional.scaled_dot_product_attention(
            turned(query, batch),
            turned(key, batch).repeat_interleave(groups, dim=1),
            value.repeat_interleave(groups, dim=1),
            attn_mask=batch.visible,
        )
        states = states + out(seen.transpose(1, 2).flatten(2))
        read = normalized(states, self.epsilon) * self.ffn_norm
        return states + down(functional.silu(gate(read)) * up(read))


def normalized(states: torch.Tensor, epsilon: float) -> torch.Tensor:
    return states * torch.rsqrt(states.square().mean(dim=-1, keepdim=True) + epsilon)


def turned(values: torch.Tensor, batch: Batch) -> torch.Tensor:
    first, second = values.chunk(2, dim=-1)
    cosine, sine = batch.turns
    return (values * cosine + torch.cat([-second, first], dim=-1) * sine).to(values.dtype)


def arrays_of(spec: ModelSpec) -> dict[str, Floats]:
    """Return the weights of a network by name, int8 ones dequantized."""
    found = {k: v.numpy() for k, v in spec.variables().items() if not isinstance(v, str)}
    return {
        name: (values / found[f"{name}_scale"][:, None]).astype(np.float32)
        if f"{name}_scale" in found
        else values
        for name, values in found.items()
        if "layer" in name or "embeddings" in name
    }


class Student(nn.Module):
    """The adapted layers, the norm after them and the heads."""

    def __init__(self, arrays: Mapping[str, Floats], checkpoint: Checkpoint) -> None:
        super().__init__()
        layers = (Layer(arrays, i, RANK, checkpoint.config) for i in range(FIRST, LAYERS))
        self.layers, self.epsilon = nn.ModuleList(layers), checkpoint.config.rms_norm_eps
        gamma = torch.from_numpy(arrays["decoder/layer_norm/gamma"])
        self.register_buffer("gamma", gamma, persistent=False)
        for name, value in (("mean", torch.zeros_like(gamma)), ("scale", torch.ones_like(gamma))):
            self.register_buffer(name, value)
        self.heads = perceptron(len(gamma), HIDDEN, len(FLAWS), drop_in=DROPOUT[0], drop=DROPOUT[1])

    def replies(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the mean state of each reply, shape ``(replies, dimensions)``."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for layer in self.layers:
                states = layer(states, batch)
        tokens = normalized(states.float(), self.epsilon) * self.gamma
        return torch.einsum("rt,rth->rh", batch.means, tokens[batch.rows])

    def forward(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        read = self.replies(states, batch)
        odds: torch.Tensor = self.heads((read - self.mean) / self.scale)
        return odds

    def start(self, read: torch.Tensor) -> None:
        """Take over the heads that ship, for states of mean 0 and deviation 1."""
        self.mean.copy_(read.mean(0))
        self.scale.copy_(read.std(0) + 1e-3)
        (inner, shift), (outer, bias) = Mlp.load(MODELS / "sense-small" / "head.npz").layers
        first, last = (layer for layer in self.heads if isinstance(layer, nn.Linear))
        weight = torch.from_numpy(inner.T)
        with torch.no_grad():
            first.weight.copy_(weight * self.scale)
            first.bias.copy_(torch.from_numpy(shift) + weight @ self.mean)
            last.weight.copy_(torch.from_numpy(outer.T))
            last.bias.copy_(torch.from_numpy(bias))

    def network(self) -> Mlp:
        """Return the heads for states as they come."""
        (inner, shift), last = layers_of(self.heads)
        inner = inner / self.scale.numpy()[:, None]
        return Mlp([(inner, shift - self.mean.numpy() @ inner), last])


def loss_of(odds: torch.Tensor, trees: Sequence[Tree]) -> torch.Tensor:
    """Return the mean loss of windows, by their soft labels, and of items, by comparisons."""
    losses, first = [], 0
    for tree in trees:
        own = odds[first : first + len(tree.replies)]
        first += len(tree.replies)
        if tree.odds is not None:
            soft = torch.from_numpy(tree.odds).sigmoid()
            each = functional.binary_cross_entropy_with_logits(own, soft, reduction="none")
            losses.append(each.mean(1).sum())
        elif tree.item is not None:
            good, bad = map(list, zip(*tree.item.comparisons, strict=True))
            for head in {0, FLAWS.index(tree.item.flaw)}:
                better, worse = own[good, head], own[bad, head]
                ranked = functional.softplus(better - worse)
                labelled = functional.softplus(better) + functional.softplus(-worse)
                losses.append((ranked + LABEL_WEIGHT * labelled).mean())
    return torch.stack(losses).sum() / len(trees)


def cut(numbers: Sequence[int], trees: Sequence[Tree]) -> list[list[int]]:
    """Return trees of ascending length in batches of at most a number of tokens."""
    batches: list[list[int]] = []
    for number in numbers:
        if batches and (len(batches[-1]) + 1) * len(trees[number].tokens) <= BATCH:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches


def planned(trees: Sequence[Tree], seed: int, epochs: int) -> list[list[int]]:
    """Return the batches of all epochs."""
    draw = np.random.default_rng(seed)
    learned = [i for i, tree in enumerate(trees) if not tree.validation]
    batches = []
    for _ in range(epochs):
        order = draw.permutation(learned)
        for start in range(0, len(order), CHUNK):
            part = cut(sorted(map(int, order[start : start + CHUNK])), trees)
            batches += [part[i] for i in draw.permutation(len(part))]
    return batches


class Run:
    """A run: its trees, the states below the adapted layers, the student and its optimiser."""

    def __init__(self, given: argparse.Namespace) -> None:
        torch.manual_seed(given.seed)
        self.folder = work_folder("sense") / given.run
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checkpoint = with_first_tokens(read_checkpoint(given.source), VOCABULARY)
        self.trees = read_trees(given.data, Tokenizer.from_str(self.checkpoint.tokenizer))
        starts = np.cumsum([0, *(len(tree.tokens) for tree in self.trees)])
        self.spans = [slice(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]
        shape = (int(starts[-1]), self.checkpoint.config.hidden_size)
        self.states = self._below(shape)
        self.student = Student(arrays_of(self.network()), self.checkpoint)
        layers, heads = self.student.layers.parameters(), self.student.heads.parameters()
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for p in layers if p.requires_grad]}, {"params": heads}],
            weight_decay=DECAY,
        )
        self.batches = planned(self.trees, given.seed, given.epochs)
        self.limit = given.minutes * 60
        self.step, self.seconds = 0, 0.0

    def network(self) -> ModelSpec:
        """Return the network of the reader with the weights that are published."""
        scale = str(known_models()["medium-states"].settings["scale"])
        exponents = [int(digit) - MIDDLE for digit in scale]
        spec = state_network(self.checkpoint, LAYERS, exponents)
        spec.validate()
        return spec

    def _below(self, shape: tuple[int, int]) -> NDArray[np.float16]:
        """Return the states after the layers that stay as they ship, of all tokens."""
        path, mark = self.folder.parent / "below.npy", self.folder.parent / "below.json"
        done = json.loads(mark.read_text()) if mark.exists() else {"trees": 0, "tokens": shape[0]}
        if done["tokens"] != shape[0]:
            raise SystemExit(f"{path}: of other data; delete it and {mark}")
        mode = "r+" if done["trees"] else "w+"
        states = np.lib.format.open_memmap(path, mode, np.float16, shape)
        if done["trees"] == len(self.trees):
            return states
        arrays = arrays_of(quantize(self.network(), finish=coarsen))
        embedding = torch.from_numpy(arrays["decoder/embeddings/weight"])
        layers = [Layer(arrays, i, 0, self.checkpoint.config) for i in range(FIRST)]
        numbers, saved = list(range(done["trees"], len(self.trees))), time.monotonic()
        for part in cut(numbers, self.trees):
            batch = self.batch(part)
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                read = embedding[batch.tokens]
                for layer in layers:
                    read = layer(read, batch)
            for row, number in enumerate(part):
                count = len(self.trees[number].tokens)
                states[self.spans[number]] = read[row, :count].float().numpy()
            if time.monotonic() - saved > SAVE or part[-1] == numbers[-1]:
                states.flush()
                mark.write_text(json.dumps({"trees": part[-1] + 1, "tokens": shape[0]}))
                print(json.dumps({"states": part[-1] + 1, "of": len(self.trees)}), flush=True)
                saved = time.monotonic()
        return states

    def batch(self, part: Sequence[int]) -> Batch:
        return Batch([self.trees[i] for i in part], self.checkpoint.config.rope_theta)

    def inputs(self, part: Sequence[int], batch: Batch) -> torch.Tensor:
        """Return the states below the adapted layers, shape ``(trees, tokens, dimensions)``."""
        found = torch.zeros((*batch.tokens.shape, self.states.shape[1]))
        for row, number in enumerate(part):
            own = torch.from_numpy(self.states[self.spans[number]].astype(np.float32))
            found[row, : len(own)] = own
        return found

    def odds(self, part: Sequence[int]) -> torch.Tensor:
        batch = self.batch(part)
        odds: torch.Tensor = self.student(self.inputs(part, batch), batch)
        return odds

    def load(self) -> None:
        """Continue from the checkpoint; without one, start from the heads that ship."""
        path = self.folder / "checkpoint.pt"
        if path.exists():
            kept = torch.load(path)
            self.step, self.seconds = kept["step"], kept["seconds"]
            self.student.load_state_dict(kept["student"])
            self.optimizer.load_state_dict(kept["optimizer"])
            return
        self.student.eval()
        with torch.no_grad():
            batches = [(part, self.batch(part)) for part in self.batches[:40]]
            read = [self.student.replies(self.inputs(part, b), b) for part, b in batches]
        self.student.start(torch.cat(read))

    def save(self) -> None:
        kept = {"step": self.step, "seconds": self.seconds, "student": self.student.state_dict(),
                "optimizer": self.optimizer.state_dict()}  # fmt: skip
        torch.save(kept, self.folder / "checkpoint.new")
        (self.folder / "checkpoint.new").replace(self.folder / "checkpoint.pt")

    def log(self, **facts: object) -> None:
        line = json.dumps({"step": self.step, "seconds": round(self.seconds), **facts})
        print(line, flush=True)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def train(self) -> None:
        begun, saved, losses = time.monotonic() - self.seconds, time.monotonic(), []
        total = len(self.batches)
        while (done := max(self.step / total, self.seconds / self.limit)) < 1:
            self.student.train()
            factor = min(done / WARM, (1 - done) / (1 - WARM))
            for group, rate in zip(self.optimizer.param_groups, RATES, strict=True):
                group["lr"] = rate * max(factor, 0.01)
            part = self.batches[self.step]
            loss = loss_of(self.odds(part), [self.trees[i] for i in part])
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
            self.optimizer.step()
            self.step += 1
            losses.append(loss.item())
            self.seconds = time.monotonic() - begun
            if self.step % 20 == 0:
                cpu = round(time.process_time())
                self.log(of=total, loss=round(float(np.mean(losses[-60:])), 4), cpu=cpu)
            if self.step % EVERY == 0:
                self.log(**self.measured())
            if time.monotonic() - saved > SAVE:
                self.save()
                saved = time.monotonic()
        self.save()
        self.log(**self.measured())

    @torch.no_grad()
    def measured(self) -> dict[str, object]:
        """Return agreement with the soft labels kept back, and accuracy on items kept back."""
        self.student.eval()
        kept = [i for i, tree in enumerate(self.trees) if tree.validation]
        found = {}
        for part in cut(kept, self.trees):
            odds = iter(self.odds(part))
            for i in part:
                found[i] = np.array([next(odds).numpy() for _ in self.trees[i].replies])
        soft = [(tree.odds, found[i]) for i, tree in enumerate(self.trees)
                if tree.validation and tree.odds is not None]  # fmt: skip
        teacher, student = map(np.concatenate, zip(*soft, strict=True))
        agreed = [round(float(np.corrcoef(teacher[:, k], student[:, k])[0, 1]), 3)
                  for k in range(len(FLAWS))]  # fmt: skip
        items = [(tree.item, found[i]) for i, tree in enumerate(self.trees)
                 if tree.validation and tree.item is not None]  # fmt: skip
        kinds = right(np.concatenate([o for _, o in items]), [item for item, _ in items])
        shares = {kind: round(float(np.mean(values)), 3) for kind, values in kinds.items()}
        return {"agreement": agreed, "n": len(teacher), "items": len(kinds["all"]), **shares}

    def write(self, folder: Path) -> None:
        """Write the merged reader and the heads."""
        spec, trained = self.network(), self.student
        arrays = {k: v for k, v in spec.variables().items() if not isinstance(v, str)}
        for number, layer in enumerate(trained.layers, FIRST):
            for name, matrix in zip(MATRICES, layer.parts, strict=True):
                values = arrays[f"decoder/layer_{number}/{name}/weight"].numpy()
                values += (matrix.up @ matrix.down).detach().numpy()
        for name in ("reader", "sense-small"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        quantize(spec, finish=coarsen)
        write_network(spec, self.checkpoint.tokenizer, folder / "reader")
        trained.network().save(folder / "sense-small" / "head.npz")


EVERY = 250


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("source", type=Path, help="the GGUF file")
    parser.add_argument("--run", required=True, help="folder of checkpoint and log")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e6, help="after which the run ends")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="folder of the models; train nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    run = Run(given)
    run.load()
    if given.write:
        run.write(given.write)
        return
    if not run.step:
        run.log(**run.measured())
    run.train()


if __name__ == "__main__":
    main()
