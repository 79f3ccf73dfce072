"""A language model in every place: samples, rows, and what is held to a task."""

from __future__ import annotations

from importlib import import_module, resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.errors import InputError
from grice.models.models import Models
from grice.models.protocols import Generated
from grice.stats import mean
from grice_research.benches import language_models
from grice_research.context import BenchContext
from grice_research.figures import Figure
from grice_research.language_models.page import BEGIN, END, places_table, with_table
from grice_research.language_models.read import judged_shares
from grice_research.language_models.samples import LANGUAGE_MODEL, SHIPS, Candidate, Place, sampled
from grice_tasks.situatedgen.language_model import write_valid_pairs
from grice_tasks.situatedgen.records import Sample

KEYWORDS = ("summer", "winter", "swim", "ski")
SAMPLE = Sample(
    id="1",
    keywords=KEYWORDS,
    keywords_pos=(0, 1, 0, 1),
    statements=("People swim in summer.", "People ski in winter."),
)
GOOD = "People swim in summer. People ski in winter."
MEDIUM, LARGE = Candidate("medium"), Candidate("large")


class Scripted:
    """A language model that writes what it is told."""

    identity = "scripted"
    mode = "fast"

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def generate(self, prompts, *, count=1, shown="", stop="\n", max_tokens=64):
        self.asked += [(count, shown, prompt) for prompt in prompts]
        return [tuple(Generated(text, -1.0) for text in self.texts[:count]) for _ in prompts]

    def fingerprint(self, reference):
        return f"{reference}@0"


def test_a_sample_does_not_depend_on_the_order():
    items = [f"item {number}" for number in range(50)]
    assert sampled(items, 9, str) == sampled(items[::-1], 9, str)
    assert set(sampled(items, 9, str)) < set(sampled(items, 20, str))
    assert sampled(items, 99, str) == sampled(items, 50, str)


def test_a_place_has_a_row_for_each_system_and_one_for_the_difference():
    estimates = {name: mean([0.0, 1.0, 1.0]) for name in (LANGUAGE_MODEL, SHIPS, "chance")}
    place = Place("stance", Scripted(), MEDIUM, "bundle:graphs-medium", "a sample")
    rows = list(place.rows("share right", estimates, mean([0.0, -1.0, 0.0])))
    assert [row.row for row in rows] == [LANGUAGE_MODEL, SHIPS, "chance", MEDIUM.gap]
    assert [row.kind for row in rows] == ["ours", "ours", "baseline", "ours"]
    assert {row.signature for row in rows} == {"bundle:graphs-medium@0|mode:fast|on:stance"}
    assert rows[-1].measure == "difference of share right"


def test_two_sentences_with_every_keyword_are_taken_at_once():
    model = Scripted(GOOD)
    (pair,) = write_valid_pairs([KEYWORDS], model, shown=[SAMPLE])
    assert pair == (GOOD, (), 1)
    ((_, shown, prompt),) = model.asked
    assert shown.endswith(f"Sentences: {GOOD}\n\n")
    assert prompt == "Keywords: summer, winter, swim, ski\nSentences:"


def test_further_answers_are_looked_at_and_counted():
    model = Scripted("People swim.", "People ski in winter.", GOOD)
    (pair,) = write_valid_pairs([KEYWORDS], model, shown=[SAMPLE])
    assert pair == (GOOD, (), 4)


def test_of_invalid_answers_the_one_that_lacks_least_is_taken():
    model = Scripted("Nothing.", "People swim in summer. People do not.")
    (pair,) = write_valid_pairs([KEYWORDS], model, shown=[SAMPLE])
    assert pair.text.startswith("People swim in summer.")
    assert pair.lacks == ("the keyword 'winter'", "the keyword 'ski'")
    assert not pair.valid


@given(st.lists(st.text(), max_size=3))
def test_whatever_a_model_writes_each_sample_has_a_text(texts):
    pairs = write_valid_pairs([KEYWORDS, KEYWORDS], Scripted(*texts), shown=[SAMPLE])
    assert len(pairs) == 2
    assert all(pair.attempts >= 1 for pair in pairs)


def bench_of(folder, weights=None):
    """Return a context whose models are those of a folder."""
    models = Models(mode="fast", workers=1, cache=None)
    return BenchContext(folder, None, (), models=lambda: models, weights=weights)


def test_without_a_model_the_bench_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("GRICE_MODELS", str(tmp_path))
    rows = list(language_models.measure(bench_of(tmp_path)))
    assert [row.row for row in rows] == ["language model", "language model (large)"]
    assert all(row.estimate is None for row in rows)
    assert "grice models get model:large" in rows[1].why


