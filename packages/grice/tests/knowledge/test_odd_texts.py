"""Whatever is said, reading events and triples from it does not fail."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from grice.knowledge.extraction.cues import CueExtractor, CueSettings
from grice.knowledge.extraction.protocol import Exchange
from grice.knowledge.generative import as_fragment, plain_event
from grice.knowledge.schema import load_schema
from grice.metrics.engagement.replies import surface
from grice.models.bundle import open_bundle
from grice.models.loader import read_settings
from grice.models.protocols import TaggedSpan
from grice.text.contractions import written_out
from grice.text.events import event_text, reaction
from grice.text.repetition import novelty
from grice.text.script import unreadable

SCHEMA = load_schema("atomic2020")
SAID = (
    "I you u he she it that this who my your her his we they me him us everyone people let not "
    "don't n't can't 's 're 've it's that's i'm please to too then either also because since so "
    "but if when before after and or is am are was be been being have has got had do does did "
    "will can should want wants need like hate feel love go going went lost sad happy great good "
    "awful thanks sorry wow yikes sadly luckily congrats congratulations house cats dog job what "
    "why how such a an the very really of with , ; : . ! ? … — ( ) \" ' ’ `"
)
WORDS = SAID.split()
ODD = str.maketrans({"i": "ı", "I": "İ", "s": "ſ", "k": "\u212a", " ": "\u00a0"})


def odd(word):
    return st.sampled_from([word, word.upper(), word.title(), word.translate(ODD), word + "\u200b"])


TEXT = st.lists(
    st.sampled_from(WORDS).flatmap(odd) | st.text(st.characters(), max_size=4), max_size=14
).flatmap(lambda words: st.sampled_from([" ", "", "  ", "\n"]).map(lambda gap: gap.join(words)))


class Given:
    """Tags what a test says: of each text the stretches between the same offsets."""

    identity = "given"

    def __init__(self, offsets):
        self.offsets = offsets

    def tag(self, texts):
        return [tuple(self.spans(text)) for text in texts]

    def spans(self, text):
        places = sorted({min(offset, len(text)) for offset in self.offsets})
        for start, end in zip(places[::2], places[1::2], strict=False):
            if text[start:end].strip():
                yield TaggedSpan(start, end, "event", 0.9)


@given(TEXT)
@example("thankſ")
@example("ſorry, ſadly")
def test_words_are_read_from_any_text(text):
    assert 0 <= novelty(text, [text]).novel_fraction <= 1
    for read in (unreadable, written_out, event_text, plain_event):
        read(text)
    surface(text, text)
    reaction(text, said_by="previous")
    for relation in SCHEMA.relations.values():
        as_fragment(text, relation)


@given(TEXT, TEXT, st.lists(st.integers(0, 60), max_size=10))
@example("Great! Good work.", "We aim to please.", [0, 16])
@example("how is it going today ?", "It is going great. But ı am tires now.", [0, 17, 23, 37])
@example("We won!", "Thankſ for it. I ſtay ſince I loſt.", [15, 21, 28, 34])
@example("", "İ lost my job ıf i am so sad.", [0, 12, 17, 27])
def test_triples_are_read_from_any_text(before, text, offsets):
    extractor = CueExtractor(BUNDLE, SETTINGS, Given(offsets))
    (extraction,) = extractor.extract([Exchange((before,), text)], least=0.0)
    for triple in extraction.triples:
        for place in (triple.head_place, triple.tail_place):
            whole = text if place.turn == "reply" else before
            assert whole[place.start : place.end].strip()


BUNDLE = open_bundle("extraction")
SETTINGS = read_settings(BUNDLE, CueSettings)
