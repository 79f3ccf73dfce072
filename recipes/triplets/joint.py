"""Fine-tunes the encoder under all four tasks, one fold at a time; can be stopped and goes on.

PYTHONPATH=src:. python -m recipes.triplets.joint --fold 1 [--seed 0] --model all-MiniLM-L6-v2

The epoch is chosen on one dialogue in eight of the training folds. What the network says of these
and of the test fold goes to ``work/joint_FOLD_SEED.npz``; nothing of the test fold is scored here.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from recipes.triplets.data import WORK
from recipes.triplets.joint_network import TASKS, Joint, Settings, Spans
from recipes.triplets.links import macro_f1
from tokenizers import Tokenizer
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import BertModel
from transformers.utils import logging

from grice.knowledge.schema import load_schema
from grice.triplets.answers import BINS, LONGEST
from grice.triplets.cider import load_cider
from grice.triplets.scores import score_spans
from grice.triplets.structure import EDGES, layout_of, structure

BATCH = 6
"""Dialogues of one step."""
KEPT = 40
"""Answers kept of each question."""
JUDGED = 2
"""Last epochs of which the better one is taken."""
WARM = 40
"""Steps in which the rates rise."""
KEEP = 0.985
"""Of the running mean of weights, in each step."""
HARD = 10
"""Wrong answers that the reader likes, from which the options' numbers learn."""


class Question(NamedTuple):
    """A question on a dialogue: span and relation asked, good token spans, the asked one first."""

    span: int
    relation: int
    good: tuple[tuple[int, int], ...]
    tail: str


class Dialogue(NamedTuple):
    """A dialogue as rows: token offsets, rows of the tasks, and which spans stand where."""

    name: str
    text: str
    ids: list[int]
    starts: np.ndarray
    ends: np.ndarray
    nli: np.ndarray
    choice: np.ndarray
    questions: list[Question]


class Rows(NamedTuple):
    """``rows.npz``, with the tokens that each span takes."""

    pairs: np.ndarray
    structure: np.ndarray
    nli: np.ndarray
    choice: np.ndarray
    more: np.ndarray
    tokens: np.ndarray
    places: np.ndarray


def load_material(data: Path, model: Path) -> tuple[Rows, list[Dialogue], dict[str, int]]:
    """Return the rows of all tasks by dialogue."""
    kept = np.load(WORK / "rows.npz")
    cider = load_cider(data / "cider")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    relations = {name: i for i, name in enumerate(load_schema("cider").relations)}
    names, of_span = [str(name) for name in kept["names"]], kept["dialogue"]
    by_nli = of_span[kept["pairs"][kept["nli"][:, 0], 0]]
    by_choice = of_span[kept["pairs"][kept["choice"][:, 0], 0]]
    spans_of = [np.flatnonzero(of_span == i) for i in range(len(names))]
    tokens = np.zeros((len(of_span), 2), int)
    asked: dict[str, list] = {}
    for one in cider.questions():
        asked.setdefault(one.item.dialogue, []).append(one)
    dialogues = []
    for number, name in enumerate(names):
        text = cider.text(name)
        read = tokenizer.encode(text)
        ids, offsets = read.ids[:512], np.array(read.offsets)[:512]
        starts, ends = offsets[1:-1, 0], offsets[1:-1, 1]

        for span in spans_of[number]:
            place = kept["places"][span]
            tokens[span] = (0, 1) if place[0] < 0 else taken(starts, ends, *place)
        placed = {text[a:b]: i for i, (a, b) in
                  ((i, kept["places"][i]) for i in spans_of[number])}  # fmt: skip
        questions = []
        for one in asked.get(name, ()):
            tail = one.item.tail.strip()
            good = [taken(starts, ends, one.start, one.start + len(tail))]
            good += [tuple(tokens[placed[other]]) for other in one.valid if other in placed]
            questions.append(
                Question(placed[one.item.head.strip()], relations[one.item.relation],
                         tuple(dict.fromkeys(good)), tail)
            )  # fmt: skip
        dialogues.append(
            Dialogue(name, text, ids, offsets[:, 0], offsets[:, 1],
                     np.flatnonzero(by_nli == number), np.flatnonzero(by_choice == number),
                     questions)
        )  # fmt: skip
    numbers = kept["structure"].astype(np.float32)
    rows = Rows(kept["pairs"], numbers, kept["nli"], kept["choice"], kept["more"], tokens,
                kept["places"])  # fmt: skip
    return rows, dialogues, cider.folds


