# %% [markdown]
# # Trust a metric
#
# How far may a number be trusted on *your* chats? Ask it of fifty ratings. The examples hold chats
# of people with bots in which people rated every message, good (1) or bad (0).

# %%
import json
from pathlib import Path

import grice
from grice.stats import correlation, prediction_powered_mean

root = next(
    folder for folder in (Path(), *Path().resolve().parents) if (folder / "examples").is_dir()
)


def ratings(file):
    lines = (root / "examples" / file).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {(row["conversation"], row["turn"]): row["rating"] for row in rows}


few, everyone = ratings("convai-50-ratings.jsonl"), ratings("convai-ratings.jsonl")
talks = list(grice.read(root / "examples" / "convai.jsonl"))
scores = {}
for score in grice.score(talks, "relevance", "log_length"):
    if score.status == "ok":
        scores.setdefault(score.metric, {})[score.conversation, score.turn] = score.value

# %% [markdown]
# A metric is worth what it adds to a trivial one, here the length of the reply.

# %%
for metric, values in scores.items():
    rated = sorted(values.keys() & everyone.keys())
    result = correlation(
        [values[key] for key in rated],
        [everyone[key] for key in rated],
        groups=[conversation for conversation, _ in rated],
    )
    print(f"{metric:10}  {result.value:+.2f} [{result.low:+.2f}, {result.high:+.2f}]  n {result.n}")

# %% [markdown]
# Fifty ratings and the scores of all replies give the mean rating of all. Whatever the metric is
# worth, the interval is honest: a poor metric is used little.

# %%
values = scores["relevance"]
labelled = sorted(values.keys() & few.keys())
others = sorted(values.keys() - few.keys())
powered = prediction_powered_mean(
    [few[key] for key in labelled],
    [values[key] for key in labelled],
    [values[key] for key in others],
    bounds=(0, 1),
)
print(powered.mean)
print("all ratings:", sum(everyone.values()) / len(everyone))
