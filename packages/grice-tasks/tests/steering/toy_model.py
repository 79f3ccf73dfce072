"""A language model of three tokens: ``a``, ``b`` and the end, which change once a ``b`` is written.

At first ``a`` has 0.6 and ``b`` 0.2, so that R, the probability of a reply with ``b`` (its label),
is 0.6 R + 0.2 = 0.5; given the label ``b`` comes first with 0.2 / 0.5 = 0.4 and ``a`` with 0.6.
"""

import numpy as np

from grice_tasks.steering.decoding import Continuation, Sampler
from grice_tasks.steering.dialogue import END
from grice_tasks.steering.guide_training import Labelled

VOCABULARY = ("a", "b", END)
STATES = np.array([[0.6, 0.2, 0.2], [0.3, 0.3, 0.4]])
GIVEN_LABEL = np.array([[0.6, 0.4, 0.0], [0.3, 0.3, 0.4]])


class Toy:
    """Has the methods of a steerable language model that a guide needs."""

    identity = "toy@1/fast"
    vocabulary = VOCABULARY

    def logits(self, before):
        return np.log(STATES[int(1 in before)]).astype(np.float32) + 3.0

    def decode(self, prompts, selectors, *, stop="\n", max_tokens=64):
        return [self._written(choose, max_tokens) for choose in selectors]

    def _written(self, choose, max_tokens):
        ids = []
        while len(ids) < max_tokens and 2 not in ids:
            ids.append(choose(self.logits(ids), ids))
        text = "".join(VOCABULARY[token] for token in ids if token != 2)
        return Continuation(text, len(ids), ended=2 in ids)

    def read_logits(self, prompts, replies, use):
        answers = []
        for reply in replies:
            ended = reply.endswith(END)
            ids = ["ab".index(letter) for letter in reply.removesuffix(END)] + [2] * ended
            logits = np.array([self.logits(ids[:place]) for place in range(len(ids))])
            answers.append(use(logits.astype(np.float32), ids))
        return answers


def drawn_replies(count, seed=0):
    """Return replies of the toy, a context each, labelled by whether they hold a ``b``."""
    written = Toy().decode([""] * count, [Sampler(1.0, [seed])] * count)
    return [
        Labelled(number, "", reply.text + END, {"b": "b" in reply.text})
        for number, reply in enumerate(written)
    ]
