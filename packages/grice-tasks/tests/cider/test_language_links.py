from __future__ import annotations

import json

import numpy as np

from grice.cli import main
from grice.knowledge.schema import load_schema
from grice_tasks.cider.language_model import LanguageLinkSettings, LikelihoodLinks, link_option
from tiny_decoder import write, write_place

NAMES = tuple(load_schema("cider").relations)
PARTS = ("model:medium", "bundle:triplets")
TALK = "A: I missed the bus this morning because it rained hard.\nB: Then you were late at work?\n"


class Tails:
    """Finds one tail likelier after a head under one relation."""

    def __init__(self, relation):
        self.gloss, self.asked = load_schema("cider")[relation].gloss, []

    def log_probabilities(self, prompts, texts):
        self.asked += prompts
        return [-1.0 if f'"rain" {self.gloss}' in prompt else -3.0 for prompt in prompts]


def judged(relation="Causes", odds=None, **settings):
    stated = LanguageLinkSettings(parts=PARTS, weight=1.0, bias=-0.5, **settings)
    model = Tails(relation)
    odds = np.zeros((2, len(NAMES)), np.float32) if odds is None else odds
    spans = [("rain", "late"), ("bus", "work")]
    return LikelihoodLinks(model, stated)(spans, odds, np.zeros_like(odds)), model


def test_the_relation_is_that_under_which_the_head_helps_most():
    (odds, likely), _ = judged(relations=len(NAMES))
    assert NAMES[int(likely[0].argmax())] == "Causes"
    assert odds[0, NAMES.index("Causes")] == 2.0 - 0.5
    assert odds[1].max() == -0.5


def test_only_the_surest_pairs_and_relations_are_judged():
    shipped = np.zeros((2, len(NAMES)), np.float32)
    shipped[1, :3] = 5.0, 4.0, -np.inf
    (odds, likely), model = judged(odds=shipped, pairs=1, relations=2)
    assert len(model.asked) == 4  # two relations, each with and without the head
    assert np.isneginf(likely[0]).all()
    assert np.isfinite(likely[1]).sum() == 1
    assert (odds[0] == shipped[0]).all()


def test_a_pair_that_no_relation_can_link_is_not_judged():
    (odds, likely), model = judged(odds=np.full((2, len(NAMES)), -np.inf, np.float32))
    assert not model.asked
    assert np.isneginf(odds).all()
    assert np.isneginf(likely).all()


def test_a_tail_is_compared_with_itself_after_the_relation_alone():
    option = link_option("rain ", "Causes", " late")
    assert option.text == '"late"'
    assert option.prompt.startswith('"rain" ')
    assert "rain" not in option.neutral


def test_the_command_takes_a_bundle_or_a_language_model_by_itself(tmp_path, capsys):
    base = write(tmp_path / "tiny")
    settings = f'parts = ["file:{base}", "bundle:triplets"]\nweight = 1.0\nbias = 1.0\n'
    place = write_place(tmp_path / "place", "language-model-links", base, settings)
    talk = tmp_path / "talk.txt"
    talk.write_text(TALK)
    for reference in (f"file:{place}", f"file:{base}"):
        assert main(["cider", str(talk), "--model", reference]) == 0
        links = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert links
        assert {link["relation"] for link in links} <= set(NAMES)
        assert all(link["head"] in TALK and link["tail"] in TALK for link in links)
