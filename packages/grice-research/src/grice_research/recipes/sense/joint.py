"""Train an encoder that reads history and reply together, on the soft labels of the large heads.

    python -m grice_research.recipes.sense.joint --run first

It starts from the weights of ``encoder``. Windows are learned by the probabilities that the large
heads give each flaw, written items and votes on chatbots by comparisons. A checkpoint is written
every hundred steps, and the same command continues from it.
"""

from __future__ import annotations

import json
import random
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from grice_research.places import MODELS, work_folder
from grice_research.recipes.common import parser_of
from grice_research.recipes.sense.fit import LABEL_WEIGHT, right
from grice_research.recipes.sense.sources import FLAWS, Item, chatbot_items, written_items
from grice_research.recipes.sense.teacher import labels, windows

WIDTH, HEADS, LAYERS, HIDDEN, DROP = 384, 12, 6, 128, 0.1
LONGEST, TURN = 144, 64  # tokens of a sequence, and of a turn
START, END = 101, 102
TOKENS, CHUNK, WARM, SAVE = 3072, 600, 50, 100
RATES, DECAY, CLIP = (2e-4, 1e-3), 0.01, 1.0  # of the layers and of the heads
TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16)


class Text(NamedTuple):
    tokens: list[int]
    sides: list[int]  # 1 for turns of the replier
    reply: int  # place of its first token


class Example(NamedTuple):
    """Replies that are read in one step: of a soft label one, of an item all."""

    texts: tuple[Text, ...]
    odds: list[float] | None
    item: Item | None
    validation: bool


