"""The words of a clause as it is spoken or typed, with contractions written out."""

from __future__ import annotations

import re
from functools import lru_cache

from grice.text.verbs import is_verb
from grice.text.wordlists import HOLDS_IS, SHOWS_IS

_CONTRACTED = {
    "im": ("i", "am"), "ive": ("i", "have"), "youre": ("you", "are"),
    "youve": ("you", "have"), "theyre": ("they", "are"), "hes": ("he", "is"),
    "shes": ("she", "is"), "thats": ("that", "is"), "theres": ("there", "is"),
    "dont": ("do", "not"), "doesnt": ("does", "not"), "didnt": ("did", "not"),
    "cant": ("can", "not"), "cannot": ("can", "not"), "wont": ("will", "not"),
    "isnt": ("is", "not"), "arent": ("are", "not"), "wasnt": ("was", "not"),
    "werent": ("were", "not"), "havent": ("have", "not"), "hasnt": ("has", "not"),
    "couldnt": ("could", "not"), "wouldnt": ("would", "not"), "shouldnt": ("should", "not"),
    "can't": ("can", "not"), "won't": ("will", "not"), "lets": ("let", "us"),
    "let's": ("let", "us"), "gonna": ("going", "to"), "wanna": ("want", "to"),
    "gotta": ("have", "to"), "ain't": ("is", "not"), "aint": ("is", "not"),
    "shan't": ("will", "not"), "y'all": ("you",),
}  # fmt: skip
_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_TRAILING = frozenset(
    {",", ";", ":", "actually", "also", "either", "please", "then", "though", "too"}
)
_LEADING = frozenset({",", ";", ":", "please", "to"})


def _split(text: str) -> list[str]:
    """Split into words and inner marks; a clitic that stands apart joins its word."""
    text = text.replace("’", "'").replace("`", "'")
    text = re.sub(r"\s+(n't|'(?:m|re|ve|ll|d|s))\b", r"\1", text, flags=re.IGNORECASE)
    return re.findall(r"[^\s,.;:!?()\"“”]+(?:[.,:](?=\w)[^\s,.;:!?()\"“”]+)*|[,;:]", text)


def written_out(text: str) -> list[str]:
    """Return the words of a clause, contractions written out: "I'm" is "I am".

    Marks at its edges and words such as "too" at its end are dropped.
    """
    return list(_written_out(text))


@lru_cache(maxsize=4096)  # every question about a clause begins with its words
def _written_out(text: str) -> tuple[str, ...]:
    words = _split(text)
    out: list[str] = []
    for i, word in enumerate(words):
        lower = word.lower()
        stem, mark, ending = lower.rpartition("'")
        following = words[i + 1].lower() if i + 1 < len(words) else ""
        if lower == "got" and out and out[-1].lower() in {"has", "have"}:
            continue
        if lower in _CONTRACTED:
            out += _CONTRACTED[lower]
        elif lower == "its" and following in SHOWS_IS:
            out += ["it", "is"]
        elif lower.endswith("n't"):
            out += [word[:-3], "not"]
        elif mark and stem and mark + ending in _ENDINGS:
            out += [word[: len(stem)], _ENDINGS[mark + ending]]
        elif mark and ending == "s" and (stem in HOLDS_IS or _means_is(following)):
            out += [word[: len(stem)], "has" if following in {"been", "got"} else "is"]
        else:
            out.append(word)
    while out and out[-1].lower() in _TRAILING:
        out.pop()
    while out and out[0].lower() in _LEADING:
        out.pop(0)
    return tuple(word for word in out if word)


def _means_is(following: str) -> bool:
    return following in SHOWS_IS or (following.endswith("ing") and is_verb(following))