def taken(starts: np.ndarray, ends: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """Return first token of a stretch and the one behind, in a text that begins with a mark."""
    first = int(np.searchsorted(ends, start, side="right"))
    return first + 1, max(first + 1, int(np.searchsorted(starts, end, "left"))) + 1


class Batch:
    """Some dialogues as tensors; gathers the head spans that are asked about as it is used."""

    def __init__(self, net: Joint, rows: Rows, dialogues: list[Dialogue], low: dict) -> None:
        self.net, self.rows, self.dialogues = net, rows, dialogues
        longest = max(len(one.ids) for one in dialogues)
        self.mask = torch.zeros(len(dialogues), longest)
        self.low = torch.zeros(len(dialogues), longest, 384)
        for i, one in enumerate(dialogues):
            self.mask[i, : len(one.ids)] = 1
            self.low[i, : len(one.ids)] = low[one.name]
        self.text: dict[int, int] = {}
        self.heads: dict[int, int] = {}

    def head(self, span: int, text: int) -> int:
        """Return the number of a head span among those of the batch."""
        self.text.setdefault(span, text)
        return self.heads.setdefault(span, len(self.heads))

    def run(self) -> None:
        """Read the dialogues, once, and again for each head."""
        spans = list(self.heads)
        texts = torch.tensor([self.text[span] for span in spans])
        first, end = torch.tensor(self.rows.tokens[spans]).unbind(1)
        at = torch.arange(self.mask.shape[1])
        marks = ((at >= first[:, None]) & (at < end[:, None])).float()
        below = self.net.read(self.low, self.mask)
        if self.net.settings.again:
            self.states = self.net.reread(below[texts], self.mask[texts], marks)
            self.row_of = torch.arange(len(spans))
        else:
            self.states, self.row_of = below, texts
        self.sums = self.net.sums(self.states)
        self.vectors = self.net.spans(self.states, self.sums, Spans(self.row_of, first, end))

    def links(self, pairs: np.ndarray) -> torch.Tensor:
        """Return the numbers of pairs by their numbers in ``rows``."""
        sides = self.rows.pairs[pairs]
        heads = torch.tensor([self.heads[span] for span in sides[:, 0]])
        first, end = torch.tensor(self.rows.tokens[sides[:, 1]]).unbind(1)
        tails = self.net.spans(self.states, self.sums, Spans(self.row_of[heads], first, end))
        return self.net.links(self.vectors[heads], tails, torch.tensor(self.rows.structure[pairs]))

    def answers(self, asked: list[tuple[int, Question]]) -> torch.Tensor:
        """Return the log scores of all spans for questions, each with the place of its dialogue."""
        heads = torch.tensor([self.heads[one.span] for _, one in asked])
        held = self.mask.clone()
        held[:, 0] = 0
        for i, one in enumerate(self.dialogues):
            held[i, len(one.ids) - 1] = 0
        texts = torch.tensor([self.text[span] for span in self.heads])
        held = held[texts] if self.net.settings.again else held
        bins = np.full((len(asked), self.mask.shape[1]), BINS - 1)
        for row, (i, one) in enumerate(asked):
            dialogue = self.dialogues[i]
            bins[row, : len(dialogue.ids)] = _bins(dialogue, self.rows.places[one.span])
        relation = torch.tensor([one.relation for _, one in asked])
        return self.net.answers(self.states, held, self.row_of[heads], self.vectors[heads],
                                relation, torch.tensor(bins))  # fmt: skip

    def candidates(self, listed: list[tuple[int, Question, list[tuple[int, int]]]]) -> torch.Tensor:
        """Return the numbers of token spans as tails of questions, ``(spans, 3)``, all in a row."""
        heads, spans, relations, numbers = [], [], [], []
        for i, one, wanted in listed:
            dialogue = self.dialogues[i]
            place = tuple(int(x) for x in self.rows.places[one.span])
            head, layout = dialogue.text[slice(*place)], layout_of(dialogue.text)
            heads += [self.heads[one.span]] * len(wanted)
            relations += [one.relation] * len(wanted)
            spans += wanted
            for first, end in wanted:
                at = int(dialogue.starts[first]), int(dialogue.ends[end - 1])
                numbers.append(structure(layout, head, dialogue.text[slice(*at)], place, at))
        first, end = torch.tensor(spans).unbind(1)
        row = torch.tensor(heads)
        tails = self.net.spans(self.states, self.sums, Spans(self.row_of[row], first, end))
        found = self.net.links(self.vectors[row], tails, torch.tensor(np.stack(numbers)))
        return found[torch.arange(len(row)), :, torch.tensor(relations)]


def _bins(dialogue: Dialogue, place: np.ndarray) -> np.ndarray:
    """Return the bin of each token's distance to the head, as :func:`distance_bins` has it."""
    after, before = dialogue.starts - place[1], place[0] - dialogue.ends
    gap = np.maximum(np.maximum(after, before), 0)
    found = np.searchsorted(EDGES, gap, side="right") - 1 + np.where(before >= 0, len(EDGES), 0)
    return np.where((after < 0) & (before < 0), BINS - 2, found)


def best(scores: torch.Tensor, count: int) -> list[tuple[float, int, int]]:
    """Return the best answers as log probability, first token, and the one behind the last."""
    log = scores.flatten() - scores.logsumexp((0, 1))
    found, at = log.topk(min(count, len(log)))
    return [(float(x), int(i) // LONGEST, int(i) // LONGEST + int(i) % LONGEST + 1)
            for x, i in zip(found, at, strict=True)]  # fmt: skip


def prepare(batch: Batch, *, negatives: bool) -> tuple[np.ndarray, np.ndarray, list]:
    """Gather the rows of a batch: NLI, choice, questions."""
    rows = batch.rows
    nli, choice, asked = [], [], []
    for i, one in enumerate(batch.dialogues):
        mine = {q.span for q in one.questions}
        for row in one.nli:
            head = rows.pairs[rows.nli[row, 0], 0]
            # A head that nothing else is asked about costs a pass of its own.
            if negatives or rows.nli[row, 2] or head in mine:
                batch.head(head, i)
                nli.append(row)
        for row in one.choice:
            batch.head(rows.pairs[rows.choice[row, 0], 0], i)
            choice.append(row)
        for question in one.questions:
            batch.head(question.span, i)
            asked.append((i, question))
    return np.array(nli, int), np.array(choice, int), asked


def losses(
    batch: Batch, *, hard: bool, draw: np.random.Generator, share: float
) -> dict[str, torch.Tensor]:
    """Return the loss of each task on a batch."""
    rows = batch.rows
    nli, choice, asked = prepare(batch, negatives=False)
    known = set(batch.heads)
    # Of the negatives whose heads are no heads of positives, a share in each epoch.
    for i, one in enumerate(batch.dialogues):
        others = {int(rows.pairs[rows.nli[r, 0], 0]) for r in one.nli} - known
        others = {h for h in sorted(others) if draw.random() < share}
        more = [r for r in one.nli if rows.pairs[rows.nli[r, 0], 0] in others]
        for row in more:
            batch.head(rows.pairs[rows.nli[row, 0], 0], i)
        nli = np.concatenate([nli, np.array(more, int)])
    batch.run()
    out = batch.links(rows.nli[nli, 0])
    relation = torch.tensor(rows.nli[nli, 1])
    gold = torch.tensor(rows.nli[nli, 2]).float()
    said = out[torch.arange(len(nli)), 0, relation]
    weight = torch.where(gold == 1, 1.0, 0.6)
    found = {"nli": (functional.binary_cross_entropy_with_logits(said, gold, weight=weight))}
    right = gold == 1
    found["relation"] = functional.cross_entropy(out[right, 2], relation[right])
    if len(choice):
        four = rows.choice[choice]
        listed = np.concatenate([four[:, :4], rows.more[choice, :3]], axis=1)
        absent = torch.tensor(np.arange(3) >= rows.more[choice, 3:]) * -1e4
        said = batch.links(listed.reshape(-1)).view(len(four), 7, TASKS, -1)
        said = said[torch.arange(len(four)), :, 1, four[:, 4]]
        said = torch.cat([said[:, :4], said[:, 4:] + absent], dim=1)
        found["choice"] = functional.cross_entropy(said, torch.tensor(four[:, 5]))
    if asked:
        scores = batch.answers(asked)
        total = scores.flatten(1).logsumexp(1)
        wanted = torch.zeros_like(scores, dtype=torch.bool)
        for row, (_, one) in enumerate(asked):
            for first, end in one.good:
                wanted[row, first, min(end - first, LONGEST) - 1] = True
        target = scores.masked_fill(~wanted, -1e4).flatten(1).logsumexp(1)
        found["span"] = (total - target).mean()
        if hard:
            found["hard"] = _hard(batch, asked, scores.detach())
    return found


def _batches(lengths: list[int], draw: np.random.Generator) -> list[list[int]]:
    """Return dialogues in batches of about one length, in an order by chance."""
    noise = draw.normal(0, 12, len(lengths))
    order = np.argsort(np.array(lengths) + noise)
    found = [order[at : at + BATCH].tolist() for at in range(0, len(order), BATCH)]
    return [found[i] for i in draw.permutation(len(found))]


def _hard(batch: Batch, asked: list, scores: torch.Tensor) -> torch.Tensor:
    """Return the loss of telling the right answer from those the reader likes."""
    listed = []
    for row, (i, one) in enumerate(asked):
        good = set(one.good)
        wrong = [(a, b) for _, a, b in best(scores[row], HARD + len(good)) if (a, b) not in good]
        listed.append((i, one, [one.good[0], *wrong[:HARD]]))
    numbers = batch.candidates(listed)[:, 1].view(len(asked), 1 + HARD)
    return functional.cross_entropy(numbers, torch.zeros(len(asked), dtype=torch.long))


def said(net: Joint, rows: Rows, dialogues: list[Dialogue], low: dict, *, rank: bool) -> dict:
    """Return what the network says of some dialogues, as arrays by row."""
    net.eval()
    found: dict[str, list] = {"nli": [], "odds": [], "relation": [], "choice": [], "four": [],
                              "answers": []}  # fmt: skip
    with torch.no_grad():
        for start in range(0, len(dialogues), BATCH):
            batch = Batch(net, rows, dialogues[start : start + BATCH], low)
            nli, choice, asked = prepare(batch, negatives=True)
            batch.run()
            out = batch.links(rows.nli[nli, 0])
            place = torch.arange(len(nli)), torch.tensor(rows.nli[nli, 1])
            found["nli"].extend(nli)
            found["odds"].extend(out[:, 0][place].tolist())
            found["relation"].extend(out[:, 2].numpy().astype(np.float16))
            if len(choice):
                four = rows.choice[choice]
                scores = batch.links(four[:, :4].reshape(-1)).view(len(four), 4, TASKS, -1)
                found["choice"].extend(choice)
                found["four"].extend(scores[torch.arange(len(four)), :, 1, four[:, 4]].numpy())
            scores = batch.answers(asked) if asked else ()
            for (i, one), row in zip(asked, scores, strict=True):
                listed = best(row, KEPT if rank else 1)
                numbers = np.zeros((1, 2))
                if rank:
                    wanted = [(i, one, [x[1:] for x in listed])]
                    numbers = batch.candidates(wanted)[:, :2].numpy()
                dialogue = batch.dialogues[i]
                found["answers"].append(
                    [(x, dialogue.text[dialogue.starts[a] : dialogue.ends[b - 1]], *map(float, n))
                     for (x, a, b), n in zip(listed, numbers, strict=True)]
                )  # fmt: skip
    return found


def judge(rows: Rows, dialogues: list[Dialogue], found: dict, weight: float) -> dict[str, float]:
    """Return the measures by which an epoch is chosen."""
    nli, odds = rows.nli[found["nli"]], np.array(found["odds"])
    gold = nli[:, 2] == 1
    hits = gold[np.argsort(-odds)]
    levels = np.quantile(odds, np.linspace(0.6, 0.95, 36))
    four = rows.choice[found["choice"]]
    golds = [[q.tail] for one in dialogues for q in one.questions]
    answers = [max(c, key=lambda x: x[0] + weight * x[3])[1] for c in found["answers"]]
    spans = score_spans(golds, answers)
    return {
        "ap": float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()),
        "macro_f1": max(macro_f1(gold, odds > x) for x in levels),
        "choice": float((np.argmax(found["four"], 1) == four[:, 5]).mean()),
        "relation": float(
            (np.array(found["relation"])[gold].argmax(1) == nli[gold, 1]).mean()
        ),
        "em": spans.em,
        "f1": spans.f1,
    }


def lowest_states(net: Joint, dialogues: list[Dialogue]) -> dict[str, torch.Tensor]:
    """Return what the layers that stay make of each dialogue; the same for every fold."""
    path = WORK / f"lowest_{net.settings.frozen}.pt"
    if not path.exists():
        net.eval()
        found = {}
        for one in dialogues:
            ids = torch.tensor([one.ids])
            found[one.name] = net.lowest(ids, torch.ones(ids.shape))[0].to(torch.bfloat16)
        torch.save(found, path)
    return torch.load(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("GRICE_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--model", type=Path, required=True, help="all-MiniLM-L6-v2 in torch")
    parser.add_argument("--fold", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=2e-4, help="of the encoder")
    parser.add_argument("--new", type=float, default=2e-3, help="of what is new")
    parser.add_argument("--again", type=int, default=1)
    parser.add_argument("--frozen", type=int, default=3)
    parser.add_argument("--drop", type=float, default=0.25)
    parser.add_argument("--share", type=float, default=0.15)
    parser.add_argument("--name", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    logging.set_verbosity_error()
    draw = np.random.default_rng(options.seed)
    rows, dialogues, folds = load_material(options.data, options.model)
    chosen = np.random.default_rng(7).random(len(dialogues)) < 1 / 8
    test = [one for one in dialogues if folds[one.name] == options.fold]
    rest = [(one, v) for one, v in zip(dialogues, chosen, strict=True) if one not in test]
    held, train = [one for one, v in rest if v], [one for one, v in rest if not v]
    # Drawing what to drop would take a quarter of the time; what is new drops enough.
    encoder = BertModel.from_pretrained(
        options.model, add_pooling_layer=False, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    net = Joint(encoder, Settings(again=options.again, frozen=options.frozen, drop=options.drop))
    low = lowest_states(net, dialogues)
    tuned = [p for layer in encoder.encoder.layer[options.frozen :] for p in layer.parameters()]
    fresh = [p for n, p in net.named_parameters() if not n.startswith("encoder.")]
    optimiser = torch.optim.AdamW(
        [{"params": tuned, "lr": options.rate}, {"params": fresh, "lr": options.new}],
        weight_decay=0.02,
    )
    plan = torch.optim.lr_scheduler.LinearLR(optimiser, 0.05, total_iters=WARM)
    # Steps overfit soon; their running mean does so later.
    mean = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(KEEP), use_buffers=False)
    name = f"joint{options.name}_{options.fold}_{options.seed}"
    checkpoint = WORK / f"{name}.pt"
    done, top = 0, -1.0
    if checkpoint.exists():
        kept = torch.load(checkpoint, weights_only=False)
        net.load_state_dict(kept["net"])
        mean.load_state_dict(kept["mean"])
        optimiser.load_state_dict(kept["optimiser"])
        plan.load_state_dict(kept["plan"])
        done, top = kept["epoch"] + 1, kept["top"]
        draw.bit_generator.state = kept["draw"]
    for epoch in range(done, options.epochs):
        net.train()
        began = time.process_time()
        order = _batches([len(one.ids) for one in train], draw)
        totals: dict[str, float] = {}
        for numbers in order:
            batch = Batch(net, rows, [train[i] for i in numbers], low)
            found = losses(batch, hard=epoch >= 1, draw=draw, share=options.share)
            loss = sum(found.values())
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(tuned, 1.0)
            optimiser.step()
            plan.step()
            mean.update_parameters(net)
            for task, value in found.items():
                totals[task] = totals.get(task, 0.0) + float(value.detach()) * BATCH / len(train)
        used = time.process_time() - began
        print(epoch, f"{used:.0f}s", {k: round(v, 3) for k, v in totals.items()}, flush=True)
        if epoch >= options.epochs - JUDGED:
            marks = judge(rows, held, said(mean.module, rows, held, low, rank=True), 0.5)
            print(epoch, {k: round(v, 4) for k, v in marks.items()}, flush=True)
            mark = sum(marks[k] for k in ("ap", "choice", "relation", "em", "f1"))
            if mark > top:
                top = mark
                torch.save(mean.module.state_dict(), WORK / f"{name}_best.pt")
        torch.save({"net": net.state_dict(), "mean": mean.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "plan": plan.state_dict(), "epoch": epoch, "top": top,
                    "draw": draw.bit_generator.state}, checkpoint)  # fmt: skip
    net.load_state_dict(torch.load(WORK / f"{name}_best.pt"))
    wanted = [*held, *test]
    found = said(net, rows, wanted, low, rank=True)
    np.savez_compressed(
        WORK / f"{name}.npz",
        **{key: np.array(found[key]) for key in ("nli", "odds", "relation", "choice", "four")},
    )
    (WORK / f"{name}.json").write_text(
        json.dumps({"dialogues": [one.name for one in wanted], "answers": found["answers"]})
    )


if __name__ == "__main__":
    main()
