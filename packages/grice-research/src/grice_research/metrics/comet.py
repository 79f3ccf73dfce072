"""COMET as it was published: an encoder-decoder that continues a head, a relation and ``[GEN]``.

Hwang et al., AAAI 2021: BART-large, fine-tuned on ATOMIC-2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.errors import ModelFolderError
from grice.models.loader import model_type
from grice_research.published_models.convert import convert_seq2seq
from grice_research.published_models.seq2seq import EmbeddedSeq2Seq, Seq2Seq, Seq2SeqSettings

if TYPE_CHECKING:
    from grice.models.folder import ModelFolder
    from grice.models.loader import ModelLoader

GENERATE = "[GEN]"
"""Token behind the relation."""
RELATION = "xWant"
"""One of the names that the released training adds to the vocabulary."""


def query(head: str, relation: str) -> str:
    """Return what COMET continues.

    >>> query("PersonX eats", "xWant")
    'PersonX eats xWant [GEN]'
    """
    return f"{head} {relation} {GENERATE}"


@model_type(
    "comet",
    task="tails of events",
    protocol=Seq2Seq,
    settings=Seq2SeqSettings,
    convert=convert_seq2seq,
)
def comet(folder: ModelFolder, settings: Seq2SeqSettings, loader: ModelLoader) -> EmbeddedSeq2Seq:
    """Open a COMET."""
    model = EmbeddedSeq2Seq(
        folder, settings, loader.cache, mode=loader.mode, threads=loader.workers
    )
    if not model.knows(GENERATE) and not model.knows(RELATION):
        raise ModelFolderError(
            f"{folder.path}: no COMET: its vocabulary has neither {GENERATE} nor {RELATION} as "
            "one piece; a BART that was not trained on ATOMIC would write tails at random"
        )
    return model
