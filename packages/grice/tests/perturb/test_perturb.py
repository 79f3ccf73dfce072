import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.cli import main
from grice.data import Conversation, Turn
from grice.perturb import Material, Perturbed, find_perturbations, mixture, perturb, perturbation
from grice.perturb.wording import negated

TALK = (
    "Hi! Do you have any pets?",
    "Yes, I have a small dog. He likes long walks in the park.",
    "That sounds lovely. My sister adopted a cat last year.",
    "I am happy to hear that. Does she feed it every morning?",
    "She does. The cat sleeps on the old sofa all day.",
    "My dog is lazy too. He never wakes up before noon.",
    "Dogs are funny. I want to visit the animal shelter on Saturday.",
    "We should go together. I know a friendly vet there.",
)
OTHER = ("The train was late again.", "I took the bus instead.", "It cost me four euros.")


def conversation(texts=TALK, name="c"):
    return Conversation(name, tuple(Turn("AB"[i % 2], text) for i, text in enumerate(texts)))


MATERIAL = Material([conversation(), conversation(OTHER * 3, "other")])
KINDS = [k.name for k in find_perturbations().values() if k.level in ("text", "semantic")]
ALL = [*KINDS, "deam", "mesgar", "vakulenko", "dynaeval"]


def texts(dialogue):
    return [turn.text for turn in dialogue.turns]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seed", range(5))
def test_what_is_changed_is_noted_and_nothing_else_is_changed(kind, seed):
    whole = conversation()
    perturbed = perturb(whole, kind, seed=seed, material=MATERIAL)
    assert perturbed is not None
    noted = {place for change in perturbed.changes for place in change.turns}
    pairs = zip(whole.turns, perturbed.conversation.turns, strict=True)
    differing = {place for place, (old, new) in enumerate(pairs) if old != new}
    assert differing
    assert differing <= noted
    for change in perturbed.changes:
        assert change.what
        assert change.kind in KINDS


@pytest.mark.parametrize("kind", ALL)
def test_the_seed_alone_decides(kind):
    first, again = (perturb(conversation(), kind, seed=3, material=MATERIAL) for _ in range(2))
    assert first == again
    many = {str(perturb(conversation(), kind, seed=seed, material=MATERIAL)) for seed in range(9)}
    assert len(many) > 1 or kind == "half-swap"


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("turns", [(), ("",), ("Hm.",), ("ok", "ok"), ("…", "!!")])
def test_nothing_to_break_gives_nothing_rather_than_the_same(kind, turns):
    short = conversation(turns)
    perturbed = perturb(short, kind, material=Material([short]))
    assert perturbed is None or perturbed.conversation.turns != short.turns


@pytest.mark.parametrize("kind", ALL)
@given(turns=st.lists(st.text(max_size=40), max_size=6), seed=st.integers(0, 99))
def test_any_text_is_broken_or_left_out(kind, turns, seed):
    whole = conversation(turns)
    material = Material([whole, conversation(OTHER, "o")])
    perturbed = perturb(whole, kind, seed=seed, material=material)
    if perturbed is not None:
        assert perturbed.conversation.turns != whole.turns
        assert len(perturbed.conversation.turns) == len(whole.turns)


@pytest.mark.parametrize("kind", ["turn-order", "speaker-order", "turn-insertion", "half-swap"])
def test_orders_keep_all_texts_and_who_speaks_when(kind):
    perturbed = perturb(conversation(), kind, material=MATERIAL)
    assert sorted(texts(perturbed.conversation)) == sorted(TALK)
    assert [turn.speaker for turn in perturbed.conversation.turns] == list("ABABABAB")
    places = {place % 2 for change in perturbed.changes for place in change.turns}
    assert kind != "speaker-order" or len(places) == 1