def arrays_of(path: Path) -> dict[str, torch.Tensor]:
    """Return the weights of a CTranslate2 file in single precision."""
    content, place = path.read_bytes(), 0

    def take(form: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from(f"<{form}", content, place)
        place += struct.calcsize(f"<{form}")
        return int(value)

    def name() -> str:
        nonlocal place
        length = take("H")
        place += length
        return content[place - length : place].rstrip(b"\0").decode()

    take("I"), name(), take("I")
    found: dict[str, NDArray[np.float32]] = {}
    for _ in range(take("I")):
        key = name()
        shape = [take("I") for _ in range(take("B"))]
        kind, size = np.dtype(TYPES[take("B")]), take("I")
        values = np.frombuffer(content, kind, size // kind.itemsize, place)
        found[key] = values.reshape(shape).astype(np.float32)
        place += size
    scaled = {key for key in found if f"{key}_scale" in found}
    for key in scaled:
        found[key] = found[key] / found[f"{key}_scale"][:, None]
    return {key: torch.from_numpy(values) for key, values in found.items()}


class Reader:
    """Sequences of history and reply: the newest turns that fit, by side."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def __call__(self, history: Sequence[str], reply: str) -> Text:
        own, parts = self._tokens(reply), []
        room = LONGEST - len(own) - 2
        for back, text in enumerate(reversed(history)):
            part = [*self._tokens(text), END]
            if (room := room - len(part)) < 0:
                break
            parts.append((part, back % 2))
        before = [(token, side) for part, side in reversed(parts) for token in part]
        tokens = [START, *(token for token, _ in before), *own, END]
        sides = [0, *(side for _, side in before), *[1] * (len(own) + 1)]
        return Text(tokens, sides, len(before) + 1)

    def _tokens(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids[:TURN])


def examples(data: Path, read: Reader) -> Iterator[Example]:
    """Yield labelled replies, written items and votes on chatbots."""
    known = labels()
    for window in windows(data):
        for (place, _), odds in zip(window.judged, known.get(window.key, ()), strict=False):
            text = read(window.turns[:place], window.turns[place])
            yield Example((text,), odds, None, window.validation)
    for item in (*written_items(), *chatbot_items(data)):
        texts = tuple(read(reading.history, reading.reply) for reading in item.readings)
        yield Example(texts, None, item, item.validation)


class Student(nn.Module):
    """The encoder, and the heads on its first state beside the mean state of the reply."""

    def __init__(self, arrays: dict[str, torch.Tensor]) -> None:
        super().__init__()

        def linear(name: str) -> nn.Linear:
            made = nn.Linear(*reversed(arrays[f"{name}/weight"].shape))
            made.weight.data, made.bias.data = arrays[f"{name}/weight"], arrays[f"{name}/bias"]
            return made

        def norm(name: str) -> nn.LayerNorm:
            made = nn.LayerNorm(WIDTH, eps=1e-12)
            made.weight.data, made.bias.data = arrays[f"{name}/gamma"], arrays[f"{name}/beta"]
            return made

        self.register_buffer("words", arrays["encoder/embeddings_0/weight"], persistent=False)
        self.sides = nn.Parameter(arrays["encoder/embeddings_1/weight"])
        self.places = nn.Parameter(arrays["encoder/position_encodings/encodings"])
        self.first = norm("encoder/layernorm_embedding")
        self.layers = nn.ModuleList(
            nn.ModuleList([
                linear(f"encoder/layer_{i}/self_attention/linear_0"),
                linear(f"encoder/layer_{i}/self_attention/linear_1"),
                norm(f"encoder/layer_{i}/self_attention/layer_norm"),
                linear(f"encoder/layer_{i}/ffn/linear_0"),
                linear(f"encoder/layer_{i}/ffn/linear_1"),
                norm(f"encoder/layer_{i}/ffn/layer_norm"),
            ])
            for i in range(LAYERS)
        )  # fmt: skip
        self.heads = nn.Sequential(
            nn.Dropout(DROP), nn.Linear(2 * WIDTH, HIDDEN), nn.GELU(),
            nn.Dropout(DROP), nn.Linear(HIDDEN, len(FLAWS)),
        )  # fmt: skip

    def forward(self, texts: Sequence[Text]) -> torch.Tensor:
        """Return the log odds of each flaw, shape ``(texts, flaws)``."""
        longest = max(len(text.tokens) for text in texts)
        tokens = torch.zeros((2, len(texts), longest), dtype=torch.long)
        means, seen = torch.zeros((2, len(texts), longest))
        for row, text in enumerate(texts):
            count = len(text.tokens)
            tokens[:, row, :count] = torch.tensor([text.tokens, text.sides])
            means[row, text.reply : count - 1] = 1 / max(1, count - 1 - text.reply)
            seen[row, :count] = 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = self.words[tokens[0]] + self.sides[tokens[1]] + self.places[:longest]
            states = self.first(found)
            for joint, out, norm, up, down, last in self.layers:
                split = joint(states).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
                mixed = functional.scaled_dot_product_attention(
                    *split, attn_mask=seen[:, None, None].bool()
                )
                added = out(mixed.transpose(1, 2).flatten(2))
                states = norm(states + functional.dropout(added, DROP, self.training))
                added = down(functional.gelu(up(states)))
                states = last(states + functional.dropout(added, DROP, self.training))
        reply = torch.einsum("rt,rth->rh", means, states.float())
        odds: torch.Tensor = self.heads(torch.cat([states[:, 0].float(), reply], dim=-1))
        return odds


def loss_of(odds: torch.Tensor, batch: Sequence[Example]) -> torch.Tensor:
    losses, first = [], 0
    for one in batch:
        own = odds[first : first + len(one.texts)]
        first += len(one.texts)
        if one.odds is not None:
            soft = torch.tensor([one.odds]).sigmoid()
            losses.append(functional.binary_cross_entropy_with_logits(own, soft))
        elif one.item is not None:
            good, bad = map(list, zip(*one.item.comparisons, strict=True))
            for head in {0, FLAWS.index(one.item.flaw)}:
                better, worse = own[good, head], own[bad, head]
                labelled = functional.softplus(better) + functional.softplus(-worse)
                losses.append(
                    (functional.softplus(better - worse) + LABEL_WEIGHT * labelled).mean()
                )
    return torch.stack(losses).sum() / len(batch)


def planned(learned: Sequence[Example], draw: random.Random) -> list[list[Example]]:
    """Return batches of examples of like length, in random order."""
    longest = {id(one): max(len(text.tokens) for text in one.texts) for one in learned}
    order, batches = draw.sample(learned, len(learned)), []
    for start in range(0, len(order), CHUNK):
        part: list[list[Example]] = [[]]
        for one in sorted(order[start : start + CHUNK], key=lambda one: longest[id(one)]):
            count = sum(len(each.texts) for each in part[-1]) + len(one.texts)
            if part[-1] and count * longest[id(one)] > TOKENS:
                part.append([])
            part[-1].append(one)
        batches += draw.sample(part, len(part))
    return batches


def odds_of(student: Student, texts: Sequence[Text]) -> NDArray[np.float32]:
    student.eval()
    with torch.no_grad():
        parts = [student(texts[i : i + 32]).numpy() for i in range(0, len(texts), 32)]
    student.train()
    return np.concatenate(parts)


def figures(student: Student, kept: Sequence[Example]) -> dict[str, object]:
    """Return the correlation with soft labels by flaw, and the share of items that are right."""
    soft = [one for one in kept if one.odds is not None]
    given = np.array([one.odds for one in soft])
    found = odds_of(student, [one.texts[0] for one in soft])
    agree = [
        round(float(np.corrcoef(found[:, i], given[:, i])[0, 1]), 3) for i in range(len(FLAWS))
    ]
    items = [one for one in kept if one.item is not None]
    every = odds_of(student, [text for one in items for text in one.texts])
    kinds = right(every, [one.item for one in items if one.item is not None])
    return {"agreement": agree, "items": round(float(np.mean(kinds["all"])), 3)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--run", required=True, help="a name for the checkpoint")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=2)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    read = Reader(MODELS / "encoder" / "tokenizer.json")
    every = list(examples(given.data, read))
    learned, kept = ([one for one in every if one.validation == side] for side in (False, True))
    student = Student(arrays_of(MODELS / "encoder" / "model.bin"))
    layers = [p for name, p in student.named_parameters() if not name.startswith("heads")]
    groups = [{"params": layers}, {"params": student.heads.parameters()}]
    optimizer = torch.optim.AdamW(groups, weight_decay=DECAY)
    plan = [
        batch
        for epoch in range(given.epochs)
        for batch in planned(learned, random.Random(100 * given.seed + epoch))
    ]
    path, done = work_folder("sense") / f"{given.run}.pt", 0
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        done, *states = torch.load(path)
        student.load_state_dict(states[0])
        optimizer.load_state_dict(states[1])
    losses: list[float] = []
    for step, batch in enumerate(plan[done:], done + 1):
        share = min(1, step / WARM) * max(0.02, 1 - step / len(plan))
        for group, rate in zip(optimizer.param_groups, RATES, strict=True):
            group["lr"] = rate * share
        loss = loss_of(student([text for one in batch for text in one.texts]), batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
        if step % SAVE == 0 or step == len(plan):
            torch.save((step, student.state_dict(), optimizer.state_dict()), path)
            shown = {"step": step, "of": len(plan), "seconds": round(time.process_time())}
            print(
                json.dumps(shown | {"loss": round(float(np.mean(losses[-SAVE:])), 3)}), flush=True
            )
    print(json.dumps(figures(student, kept)))


if __name__ == "__main__":
    main()
