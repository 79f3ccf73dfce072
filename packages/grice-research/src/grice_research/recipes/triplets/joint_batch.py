"""Some dialogues as tensors, read by the joint network: links and answers by head span."""

from __future__ import annotations

import numpy as np
import torch

from grice_research.recipes.triplets.joint_network import Joint, Spans
from grice_research.recipes.triplets.joint_rows import Dialogue, Question, Rows
from grice_research.surface import EDGES
from grice_research.triplets.answers import BINS, LONGEST
from grice_tasks.cider.structure import layout_of, structure


class Batch:
    """Some dialogues as tensors; gathers the head spans that are asked about as it is used."""

    def __init__(self, net: Joint, rows: Rows, dialogues: list[Dialogue], low: dict) -> None:
        self.net, self.rows, self.dialogues = net, rows, dialogues
        longest = max(len(each.ids) for each in dialogues)
        self.mask = torch.zeros(len(dialogues), longest)
        self.low = torch.zeros(len(dialogues), longest, net.size)
        for i, dialogue in enumerate(dialogues):
            self.mask[i, : len(dialogue.ids)] = 1
            self.low[i, : len(dialogue.ids)] = low[dialogue.name]
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
        if self.net.encoder is not None:
            self.states = self.net.encode_for(below[texts], self.mask[texts], marks)
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
        heads = torch.tensor([self.heads[question.span] for _, question in asked])
        held = self.mask.clone()
        held[:, 0] = 0
        for i, held_dialogue in enumerate(self.dialogues):
            held[i, len(held_dialogue.ids) - 1] = 0
        texts = torch.tensor([self.text[span] for span in self.heads])
        held = held if self.net.encoder is None else held[texts]
        bins = np.full((len(asked), self.mask.shape[1]), BINS - 1)
        for row, (i, held_dialogue) in enumerate(asked):
            dialogue = self.dialogues[i]
            bins[row, : len(dialogue.ids)] = _bins(dialogue, self.rows.places[held_dialogue.span])
        relation = torch.tensor([question.relation for _, question in asked])
        return self.net.answers(self.states, held, self.row_of[heads], self.vectors[heads],
                                relation, torch.tensor(bins))  # fmt: skip

    def candidates(self, listed: list[tuple[int, Question, list[tuple[int, int]]]]) -> torch.Tensor:
        """Return the numbers of token spans as tails of questions, ``(spans, 3)``, all in a row."""
        heads, spans, relations, numbers = [], [], [], []
        for i, question, wanted in listed:
            dialogue = self.dialogues[i]
            place = tuple(int(x) for x in self.rows.places[question.span])
            head, layout = dialogue.text[slice(*place)], layout_of(dialogue.text)
            heads += [self.heads[question.span]] * len(wanted)
            relations += [question.relation] * len(wanted)
            spans += wanted
            for first, end in wanted:
                at = int(dialogue.starts[first]), int(dialogue.ends[end - 1])
                numbers.append(structure(layout, head, dialogue.text[slice(*at)], place, at))
        first, end = torch.tensor(spans).unbind(1)
        row = torch.tensor(heads)
        tails = self.net.spans(self.states, self.sums, Spans(self.row_of[row], first, end))
        logits = self.net.links(self.vectors[row], tails, torch.tensor(np.stack(numbers)))
        return logits[torch.arange(len(row)), :, torch.tensor(relations)]


def _bins(dialogue: Dialogue, place: np.ndarray) -> np.ndarray:
    """Return the bin of each token's distance to the head, as :func:`distance_bins` has it."""
    after, before = dialogue.starts - place[1], place[0] - dialogue.ends
    gap = np.maximum(np.maximum(after, before), 0)
    bins = np.searchsorted(EDGES, gap, side="right") - 1 + np.where(before >= 0, len(EDGES), 0)
    return np.where((after < 0) & (before < 0), BINS - 2, bins)


def best(scores: torch.Tensor, count: int) -> list[tuple[float, int, int]]:
    """Return the best answers as log probability, first token, and the one behind the last."""
    log = scores.flatten() - scores.logsumexp((0, 1))
    values, at = log.topk(min(count, len(log)))
    return [(float(x), int(i) // LONGEST, int(i) // LONGEST + int(i) % LONGEST + 1)
            for x, i in zip(values, at, strict=True)]  # fmt: skip


def prepare(batch: Batch, *, negatives: bool) -> tuple[np.ndarray, np.ndarray, list]:
    """Gather the rows of a batch: NLI, choice, questions."""
    rows = batch.rows
    nli, choice, asked = [], [], []
    for i, dialogue in enumerate(batch.dialogues):
        mine = {q.span for q in dialogue.questions}
        for row in dialogue.nli:
            head = rows.pairs[rows.nli[row, 0], 0]
            # A head that nothing else is asked about costs a pass of its own.
            if negatives or rows.nli[row, 2] or head in mine:
                batch.head(head, i)
                nli.append(row)
        for row in dialogue.choice:
            batch.head(rows.pairs[rows.choice[row, 0], 0], i)
            choice.append(row)
        for question in dialogue.questions:
            batch.head(question.span, i)
            asked.append((i, question))
    return np.array(nli, int), np.array(choice, int), asked
