import gzip
import json
from random import Random

import numpy as np

from grice_research.benches import deam_setups, ruber_networks
from grice_research.benches.cider_filtering import Asked, Spans, filter_options
from grice_research.training.topics import TOPICS, topics


def written(folder, file, talks):
    (folder / file).parent.mkdir(exist_ok=True)
    rows = [{"id": str(i), "turns": [{"speaker": "AB"[k % 2], "text": text}
                                     for k, text in enumerate(texts)], "meta": {}}
            for i, texts in enumerate(talks)]  # fmt: skip
    (folder / file).write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))


def test_conversations_are_used_once_and_none_with_a_rated_text(tmp_path):
    talks = [[f"turn {k}" for k in range(n)] for n in (4, 6, 30, 6)]
    written(tmp_path, "dailydialog/train.jsonl.gz", talks)
    read = deam_setups.read_talks(tmp_path, deam_setups.DAILY)
    assert [len(sample.turns) for sample in read] == [6, deam_setups.MOST]
    pairs = ruber_networks.read_pairs(tmp_path, "train", {"Turn 2!"})
    assert [pair.query[-1] for pair in pairs] == ["0", "4", *map(str, range(6, 30, 2))]


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
    names = [f"belief {i}" for i in range(180)]
    topic = topics(names, list(np.eye(60, dtype=np.float32)[np.arange(180) % 60]))
    assert [topic[name] for name in names[:60]] == [topic[name] for name in names[60:120]]
    assert 40 < len(set(topic.values())) <= TOPICS
