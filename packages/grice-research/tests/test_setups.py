from random import Random

import numpy as np

from grice_research.benches.cider_filtering import Asked, Spans, filter_options
from grice_research.training.topics import TOPICS, topics


def test_filtering_ends_with_options_like_the_right_one():
    draw, far = Random(0), np.zeros(400, np.int64)
    vectors = np.zeros((400, 8), np.float32)  # those of the first half look right
    vectors[:200, 0], vectors[200:, 1] = 1, 1
    spans = Spans(vectors + np.random.default_rng(0).normal(0, 0.1, vectors.shape), far, far)
    asked = [Asked(0, 0, [draw.randrange(200), *draw.sample(range(200, 400), 3)],
                   draw.sample(range(200), 9), "", i % 5) for i in range(150)]  # fmt: skip
    filtered, losses = filter_options(spans, asked, np.random.default_rng(0))
    assert [each.options[0] for each in filtered] == [each.options[0] for each in asked]
    assert np.mean([place < 200 for each in filtered for place in each.options[1:]]) > 0.9
    assert losses[0] < 0.5 < 1.3 < losses[-1] < 1.5


def test_beliefs_of_like_vectors_are_on_one_topic():
    names, rows = (
        [f"belief {i}" for i in range(180)],
        np.eye(60, dtype=np.float32)[np.arange(180) % 60],
    )
    topic = topics(names, list(rows))
    assert [topic[name] for name in names[:60]] == [topic[name] for name in names[60:120]]
    assert 40 < len(set(topic.values())) <= TOPICS
