"""Trains the joint network under all four tasks, one fold at a time; can be stopped and goes on.

python -m grice_research.recipes.triplets.joint --fold 1 [--seed 0] --model all-MiniLM-L6-v2
... --lower mpnet --share 1 --epochs 4 --falls       # on states that `lower` makes

The epoch is chosen on one dialogue in eight of the training folds. What the network says of these
and of the test fold goes to ``work/joint[_LOWER]_FOLD_SEED.npz``; of the test fold nothing is
scored here.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import AutoModel
from transformers.utils import logging

from grice_research.recipes.options import parser_of
from grice_research.recipes.triplets.data import WORK
from grice_research.recipes.triplets.joint_batch import Batch, best, prepare
from grice_research.recipes.triplets.joint_network import TASKS, Joint, Settings
from grice_research.recipes.triplets.joint_rows import Dialogue, Rows, load_material
from grice_research.recipes.triplets.links import macro_f1
from grice_research.triplets.answers import LONGEST
from grice_research.triplets.models import open_lower
from grice_research.triplets.scores import score_spans

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
RATE = 2e-3
"""Of what is new."""
WEIGHT = 0.5
"""What a good tail counts beside the log probability of an answer while epochs are compared."""


def losses(
    batch: Batch, *, hard: bool, draw: np.random.Generator, share: float
) -> dict[str, torch.Tensor]:
    """Return the loss of each task on a batch."""
    rows = batch.rows
    nli, choice, asked = prepare(batch, negatives=False)
    known = set(batch.heads)
    # Of the negatives whose heads are no heads of positives, a share in each epoch.
    for i, dialogue in enumerate(batch.dialogues):
        others = {int(rows.pairs[rows.nli[r, 0], 0]) for r in dialogue.nli} - known
        others = {h for h in sorted(others) if draw.random() < share}
        more = [r for r in dialogue.nli if rows.pairs[rows.nli[r, 0], 0] in others]
        for row in more:
            batch.head(rows.pairs[rows.nli[row, 0], 0], i)
        nli = np.concatenate([nli, np.array(more, int)])
    batch.run()
    out = batch.links(rows.nli[nli, 0])
    relation = torch.tensor(rows.nli[nli, 1])
    gold = torch.tensor(rows.nli[nli, 2]).float()
    logits = out[torch.arange(len(nli)), 0, relation]
    weight = torch.where(gold == 1, 1.0, 0.6)
    by_task = {"nli": (functional.binary_cross_entropy_with_logits(logits, gold, weight=weight))}
    right = gold == 1
    by_task["relation"] = functional.cross_entropy(out[right, 2], relation[right])
    if len(choice):
        four = rows.choice[choice]
        listed = np.concatenate([four[:, :4], rows.more[choice, :3]], axis=1)
        absent = torch.tensor(np.arange(3) >= rows.more[choice, 3:]) * -1e4
        logits = batch.links(listed.reshape(-1)).view(len(four), 7, TASKS, -1)
        logits = logits[torch.arange(len(four)), :, 1, four[:, 4]]
        logits = torch.cat([logits[:, :4], logits[:, 4:] + absent], dim=1)
        by_task["choice"] = functional.cross_entropy(logits, torch.tensor(four[:, 5]))
    if asked:
        scores = batch.answers(asked)
        total = scores.flatten(1).logsumexp(1)
        wanted = torch.zeros_like(scores, dtype=torch.bool)
        for row, (_, dialogue) in enumerate(asked):
            for first, end in dialogue.good:
                wanted[row, first, min(end - first, LONGEST) - 1] = True
        target = scores.masked_fill(~wanted, -1e4).flatten(1).logsumexp(1)
        by_task["span"] = (total - target).mean()
        if hard:
            by_task["hard"] = _hard(batch, asked, scores.detach())
    return by_task


def _batches(lengths: list[int], draw: np.random.Generator) -> list[list[int]]:
    """Return dialogues in batches of about one length, in an order by chance."""
    noise = draw.normal(0, 12, len(lengths))
    order = np.argsort(np.array(lengths) + noise)
    batches = [order[at : at + BATCH].tolist() for at in range(0, len(order), BATCH)]
    return [batches[i] for i in draw.permutation(len(batches))]


def _hard(batch: Batch, asked: list, scores: torch.Tensor) -> torch.Tensor:
    """Return the loss of telling the right answer from those the reader likes."""
    listed = []
    for row, (i, question) in enumerate(asked):
        good = set(question.good)
        wrong = [(a, b) for _, a, b in best(scores[row], HARD + len(good)) if (a, b) not in good]
        listed.append((i, question, [question.good[0], *wrong[:HARD]]))
    numbers = batch.candidates(listed)[:, 1].view(len(asked), 1 + HARD)
    return functional.cross_entropy(numbers, torch.zeros(len(asked), dtype=torch.long))


def outputs_of(net: Joint, rows: Rows, dialogues: list[Dialogue], low: dict) -> dict:
    """Return what the network says of some dialogues, as arrays by row."""
    net.eval()
    outputs: dict[str, list] = {"nli": [], "odds": [], "relation": [], "choice": [], "four": [],
                              "answers": []}  # fmt: skip
    with torch.no_grad():
        for start in range(0, len(dialogues), BATCH):
            batch = Batch(net, rows, dialogues[start : start + BATCH], low)
            nli, choice, asked = prepare(batch, negatives=True)
            batch.run()
            out = batch.links(rows.nli[nli, 0])
            place = torch.arange(len(nli)), torch.tensor(rows.nli[nli, 1])
            outputs["nli"].extend(nli)
            outputs["odds"].extend(out[:, 0][place].tolist())
            outputs["relation"].extend(out[:, 2].numpy().astype(np.float16))
            if len(choice):
                four = rows.choice[choice]
                scores = batch.links(four[:, :4].reshape(-1)).view(len(four), 4, TASKS, -1)
                outputs["choice"].extend(choice)
                outputs["four"].extend(scores[torch.arange(len(four)), :, 1, four[:, 4]].numpy())
            scores = batch.answers(asked) if asked else ()
            for (i, question), row in zip(asked, scores, strict=True):
                listed = best(row, KEPT)
                wanted = [(i, question, [x[1:] for x in listed])]
                numbers = batch.candidates(wanted)[:, :2].numpy()
                dialogue = batch.dialogues[i]
                outputs["answers"].append(
                    [(x, dialogue.text[dialogue.starts[a] : dialogue.ends[b - 1]], *map(float, n))
                     for (x, a, b), n in zip(listed, numbers, strict=True)]
                )  # fmt: skip
    return outputs


def judge(rows: Rows, dialogues: list[Dialogue], outputs: dict) -> dict[str, float]:
    """Return the measures by which an epoch is chosen."""
    nli, odds = rows.nli[outputs["nli"]], np.array(outputs["odds"])
    gold = nli[:, 2] == 1
    hits = gold[np.argsort(-odds)]
    levels = np.quantile(odds, np.linspace(0.6, 0.95, 36))
    four = rows.choice[outputs["choice"]]
    golds = [[q.tail] for dialogue in dialogues for q in dialogue.questions]
    answers = [max(c, key=lambda x: x[0] + WEIGHT * x[3])[1] for c in outputs["answers"]]
    spans = score_spans(golds, answers)
    return {
        "ap": float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()),
        "macro_f1": max(macro_f1(gold, odds > x) for x in levels),
        "choice": float((np.argmax(outputs["four"], 1) == four[:, 5]).mean()),
        "relation": float((np.array(outputs["relation"])[gold].argmax(1) == nli[gold, 1]).mean()),
        "em": spans.em,
        "f1": spans.f1,
    }


def lowest_states(net: Joint, dialogues: list[Dialogue]) -> dict[str, torch.Tensor]:
    """Return what the layers that stay make of each dialogue; the same for every fold."""
    path = WORK / f"lowest_{net.settings.frozen}.pt"
    if not path.exists():
        net.eval()
        states = {}
        for dialogue in dialogues:
            ids = torch.tensor([dialogue.ids])
            states[dialogue.name] = net.lowest(ids, torch.ones(ids.shape))[0].to(torch.bfloat16)
        torch.save(states, path)
    return torch.load(path)


def lower_states(name: str, dialogues: list[Dialogue]) -> dict[str, torch.Tensor]:
    """Return the states of another model that stays as it was; see ``lower``."""
    path = WORK / f"lower_{name}.pt"
    if not path.exists():
        read = open_lower(WORK / f"lower_{name}")
        states = {}
        for dialogue in dialogues:
            (hidden,) = read([dialogue.text])
            states[dialogue.name] = torch.tensor(hidden.states).to(torch.bfloat16)
        torch.save(states, path)
    return torch.load(path)


def new_network(model: Path, settings: Settings) -> Joint:
    """Return the network that is fine-tuned, before it has seen anything."""
    # Drawing what to drop would take a quarter of the time; what is new drops enough.
    encoder = AutoModel.from_pretrained(
        model, add_pooling_layer=False, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    for part in (encoder.embeddings, encoder.encoder.layer[: settings.frozen]):
        part.requires_grad_(False)
    return Joint(encoder.config.hidden_size, encoder, settings)


class Run:
    """A run of training that goes on where its file says it stopped.

    Steps overfit soon; their running mean does so later, and is what is kept.

    Args:
        net: The network.
        path: Where the run is kept.
        seed: Of the order of dialogues.
        rate: Of the encoder.
        falls: Steps over which the rates fall to zero; 0: they stay.
    """

    def __init__(self, net: Joint, path: Path, seed: int, rate: float, falls: int = 0) -> None:
        self.net, self.path = net, path
        learned = [(name, p) for name, p in net.named_parameters() if p.requires_grad]
        self.tuned = [p for name, p in learned if name.startswith("encoder.")]
        fresh = [p for name, p in learned if not name.startswith("encoder.")]
        groups = [{"params": fresh, "lr": RATE}]
        if self.tuned:
            groups.append({"params": self.tuned, "lr": rate})
        self.optimiser = torch.optim.AdamW(groups, weight_decay=0.02, fused=True)
        self.plan = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser,
            lambda step: min(1, 0.05 + 0.95 * step / WARM) * (1 - step / falls if falls else 1),
        )
        self.mean = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(KEEP), use_buffers=False)
        self.draw = np.random.default_rng(seed)
        self.epoch, self.top = 0, -1.0
        if path.exists():
            kept = torch.load(path, weights_only=False)
            self.epoch, self.top = kept["epoch"], kept["top"]
            for name in ("net", "mean", "optimiser", "plan"):
                getattr(self, name).load_state_dict(kept[name])
            self.draw.bit_generator.state = kept["draw"]

    def step(self, loss: torch.Tensor) -> None:
        """Take a step down a loss."""
        self.optimiser.zero_grad()
        loss.backward()
        if self.tuned:
            torch.nn.utils.clip_grad_norm_(self.tuned, 1.0)
        self.optimiser.step()
        self.plan.step()
        self.mean.update_parameters(self.net)

    def keep(self, epoch: int) -> None:
        """Write the state before an epoch."""
        kept = {name: getattr(self, name).state_dict()
                for name in ("net", "mean", "optimiser", "plan")}  # fmt: skip
        kept |= {"epoch": epoch, "top": self.top, "draw": self.draw.bit_generator.state}
        torch.save(kept, self.path)


def train(
    run: Run,
    rows: Rows,
    train: list[Dialogue],
    held: list[Dialogue],
    low: dict,
    epochs: int,
    share: float,
) -> None:
    """Train up to the last epoch; the best running mean of weights goes beside the run's file."""
    for epoch in range(run.epoch, epochs):
        run.net.train()
        began = time.process_time()
        totals: dict[str, float] = {}
        for numbers in _batches([len(dialogue.ids) for dialogue in train], run.draw):
            batch = Batch(run.net, rows, [train[i] for i in numbers], low)
            losses_of_tasks = losses(batch, hard=epoch >= 1, draw=run.draw, share=share)
            run.step(torch.stack(list(losses_of_tasks.values())).sum())
            for task, value in losses_of_tasks.items():
                totals[task] = totals.get(task, 0.0) + float(value.detach()) * BATCH / len(train)
        used = time.process_time() - began
        print(epoch, f"{used:.0f}s", {k: round(v, 3) for k, v in totals.items()}, flush=True)
        if epoch >= epochs - JUDGED:
            marks = judge(rows, held, outputs_of(run.mean.module, rows, held, low))
            print(epoch, {k: round(v, 4) for k, v in marks.items()}, flush=True)
            mark = sum(marks[k] for k in ("ap", "choice", "relation", "em", "f1"))
            if mark > run.top:
                run.top = mark
                torch.save(run.mean.module.state_dict(), best_of(run.path))
        run.keep(epoch + 1)


