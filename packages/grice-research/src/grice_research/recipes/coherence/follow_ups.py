"""What would be said next: do a language model's follow-ups rank conversations as people do?

    python -m grice_research.recipes.coherence.follow_ups --model FOLDER --most 500

After FED (Mehri and Eskenazi, SIGDIAL 2020) and FULL (De Bruyn et al., COLING 2022): how likely it
is that a satisfied or a dissatisfied partner answers the last turn so, the whole conversation
before it. FOLDER holds a model in the format of transformers. It looks at conversations of ConvAI
2017 that train, in drawn order; nothing that ships rests on it.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

from grice_research.recipes.coherence.train import WORK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grice_research.recipes.coherence.data import Rated

FULL = (
    "Not really relevant here.", "You're really confusing.", "You're really boring.",
    "What are you trying to say?", "You don't seem interested.",
)  # fmt: skip
DISSATISFIED = (
    *FULL, "You're making no sense at all.", "That makes no sense!",
    "You're changing the topic so much!", "That's not what you said earlier!",
    "Stop contradicting yourself!", "I am so confused right now.",
    "I don't understand what you're saying.", "You're not understanding me!", "What do you mean?",
    "I don't understand at all!", "Stop saying the same thing repeatedly.",
    "Stop repeating yourself!", "You're not very nice.", "You're not very fun to talk to.",
    "I don't like you.", "You don't ask many questions.", "You don't really know much.",
    "That's not even remotely what I said.", "I don't want to talk about that!",
    "Why are you repeating yourself?", "What are you talking about?", "That's not what I asked.",
    "Are you a bot?", "That's not very interesting.",
)  # fmt: skip
SATISFIED = (
    "I like you!", "You're super polite and fun to talk to.", "Great talking to you.",
    "You ask a lot of questions!", "You have a lot of interesting facts!",
    "I see, that's interesting!", "Wow! That's really cool!", "That's a good point.",
    "That makes sense!", "You know a lot of facts!",
    "I'm really interested in learning more about this.",
)  # fmt: skip
LONGEST, LONGEST_TURN = 700, 120
"""Tokens of a conversation that are read, from its end, and of a turn."""
ROUNDS, FOLDS, SHRUNK = 5, 10, 300.0
_FORMS = {
    "lines": (("B:", "A:"), " ", "\n"),
    "chat": (("<|im_start|>assistant\n", "<|im_start|>user\n"), "", "<|im_end|>\n"),
}
"""How the last speaker and the others are called, what follows the name, and what a turn."""


class Model:
    """Reads a conversation once, and every follow-up as a branch at its end."""

    def __init__(self, folder: Path, form: str) -> None:
        self._net = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._names, self._gap, self._end = _FORMS[form]

    @torch.no_grad()
    def log_likelihoods(self, rated: Rated, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean log likelihood of the tokens of each text, said after the last turn."""
        trunk = [*self._turns(rated)[-LONGEST:], *self._tokens(self._names[1])]
        branches = [self._tokens(self._gap + text) for text in texts]
        read = _Tree.of(trunk, branches)
        hidden = self._net.model(
            read.tokens, attention_mask=read.mask(torch.bfloat16), position_ids=read.positions,
            use_cache=False,
        ).last_hidden_state[0]  # fmt: skip
        needed, place = np.unique(np.concatenate(read.before), return_inverse=True)
        scores = self._net.lm_head(hidden[torch.from_numpy(needed)]).float().log_softmax(-1)
        log_probabilities = scores[
            torch.from_numpy(place), torch.tensor(np.concatenate(branches))
        ].numpy()
        ends = np.cumsum([len(branch) for branch in branches])[:-1]
        return np.array([part.mean() for part in np.split(log_probabilities, ends)])

    def _turns(self, rated: Rated) -> list[int]:
        turns = []
        for speaker, text in zip(rated.speakers, rated.turns, strict=True):
            name = self._names[speaker != rated.speakers[-1]]
            line = self._tokens(f"{name}{self._gap}{' '.join(text.split())}{self._end}")
            cut = line if len(line) <= LONGEST_TURN else [*line[: LONGEST_TURN - 2], *line[-2:]]
            turns += cut
        return turns

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


