"""``grice steer``: a language model's replies as they are and guided, with scores.

Each line of standard input is answered; with ``--candidates N`` a model writes N replies for each
context of files, for ``grice rerank``.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from grice.cli.derive import names
from grice.cli.options import check_options, conversations, loader, opened_models, usable
from grice.cli.output import DONE, PARTIAL, emit, write_rows
from grice.errors import InputError, RecordError
from grice.tables import Lines, Table, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grice.cli.derive import Count, Input, OutputPath, Scoring
    from grice.tables import View
    from grice_tasks.steering.decoding import SteerableLM
    from grice_tasks.steering.dialogue import Answer

BASE = "model:medium"


def run(
    files: Sequence[str] = (),
    *,
    model: str = BASE,
    guide: Path | None = None,
    strength: float = 1.0,
    max_tokens: Count = 48,
    candidates: Count | None = None,
    reading: Input,
    output: OutputPath | None = None,
    scoring: Scoring,
    json: bool,
) -> int:
    """Chat with a language model, with and without guidance, with scores.

    Args:
        files (FILE): contexts to be answered, for --candidates
        guide (DIR): steer the model by a guide that grice train guide made
        strength (S): exponent of the guide's estimate; 0 is the base model
        max_tokens (N): longest reply
        candidates (N): write N replies for each context of FILE, for grice rerank
        output (FILE.jsonl): the contexts with candidates, for --candidates
    """
    from grice_tasks.steering.dialogue import Dialogue, with_candidates
    from grice_tasks.steering.guide import check_strength, load_guide

    if bool(files) != (candidates is not None):
        raise InputError("files of contexts and --candidates N need each other; give both")
    metrics = names(scoring.metrics)
    check_options(scoring, metrics)
    with ExitStack() as stack:
        # A name alone is a model that was fetched.
        base = open_base(scoring, model if ":" in model else f"model:{model}", stack)
        steering = None
        if guide is not None:
            check_strength(strength)
            steering = load_guide(guide)
            steering.check(base)
        if candidates is not None:
            records = conversations(files, reading)
            found = with_candidates(
                records, base, steering, strength, count=candidates, max_tokens=max_tokens
            )
            broken: list[RecordError] = []
            written = list(usable(found, broken))
            rows = ({"id": item.id, "turns": item.turns, **item.meta} for item in written)
            write_rows(rows, output)
            return PARTIAL if broken else DONE
        scorer = stack.enter_context(loader(scoring)(metrics)).scorer
        dialogue = Dialogue(base, scorer, steering, strength=strength, max_tokens=max_tokens)
        for line in _lines():
            answer = dialogue.answer(line)
            emit([answer], _view(answer), as_json=json)
            sys.stdout.flush()
    return DONE


def open_base(scoring: Scoring, reference: str, stack: ExitStack) -> SteerableLM:
    """Return a language model that can be steered, which is closed by the stack."""
    from grice.models.causal import EmbeddedCausalLM
    from grice_tasks.steering.decoding import SteerableLM

    models = opened_models(scoring)
    stack.callback(models.close)
    return SteerableLM(models.load(reference, EmbeddedCausalLM))


def _lines() -> Iterator[str]:
    """Yield the lines that hold something; on a terminal each is asked for."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            yield line.strip()
    sys.stderr.write("\n" if prompt else "")


def _view(answer: Answer) -> View:
    replies = [answer.base] if answer.guided is None else [answer.base, answer.guided]
    titles = ("base", "guided")[: len(replies)]
    values = [{score.metric: score.value for score in reply.scores} for reply in replies]
    yield Lines([f"> {answer.message}"], style="bold")
    yield Table(
        ("", *titles),
        [
            ("reply", *(reply.text or "(nothing)" for reply in replies)),
            *((name, *(number(each.get(name)) for each in values)) for name in values[0]),
        ],
        words=len(replies) + 1,
    )