def best_of(path: Path) -> Path:
    """Return where the chosen weights of a run are."""
    return path.with_name(f"{path.stem}_best.pt")


def main() -> None:
    parser = parser_of(__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", type=Path, help="a BERT in torch, to be fine-tuned")
    what.add_argument("--lower", help="states of another model: what `lower` was given as --name")
    parser.add_argument("--frozen", type=int, default=3, help="lowest layers that stay")
    parser.add_argument("--whole", action="store_true", help="spans are read by their mean alone")
    parser.add_argument("--falls", action="store_true", help="rates fall to zero")
    parser.add_argument("--drop", type=float, default=0.25, help="share that is dropped")
    parser.add_argument("--rate", type=float, default=2e-4, help="of the encoder")
    parser.add_argument("--fold", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument(
        "--share", type=float, default=0.15,
        help="of the heads that only negatives have, those that are read in an epoch",
    )  # fmt: skip
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    logging.set_verbosity_error()
    tokens = WORK / f"lower_{options.lower}" if options.lower else options.model
    rows, dialogues, folds = load_material(options.data, tokens)
    chosen = np.random.default_rng(7).random(len(dialogues)) < 1 / 8
    test = [dialogue for dialogue in dialogues if folds[dialogue.name] == options.fold]
    rest = [(dialogue, flag) for dialogue, flag in zip(dialogues, chosen, strict=True)
            if folds[dialogue.name] != options.fold]  # fmt: skip
    held, fit = (
        [dialogue for dialogue, flag in rest if flag],
        [dialogue for dialogue, flag in rest if not flag],
    )
    settings = Settings(frozen=options.frozen, whole=options.whole, drop=options.drop)
    if options.lower:
        low, name = lower_states(options.lower, dialogues), f"_{options.lower}"
        net = Joint(next(iter(low.values())).shape[1], None, settings)
    else:
        net, name = new_network(options.model, settings), ""
        low = lowest_states(net, dialogues)
    path = WORK / f"joint{name}_{options.fold}_{options.seed}.pt"
    falls = options.epochs * math.ceil(len(fit) / BATCH) if options.falls else 0
    run = Run(net, path, options.seed, options.rate, falls)
    train(run, rows, fit, held, low, options.epochs, options.share)
    net.load_state_dict(torch.load(best_of(path)))
    wanted = [*held, *test]
    outputs = outputs_of(net, rows, wanted, low)
    np.savez_compressed(
        path.with_suffix(".npz"),
        **{key: np.array(outputs[key]) for key in ("nli", "odds", "relation", "choice", "four")},
    )
    listed = {"dialogues": [dialogue.name for dialogue in wanted], "answers": outputs["answers"]}
    path.with_suffix(".json").write_text(json.dumps(listed))


if __name__ == "__main__":
    main()
