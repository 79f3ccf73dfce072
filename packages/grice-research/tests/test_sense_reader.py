"""The reader that the recipe of sense trains: trees of readings, and layers that are changed."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from grice.models.conversion.huggingface import read_folder
from grice_research.recipes.sense.pairs import Reading
from grice_research.recipes.sense.trees import LONGEST, tree_of

sys.path.insert(0, str(Path(__file__).parents[3] / "packages" / "grice" / "tests" / "models"))
import decoders

HISTORY = ("a bread", "bad bread")
READINGS = (
    Reading(HISTORY, "dab a bird"),
    Reading(HISTORY, "bread"),
    Reading((*HISTORY, "dab a bird", "red"), "bread"),
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return read_folder(decoders.write_folder(tmp_path_factory.mktemp("model") / "source"))


@pytest.fixture(scope="module")
def tokenizer(checkpoint):
    return Tokenizer.from_str(checkpoint.tokenizer)


def path_of(tree, reading):
    """Return which tokens of a tree a reading has."""
    return np.flatnonzero(tree.above[tree.replies[reading]][tree.nodes])


@pytest.mark.parametrize("number", range(len(READINGS)))
def test_a_tree_holds_each_reading_as_it_is_written(tokenizer, number):
    tree = tree_of(READINGS, tokenizer)
    alone = tree_of(READINGS[number : number + 1], tokenizer)
    path = path_of(tree, number)
    np.testing.assert_array_equal(tree.tokens[path], alone.tokens)
    np.testing.assert_array_equal(tree.positions[path], np.arange(len(alone.tokens)))
    written = "".join(tokenizer.id_to_token(token) for token in alone.tokens.tolist())
    turns = (*READINGS[number].history, READINGS[number].reply)
    expected = "".join(
        f"{'AB'[(len(turns) - 1 - place) % 2]}: {turn}\n" for place, turn in enumerate(turns)
    )
    assert written.replace("Ġ", " ").replace("Ċ", "\n") == expected


def test_what_readings_begin_with_alike_is_held_once(tokenizer):
    tree = tree_of(READINGS, tokenizer)
    apart = [len(tree_of([reading], tokenizer).tokens) for reading in READINGS]
    assert len(tree.tokens) < 0.6 * sum(apart)


def test_the_oldest_turns_of_a_long_reading_are_left_out(tokenizer):
    long = Reading(("red " * 60, "bird", "bread"), "a bird")
    short = Reading(long.history[1:], long.reply)
    assert len(tree_of([short], tokenizer).tokens) < LONGEST
    np.testing.assert_array_equal(
        tree_of([long], tokenizer).tokens, tree_of([short], tokenizer).tokens
    )


def test_layers_over_a_tree_give_the_states_of_each_reading(checkpoint, tokenizer):
    torch = pytest.importorskip("torch", reason="the recipe needs torch: pip install grice[train]")
    from grice_research.recipes.sense.decoder import Batch, Layers

    torch.manual_seed(0)
    layers = Layers(checkpoint, range(decoders.LAYERS), rank=2)
    for name, values in layers.named_parameters():
        torch.nn.init.normal_(values, std=0.2 if name.endswith("up") else 0.1)
    embedding = torch.from_numpy(checkpoint.tensor("model.embed_tokens.weight").copy())
    tree = tree_of(READINGS, tokenizer)
    batch = Batch([tree_of(READINGS[1:2], tokenizer), tree])
    with torch.no_grad():
        states = layers(embedding[batch.tokens], batch)[1].numpy()
    changed = dict(decoders.weights())
    for name, up, down in layers.adapter():
        changed[name] = changed[name] + up @ down
    for number in range(len(READINGS)):
        path = path_of(tree, number)
        expected = decoders.states_after(changed, tree.tokens[path])
        np.testing.assert_allclose(states[path], expected, atol=1e-4)
