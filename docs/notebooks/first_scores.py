# %% [markdown]
# # First scores
#
# A chat goes in, numbers with their evidence come out. Nothing is fetched: the models are part of
# the package.

# %%
import grice

talk = [
    "My kettle leaks at the lid. What can I do?",
    "Turn it off and send us a photo of the lid, please; we replace it free of charge.",
    "Thanks! How long will that take?",
    "I like kettles. Kettles are nice.",
]
scores = list(grice.score(talk, "relevance", "engagement"))
for score in scores:
    print(f"{score.metric:10}  turn {score.turn}  {score.value:.2f}  {score.reason}")

# %% [markdown]
# Every score says why. The evidence of relevance is what each earlier turn does to it: the score
# with the turn, minus the score without it.

# %%
last = [score for score in scores if score.metric == "relevance"][-1]
for evidence in last.evidence:
    print(evidence)

# %% [markdown]
# And every score says how it was made. Scores may be compared where their signatures are equal.

# %%
print(last.signature)