def test_each_place_is_measured_for_each_model_and_left_out_with_the_reason(monkeypatch, tmp_path):
    def place(_, candidate):
        reference = candidate.bundle("graphs")
        yield from Place("stance", Scripted(), candidate, reference).rows(
            "share right", {candidate.row: mean([0.0, 1.0])}
        )

    monkeypatch.setattr(language_models, "PLACES", (place,))
    monkeypatch.setattr(language_models, "_missing", lambda *_: "")
    medium, large = language_models.measure(bench_of(tmp_path, tmp_path))
    assert medium.signature.startswith("bundle:graphs-medium@0")
    assert large.estimate is None
    assert "graphs-large is not at hand" in large.why
    made = tmp_path / "language_model_places" / "graphs-large"
    made.mkdir(parents=True)
    (made / "card.toml").write_text("")
    _, large = language_models.measure(bench_of(tmp_path, tmp_path))
    assert (large.row, large.measure) == ("language model (large)", "share right")
    assert large.signature.startswith(f"file:{made}@0")


def test_all_but_the_model_that_ships_read_a_part_of_the_items():
    assert (MEDIUM.on("stance"), LARGE.on("stance")) == ("stance", "stance, part")
    counts = [
        value
        for place in language_models.PLACES
        for value in vars(import_module(place.__module__)).values()
        if isinstance(value, dict) and set(value) == {"medium", "large"}
    ]
    assert counts
    assert all(sizes["large"] < sizes["medium"] for sizes in counts)


def figure(row, measure, value, low, high, kind="ours", on="stance", **more):
    return Figure(bench="language-models", table="", row=row, kind=kind, on=on,
                  measure=measure, value=value, low=low, high=high, n=20, **more)  # fmt: skip


def test_the_table_says_what_stands_in_a_place():
    figures = [
        figure(LANGUAGE_MODEL, "accuracy", 0.6, 0.5, 0.7),
        figure(SHIPS, "accuracy", 0.7, 0.6, 0.8),
        figure("majority", "accuracy", 0.5, 0.4, 0.6, "baseline"),
        figure("length", "accuracy", 0.55, 0.4, 0.6, "baseline"),
        figure(MEDIUM.gap, "difference of accuracy", -0.1, -0.15, -0.05),
    ]
    line = places_table(figures).splitlines()[-1]
    assert line == (
        "| stance | accuracy | medium | 0.600 [0.500, 0.700] | 0.700 [0.600, 0.800] | "
        "0.550 length | 20 | what ships (-0.100 [-0.150, -0.050]) |"
    )


def test_a_larger_model_stands_below_beside_what_ships_on_its_part():
    figures = [
        figure(LARGE.row, "accuracy", 0.8, 0.6, 0.9, on="stance, part"),
        figure(SHIPS, "accuracy", 0.6, 0.4, 0.8, on="stance, part"),
        figure(LARGE.gap, "difference of accuracy", 0.2, 0.1, 0.3, on="stance, part"),
        figure(LANGUAGE_MODEL, "accuracy", 0.6, 0.5, 0.7),
        figure(SHIPS, "accuracy", 0.7, 0.6, 0.8),
    ]
    medium, large = places_table(figures).splitlines()[-2:]
    assert medium.startswith("| stance | accuracy | medium | 0.600 [0.500, 0.700] | 0.700 ")
    assert large.startswith("| stance, part | accuracy | large | 0.800 [0.600, 0.900] | 0.600 ")
    assert "here the language model is better (+0.200 [+0.100, +0.300])" in large


def test_of_a_measure_where_lower_is_better_the_sign_turns():
    figures = [
        figure(LANGUAGE_MODEL, "ged", 0.6, 0.5, 0.7, lower=True),
        figure(SHIPS, "ged", 0.7, 0.6, 0.8, lower=True),
        figure("chain", "ged", 0.9, 0.8, 1.0, "baseline", lower=True),
        figure(MEDIUM.gap, "difference of ged", -0.1, -0.15, -0.05, lower=True),
    ]
    line = places_table(figures).splitlines()[-1]
    assert "ged (lower is better)" in line
    assert "here the language model is better" in line


def test_a_page_without_marks_is_refused():
    assert with_table(f"a\n{BEGIN}\nold\n{END}\nb", []).endswith("---|\n" + END + "\nb")
    with pytest.raises(InputError, match="which the page has not"):
        with_table("a", [])


def test_a_judgement_counts_for_the_text_that_was_read_alone():
    path = resources.files("grice_research") / "data" / "language_model_read.tsv"
    _, *rows = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    assert all(0 <= int(good) <= int(of) for _, _, _, good, of, _ in rows)
    task, model, name, good, of, text = rows[0]
    written = [(name, text), (name, f"{text}!")]
    assert judged_shares(task, model, written) == [int(good) / int(of)]
    assert judged_shares(task, "another", written) == []