@pytest.mark.parametrize(("text", "opposite"), [
    ("I walked home.", "I didn't walk home."), ("She likes it.", "She doesn't like it."),
    ("I don't know.", "I do know."), ("I'm from Oslo.", "I'm not from Oslo."),
    ("They'll come tomorrow.", "They won't come tomorrow."),
    ("The movie made me cry.", "The movie didn't make me cry."),
    ("I have two cats.", "I don't have two cats."), ("I'd love to go.", "I wouldn't love to go."),
    ("I never eat meat.", "I always eat meat."), ("Do you ski?", None), ("Fine.", None),
])  # fmt: skip
def test_statements_are_turned_round(text, opposite):
    assert negated(text) == opposite


def test_a_contradiction_is_added_to_a_later_turn_of_the_same_speaker():
    for seed in range(10):
        perturbed = perturb(conversation(), "contradiction", seed=seed)
        [change] = perturbed.changes
        [place] = change.turns
        assert perturbed.conversation.turns[place].text.startswith(TALK[place].rstrip("."))
        earlier = int(change.what.rsplit(" ", 1)[1])
        assert earlier < place
        assert earlier % 2 == place % 2


def first_turns(kind, seeds, text):
    """Return the first turns of all variants of a conversation."""
    whole = conversation((text, "Me too."))
    return {perturb(whole, kind, seed=seed).conversation.turns[0].text for seed in range(seeds)}


def test_verbs_agree_with_whom_a_pronoun_now_points_to():
    variants = first_turns("coreference", 40, "He is late and he doesn't call.")
    assert "They are late and they don't call." in variants
    assert "I am late and I don't call." in variants
    assert not any("They is" in text or "she don't" in text for text in variants)


def test_irrelevant_words_come_from_other_turns_and_keep_their_form():
    turns = ("The cats were sleeping.", "My neighbours washed the windows.")
    variants = [perturb(conversation(turns), "irrelevancy", seed=seed) for seed in range(20)]
    changed = {change.what for variant in variants if variant for change in variant.changes}
    assert changed & {"cats to neighbours", "cats to windows"}
    assert "windows to cats" in changed


def test_engagement_goes_with_the_question():
    assert "I like tea." in first_turns("decreased-engagement", 9, "I like tea. What about you?")


def test_a_mixture_of_ones_own():
    own = mixture("own", 2, "me", "turn-order contradiction")
    kinds = [
        {change.kind for change in perturb(conversation(), own, seed=seed).changes}
        for seed in range(9)
    ]
    assert {"turn-order", "contradiction"} in kinds
    assert {"turn-order"} in kinds


def test_a_perturbation_of_ones_own():
    @perturbation("shout", "text", "me")
    def shout(whole, draw, material):
        """Shout."""
        assert isinstance(draw, Random)
        return Perturbed(Conversation(whole.id, tuple(Turn("A", "HI") for _ in whole.turns)), ())

    assert texts(perturb(conversation(), shout).conversation) == ["HI"] * 8
    assert shout.summary == "Shout."


def test_the_command_writes_broken_conversations_that_can_be_read_again(tmp_path, capsys):
    file, out = tmp_path / "chat.txt", tmp_path / "out.jsonl"
    file.write_text("".join(f"{'AB'[i % 2]}: {text}\n" for i, text in enumerate(TALK)))
    arguments = ["perturb", str(file), "--kind", "contradiction", "--kind", "section-replacement"]
    assert main([*arguments, "-o", str(out)]) == 0
    messages = capsys.readouterr().err
    assert "contradiction: 1 of 1" in messages
    assert "section-replacement: 0 of 1" in messages
    [line] = out.read_text().splitlines()
    meta = json.loads(line)["meta"]
    assert meta["perturbation"] == "contradiction"
    assert meta["changes"][0]["turns"]
    assert (main(["perturb", str(out), "--kind", "turn-order"]), main(["perturb"])) == (0, 0)
    assert "decreased-engagement" in capsys.readouterr().out
    assert main(["perturb", str(file), "--kind", "contradicton"]) == 2
    assert "did you mean 'contradiction'" in capsys.readouterr().err