class _Tree(NamedTuple):
    """Tokens, where each stands, which it sees, and for each of a branch what comes before it."""

    tokens: torch.Tensor
    positions: torch.Tensor
    seen: torch.Tensor
    before: list[NDArray[np.int64]]

    @classmethod
    def of(cls, trunk: list[int], branches: list[list[int]]) -> _Tree:
        tokens, positions, before = list(trunk), list(range(len(trunk))), []
        size = len(trunk) + sum(len(branch) - 1 for branch in branches)
        seen = torch.zeros(size, size, dtype=torch.bool)
        seen[:, : len(trunk)] = True
        seen[: len(trunk), : len(trunk)] = torch.ones(len(trunk), len(trunk)).tril().bool()
        for branch in branches:
            start, more = len(tokens), len(branch) - 1
            tokens += branch[:-1]
            positions += range(len(trunk), len(trunk) + more)
            seen[start : start + more, start : start + more] = torch.ones(more, more).tril().bool()
            before.append(np.array([len(trunk) - 1, *range(start, start + more)]))
        return cls(torch.tensor([tokens]), torch.tensor([positions]), seen, before)

    def mask(self, dtype: torch.dtype) -> torch.Tensor:
        none = torch.zeros(self.seen.shape, dtype=dtype)
        return none.masked_fill(~self.seen, torch.finfo(dtype).min)[None, None]


def weighed(likelihoods: NDArray[np.float64], people: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a ridge regression says of conversations that it did not see."""
    ranks = np.zeros(len(people))
    for seed in range(ROUNDS):
        fold = np.random.default_rng(seed).integers(FOLDS, size=len(people))
        each = np.zeros(len(people))
        for k in range(FOLDS):
            seen = fold != k
            mean, spread = likelihoods[seen].mean(0), likelihoods[seen].std(0)
            read = (likelihoods - mean) / spread
            inner = read[seen].T @ read[seen] + SHRUNK * np.eye(read.shape[1])
            weights = np.linalg.solve(inner, read[seen].T @ (people[seen] - people[seen].mean()))
            each[~seen] = read[~seen] @ weights
        ranks += rankdata(each)
    return ranks


def report(likelihoods: NDArray[np.float64], people: NDArray[np.float64]) -> None:
    """Print how each way of reading the follow-ups ranks the conversations."""
    bad, good = likelihoods[:, : len(DISSATISFIED)], likelihoods[:, len(DISSATISFIED) :]
    ways = {
        "FULL, likelihood": -bad[:, : len(FULL)].mean(1),
        "FULL, perplexity": np.exp(-bad[:, : len(FULL)]).mean(1),
        "dissatisfied": -bad.mean(1),
        "satisfied": good.mean(1),
        "satisfied less dissatisfied": good.mean(1) - bad.mean(1),
        "weighed": weighed(likelihoods, people),
    } | dict(zip((*DISSATISFIED, *SATISFIED), likelihoods.T, strict=True))
    for name, values in ways.items():
        print(f"{spearmanr(values, people).statistic:+.3f}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="in the format of transformers")
    parser.add_argument("--form", choices=_FORMS, default="lines")
    parser.add_argument("--most", type=int, default=500, help="conversations")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rated = pickle.loads((WORK / "samples.pickle").read_bytes())["rated"]
    train = [dialogue for dialogue in rated if not dialogue.held_out]
    drawn = sorted(train, key=lambda dialogue: crc32(" ".join(dialogue.turns).encode()))[
        : given.most
    ]
    model = Model(given.model, given.form)
    texts = (*DISSATISFIED, *SATISFIED)
    likelihoods = np.stack([model.log_likelihoods(dialogue, texts) for dialogue in drawn])
    print(f"{len(drawn)} conversations, {given.model.name}")
    report(likelihoods, np.array([dialogue.quality for dialogue in drawn]))


if __name__ == "__main__":
    main()
