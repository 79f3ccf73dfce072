# %% [markdown]
# # Two versions of a bot
#
# The second version says one stock phrase in place of each third reply. Do the scores tell, and how
# surely? Differences are paired by reply, and whole conversations are drawn, since the replies of
# one conversation are not independent.

# %%
from pathlib import Path

import grice
from grice.stats import compare_systems

root = next(
    folder for folder in (Path(), *Path().resolve().parents) if (folder / "examples").is_dir()
)


def relevance(file):
    talks = grice.read(root / "examples" / file)
    scores = grice.score(talks, "relevance")
    return {
        (score.conversation, score.turn): score.value for score in scores if score.status == "ok"
    }


before, after = relevance("convai.jsonl"), relevance("convai-next.jsonl")
both = sorted(before.keys() & after.keys())
print(len(both), "replies scored in both")

# %%
ranking = compare_systems(
    {"before": [before[key] for key in both], "after": [after[key] for key in both]},
    groups=[conversation for conversation, _ in both],
)
for comparison in ranking.comparisons:
    difference = comparison.difference
    print(f"{comparison.first} - {comparison.second}: {difference.value:+.3f}")
    print(f"[{difference.low:+.3f}, {difference.high:+.3f}]  {comparison.verdict}")

# %% [markdown]
# The same from the command line, with the replies that changed most: `grice compare`.
