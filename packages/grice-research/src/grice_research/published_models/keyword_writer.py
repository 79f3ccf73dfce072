"""SituatedGen's writers as published: BART or T5 that turn keywords into two sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grice.models.conversion import read_config
from grice.models.loader import model_type
from grice_research.published_models.convert import convert_seq2seq
from grice_research.published_models.seq2seq import EmbeddedSeq2Seq, Search, Seq2SeqSettings
from grice_tasks.situatedgen.models import KeywordWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grice.models.folder import CardValue, ModelFolder
    from grice.models.loader import ModelLoader
    from grice_research.published_models.seq2seq import Seq2Seq

SEARCH = Search(beams=4, returned=1, max_pieces=128)
"""The paper's beam and longest text."""
T5_PREFIX = "generate two sentences with: "
"""Prompt of the published T5 models before the keywords; BART has none."""


class WriterSettings(Seq2SeqSettings, frozen=True):
    """Settings of type ``keyword-writer``: also its architecture, on which the prompt hangs."""

    family: str = "bart"


def convert_keyword_writer(source: Path, target: Path) -> dict[str, CardValue]:
    """Convert an encoder-decoder whose prompt hangs on its family, and return what it states."""
    return {**convert_seq2seq(source, target), "family": str(read_config(source)["model_type"])}


def prompt(keywords: Sequence[str], *, model: str = "bart") -> str:
    """Return what a keyword-to-text model reads: ``bart`` or ``t5``.

    >>> prompt(["July", "China", "winter"], model="t5")
    'generate two sentences with: July, China, winter'
    """
    return (T5_PREFIX if "t5" in model else "") + ", ".join(keywords)


class PublishedWriter:
    """A :class:`KeywordWriter`."""

    def __init__(self, model: Seq2Seq, family: str) -> None:
        self._model = model
        self._family = family

    def generate(self, keywords: Sequence[Sequence[str]]) -> list[str]:
        """Return both sentences for each list of keywords; see :class:`KeywordWriter`."""
        prompts = [prompt(words, model=self._family) for words in keywords]
        written = self._model.write(prompts, SEARCH)
        return [texts[0].text.strip() if texts else "" for texts in written]


@model_type(
    "keyword-writer",
    task="sentences",
    protocol=KeywordWriter,
    settings=WriterSettings,
    convert=convert_keyword_writer,
)
def keyword_writer(
    folder: ModelFolder, settings: WriterSettings, loader: ModelLoader
) -> PublishedWriter:
    """Open an encoder-decoder that reads keywords."""
    model = EmbeddedSeq2Seq(
        folder, settings, loader.cache, mode=loader.mode, threads=loader.workers
    )
    return PublishedWriter(model, settings.family)
