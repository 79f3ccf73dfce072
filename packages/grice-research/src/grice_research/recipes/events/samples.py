"""Choose replies as ACCENT's authors chose the samples of DECO.

    python -m grice_research.recipes.events.samples FILE... > samples.jsonl

Kept are replies of five words or more with a sentence that asks nothing and is no mere courtesy,
each behind at most four turns; ``grice annotate tuples samples.jsonl`` takes them. The authors
judged courtesy by hand; here a sentence is one if nothing is left without set phrases. Counts with
their intervals go to standard error.
"""

from __future__ import annotations

import argparse
import re
import sys

from grice.data import Conversation, json_line
from grice.readers import read, records_of
from grice.scoring.loaded import responses
from grice.stats.estimate import wilson_interval
from grice.text.content import content_words, sentences
from grice_research.recipes.events.label import COURTESY, EDGE

FEWEST, TURNS = 5, 4
PHRASES = sorted((re.sub(r" (?='|n't)", "", phrase) for phrase in COURTESY), key=len, reverse=True)
POLITE = re.compile(rf"\b(?:{'|'.join(map(re.escape, PHRASES))})\b", re.IGNORECASE)


def is_sample(reply: str) -> bool:
    """Return whether a reply passes the filters."""
    told = [each.text for each in sentences(reply) if not each.text.rstrip().endswith("?")]
    left = (word.text.lower() for text in told for word in content_words(POLITE.sub(" ", text)))
    return len(reply.split()) >= FEWEST and any(word not in EDGE for word in left)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="conversations of any format")
    passed: list[bool] = []
    for talk in records_of([read(file) for file in parser.parse_args().files]):
        for reply in responses(talk) if isinstance(talk, Conversation) else ():
            passed.append(is_sample(reply.text))
            if passed[-1]:
                turns = (*reply.history[-TURNS:], talk.turns[reply.turn])
                made = Conversation(f"{talk.id}:{reply.turn}", turns, targets=(len(turns) - 1,))
                sys.stdout.buffer.write(json_line(made) + b"\n")
    n = max(1, len(passed))
    low, high = wilson_interval(sum(passed) / n, n)
    print(f"{sum(passed)} of {len(passed)} replies kept [{low:.3f}, {high:.3f}]", file=sys.stderr)


if __name__ == "__main__":
    main()
