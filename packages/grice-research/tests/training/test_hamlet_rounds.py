"""Rounds of HAMLET: pairs are collected, a model is trained on them, and the next pairs fool it."""

import json

import tiny_published as tiny
from grice.cli import main
from grice_annotate.begin import stance_model, with_model
from studio import Studio, command, studio_of

tiny.torch_and_transformers()

SAID = {"we need it so yes": "support", "we need it so no": "counter"}
YES, NO = SAID


def test_pairs_of_a_round_train_the_model_that_the_next_tries_to_fool(tmp_path):
    def collected(name, **topic):
        """Return the file of the pairs that people write of topics, and check."""
        topics = [{"id": f"t{i}", "topic": f"thing {i}", **topic} for i in range(32)]
        database, pairs = tmp_path / f"{name}.db", tmp_path / f"{name}.pairs.jsonl"

        def choose(_, task):
            if task["stage"] == "check":
                return {"stance": SAID[task["content"]["argument"]]}
            belief = f"{task['content']['topic']} is good"
            return {"belief": belief, "argument": NO, "support": YES, "counter": NO}

        model = models[-1] if models else None
        opened = studio_of(
            database, "stance", topics, ("ann", "bo"), judges=1, tries=3, model=model
        )
        with opened as studio, with_model(studio.study) as study:
            Studio(study).all_answer(choose)
        assert command("export", "--db", database, "-o", pairs) == 0
        return pairs

    def trained(name, *files):
        """Return the reference of a model that was trained on files of pairs."""
        texts = [path.read_text("utf-8") for path in files]
        base, out = tiny.write_encoder(tmp_path / name, texts, "Roberta"), tmp_path / f"{name}.out"
        values = {"epochs": 12, "batch": 8, "learning_rate": 0.005, "warmup_steps": 0}
        words = tiny.command("explagraphs-stance", files[0], base, out, **values)
        assert main([*words[:3], *map(str, files[1:]), *words[3:]]) == 0
        return f"file:{out}"

    models = []
    before = collected("before")
    models.append(trained("first", before))
    round1 = collected("round1", stance="counter")
    rows = [json.loads(line) for line in round1.read_text("utf-8").splitlines()]
    assert {(row["fooled"], len(row["tries"])) for row in rows} == {(False, 3)}
    with stance_model(trained("second", before, round1)) as predict:
        assert [predict("thing 3 is good", argument) for argument in SAID] == [*SAID.values()]
