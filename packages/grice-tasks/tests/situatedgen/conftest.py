import re

import numpy as np
import pytest

from grice.models.protocols import TaggedSpan
from grice_tasks.situatedgen.records import Sample
from grice_tasks.situatedgen.tagger import TaggedText

PLACES = ("Spain", "Chile", "China", "Australia", "Texas", "Ohio", "Kenya", "Norway")
NOUNS = ("July", "winter", "summer", "coffee", "snow", "river", "people", "market")


class WordTagger:
    """Knows a few places and nouns."""

    identity = "words"

    def find(self, texts):
        return [
            TaggedText(
                tuple(
                    TaggedSpan(match.start(), match.end(), "GPE", 1.0)
                    for match in re.finditer("|".join(PLACES), text)
                ),
                tuple(
                    TaggedSpan(match.start(), match.end(), "NOUN", 1.0)
                    for match in re.finditer(rf"\b(?:{'|'.join(NOUNS)})\b", text)
                ),
            )
            for text in texts
        ]


class WordEncoder:
    """A vector of the words, so that like texts have like vectors."""

    identity = "bag"

    def encode(self, texts):
        return [self._vector(text) for text in texts]

    def truncated(self, texts):
        return [False] * len(texts)

    def _vector(self, text):
        vector = np.zeros(64, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[sum(map(ord, word)) % 64] += 1
        size = np.linalg.norm(vector)
        return vector / size if size else vector


class FirstNoun:
    """Takes two words for the subject."""

    def predicate_starts(self, questions):
        return [len(" ".join(question.split()[:3])) + 1 for question in questions]


@pytest.fixture
def tagger():
    return WordTagger()


@pytest.fixture
def encoder():
    return WordEncoder()


@pytest.fixture
def clauses():
    return FirstNoun()


@pytest.fixture(scope="session")
def released(data_folder):
    folder = data_folder / "situatedgen"
    if not folder.is_dir():
        pytest.skip("GRICE_DATA holds no situatedgen")
    return folder


@pytest.fixture
def july():
    return Sample(
        "july",
        ("July", "China", "winter", "Australia", "summer", "July"),
        (0, 0, 1, 1, 0, 1),
        ("July is summer in China.", "July is winter in Australia."),
        "July is summer in China. July is winter in Australia.",
        ("a", "b"),
    )
