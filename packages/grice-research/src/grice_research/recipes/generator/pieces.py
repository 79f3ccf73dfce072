"""The vocabulary: those word pieces of the teacher that the texts need, and a word per relation."""

from __future__ import annotations

import string
from collections import Counter
from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from grice.knowledge.generative import END_OF_TEXT, NOTHING, START, UNKNOWN, relation_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PERSONS = ("personx", "persony", "personz")
LETTERS = string.ascii_lowercase + string.digits


def make_tokenizer(
    teacher: Tokenizer, texts: Iterable[str], relations: Sequence[str], size: int
) -> Tokenizer:
    """Return a tokenizer of ``size`` pieces: the most frequent ones, and every letter.

    Relations and marks hold brackets, which the splitting at punctuation keeps apart from
    letters: no text can spell them.
    """
    special = [NOTHING, UNKNOWN, START, END_OF_TEXT, *map(relation_token, relations)]
    fixed = [*special, *PERSONS, *string.punctuation, *LETTERS, *(f"##{c}" for c in LETTERS)]
    whole = Tokenizer(WordPiece(teacher.get_vocab(), unk_token="[UNK]"))
    whole.normalizer, whole.pre_tokenizer = _rules()
    counts: Counter[str] = Counter()
    for encoding in whole.encode_batch(list(texts), add_special_tokens=False):
        counts.update(encoding.tokens)
    known = sorted(counts, key=lambda piece: (-counts[piece], piece))
    chosen = list(dict.fromkeys([*fixed, *(p for p in known if p != "[UNK]")]))[:size]
    made = Tokenizer(WordPiece({piece: i for i, piece in enumerate(chosen)}, unk_token=UNKNOWN))
    made.normalizer, made.pre_tokenizer = _rules()
    made.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    return made


def _rules() -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
    blank = normalizers.Replace(Regex("_+"), " something ")
    plain = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    return normalizers.Sequence([blank, plain]), pre_tokenizers.BertPreTokenizer()
