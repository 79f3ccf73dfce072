"""Coherence that is learned from one set of perturbations, beside DEAM's tables 4.3 to 4.5.

The networks of the shipped model, without its other features, learn to tell conversations of
people from perturbed ones, on frozen vectors; perturbations change the words in place of AMR
graphs. Topical-Chat's test parts, from which nothing that ships learned, are those of setup 3, of
the ablation and of the heat map (figure 4.7): how often a held-out conversation scores above its
perturbed version. Setup 2 has Ubuntu's channels and DailyDialog; EmpatheticDialogues is not at
hand. Setup 1 sets models of other papers beside DEAM, and is that of bench deam.

Of three seeds the middle one is shown. Trivial are the mean cosine of neighbouring turns, and the
number of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from grice.models.protocols import Encoder
from grice.perturb import MIXTURES, Perturbation, mixture
from grice.stats import correlation, mean
from grice.stats.inputs import Floats
from grice_research.benches._recurrent import torch_module
from grice_research.benches._turns import marked_lines
from grice_research.context import BenchContext, data_digest, paired_difference
from grice_research.figures import Figure, figure, gap_to, middle
from grice_research.published import printed
from grice_research.recipes.coherence.data import Sample, ways
from grice_research.recipes.engagement.train import joined

TITLE = "Sets of perturbations that train coherence (DEAM)"
PAPER = "Ghazarian et al., DEAM, ACL 2022, tables 4.3 to 4.5 and figure 4.7"

SETS = {
    "deam": "DEAM", "mesgar": "Mesgar et al. 2020", "vakulenko": "Vakulenko et al. 2018",
    "dynaeval": "DynaEval",
}  # fmt: skip
FOUR = MIXTURES["deam"][2].split()
WITHOUT = {f"without {left}": " ".join(k for k in FOUR if k != left) for left in FOUR}


class Setup(NamedTuple):
    """Conversations, and the printed row of each set of perturbations that trains on them."""

    files: tuple[str, ...]
    rows: dict[str, tuple[str, str]]  # table and row


TOPICAL = Setup(
    ("topical_chat/test_freq.jsonl.gz", "topical_chat/test_rare.jsonl.gz"),
    {name: ("table 4.3", row) for name, row in SETS.items()}
    | {name: ("table 4.5", name) for name in WITHOUT},
)
UBUNTU = Setup(
    ("irc_disentangled/conversations.jsonl.gz",),
    {"vakulenko": ("table 4.4", "Vakulenko, Ubuntu"), "deam": ("table 4.4", "DEAM, Ubuntu")},
)
DAILY = Setup(
    ("dailydialog/train.jsonl.gz",),
    {"mesgar": ("table 4.4", "Mesgar, DailyDialog"), "deam": ("table 4.4", "DEAM, DailyDialog")},
)
SETUPS = (TOPICAL, UBUNTU, DAILY)
RATED, ASPECTS = ("fed_dialogue", "dstc9_dialogue"), ("coherent", "overall")
FEWEST, MOST = 6, 20  # turns of a conversation that is used, and that are read of it
TALKS, HELD = 1000, 5  # conversations of a corpus at most; one in so many is held out
COSINE, WORDS = "cosine of neighbouring turns", "number of words"


def measure(context: BenchContext) -> Iterator[Figure]:
    """Yield the networks of each setup on rated and on perturbed conversations."""
    torch_module()
    from grice_research.recipes.coherence.setups import judged, prepared

    others = {name: list(_rated(context, name)) for name in RATED}
    twins = [_with_twins(read_talks(context.folder, setup), setup) for setup in SETUPS]
    every = [sample for groups in (*twins, others.values()) for group in groups for sample in group]
    texts = sorted({text for sample in every for text in sample.turns})
    index = {text: place for place, text in enumerate(texts)}
    vectors = cast("Encoder", context.models().load("builtin:encoder")).encode(texts)

    def trivial(samples: Sequence[Sample]) -> dict[str, Floats]:
        rows = ([vectors[index[text]] for text in sample.turns] for sample in samples)
        pairs = (np.sum(np.array(each[1:]) * each[:-1], axis=1) for each in rows)
        cosines = [float(each.mean()) if len(each) else 0.0 for each in pairs]
        words = [float(len(" ".join(sample.turns).split())) for sample in samples]
        return {COSINE: np.array(cosines), WORDS: np.array(words)}

    beside = {name: trivial(samples) for name, samples in others.items()}
    for data, columns in beside.items():
        for row, values in columns.items():
            yield from _correlations(context, (row, ""), data, [values], {}, "")
    for setup, groups in zip(SETUPS, twins, strict=True):
        held = [sample for group in groups[::HELD] for sample in group]
        shown = [group for number, group in enumerate(groups) if number % HELD]
        given = prepared(shown, {"held": held, **others}, index, vectors)
        files = "+".join(data_digest(context.folder, file) for file in setup.files)
        signature = f"{context.models().fingerprint('builtin:encoder')}|on:{files}"
        of_held = trivial(held)
        for row, values in of_held.items() if setup == TOPICAL else ():
            yield from _pairs(row, held, [values], {}, signature)
        for name, (table, row) in setup.rows.items():
            found = judged(given, name)
            for data, columns in beside.items():
                seeds = [each[data] for each in found]
                yield from _correlations(context, (row, table), data, seeds, columns, signature)
            if table == "table 4.3":
                yield from _pairs(row, held, [each["held"] for each in found], of_held, signature)


def read_talks(folder: Path, setup: Setup) -> list[Sample]:
    """Return conversations of two speakers, whose messages in a row are one turn."""
    talks: dict[tuple[str, ...], str] = {}
    for row in (row for file in setup.files for row in marked_lines(folder, file)):
        turns = tuple(text for _, text, _ in joined(row))[:MOST]
        if len(turns) >= FEWEST and len({turn["speaker"] for turn in row["turns"]}) == 2:
            talks.setdefault(turns, row["id"])  # DailyDialog repeats itself
    chosen = list(talks.items())[:: max(1, len(talks) // TALKS)][:TALKS]
    return [_sample(id_, turns, range(len(turns))) for turns, id_ in chosen]


def _rated(context: BenchContext, name: str) -> Iterator[Sample]:
    for item in context.rated(name).items:
        turns = [turn for turn in item.conversation.turns if turn.text.strip()]
        sides = [turn.speaker == turns[0].speaker for turn in turns]
        yield _sample(item.conversation.id, tuple(turn.text for turn in turns), sides)


def _sample(id_: str, turns: tuple[str, ...], sides: Sequence[int]) -> Sample:
    speakers = tuple(int(side) % 2 for side in sides)
    return Sample(id_, "", turns, speakers, frozenset(), "", held_out=False)


def _with_twins(samples: Sequence[Sample], setup: Setup) -> list[list[Sample]]:
    """Return each conversation before its twins, one of each set that changes it."""
    sets: list[Perturbation | str] = [
        mixture(name, len(FOUR) - 1, "DEAM", WITHOUT[name]) if name in WITHOUT else name
        for name in setup.rows
    ]
    made = ways(samples, sets, 0, range(len(samples)))
    return [[samples[number], *twins] for number, twins in made]


def _correlations(
    context: BenchContext, row: tuple[str, str], data: str, seeds: Sequence[Floats],
    trivial: dict[str, Floats], signature: str,
) -> Iterator[Figure]:  # fmt: skip
    """Yield how the middle seed ranks conversations as people do, with its gaps."""
    rated, (name, table) = context.rated(data), row
    for aspect in ASPECTS:
        on, human = f"{data}:{aspect}", rated.human(aspect)
        found = [
            correlation(values.tolist(), human, kind="spearman", groups=rated.groups)
            for values in seeds
        ]
        place, told = middle(found)
        ours = seeds[place].tolist()
        yield figure(
            f"{name} ({table})" if table else name,
            "spearman",
            found[place],
            "ours" if table else "baseline",
            on=on,
            published=printed("deam-setups", table)[name][on, "spearman"] if table else None,
            beside=name if table else "",
            why=told,
            signature=signature and f"{signature}|on:{rated.fingerprint}",
            gaps=tuple(
                gap_to(base, paired_difference("spearman", ours, values.tolist(), rated, aspect))
                for base, values in trivial.items()
            ),
        )


def _pairs(
    row: str, held: Sequence[Sample], seeds: Sequence[Floats], trivial: dict[str, Floats],
    signature: str,
) -> Iterator[Figure]:  # fmt: skip
    """Yield how often a held-out conversation scores above its version of each set."""
    whole = {sample.id: place for place, sample in enumerate(held) if not sample.kind}
    for kind, title in SETS.items():
        pairs = [(whole[each.id], place) for place, each in enumerate(held) if each.kind == kind]

        def right(values: Floats, pairs: list[tuple[int, int]] = pairs) -> Floats:
            margins = np.array([values[first] - values[second] for first, second in pairs])
            return np.asarray((np.sign(margins) + 1) / 2)

        shares = [right(values) for values in seeds]
        found = [mean(share.tolist(), bounds=(0, 1)) for share in shares]
        place, told = middle(found)
        gaps = {name: shares[place] - right(values) for name, values in trivial.items()}
        yield figure(
            row,
            "share right",
            found[place],
            "ours" if trivial else "baseline",
            on=f"held-out conversations, perturbed as {title}",
            why=told,
            signature=signature,
            gaps=tuple(
                gap_to(name, mean(gap.tolist(), bounds=(-1, 1))) for name, gap in gaps.items()
            ),
        )
