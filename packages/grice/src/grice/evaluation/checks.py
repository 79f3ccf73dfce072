"""Check conversations by rules, also by those that read scores of the models of a preset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from grice.data import Conversation
from grice.detectors import ALL
from grice.detectors.check import Check, Checker, read_baseline
from grice.detectors.rules import Rule, named, selected
from grice.detectors.scored import SCORED_RULES
from grice.errors import InputError, RecordError
from grice.readers import read
from grice.scoring.api import Source, conversations_of

Found = Iterable[Conversation | RecordError]


def check(
    *sources: Source,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_confidence: float | None = None,
    models: str | None = None,
    speakers: Collection[str] = (),
    format: str | None = None,  # noqa: A002 - the reader's name for it
    columns: Mapping[str, str] | None = None,
    baseline: str | Path | Check | None = None,
) -> Check:
    """Return the findings in files of conversations, or in conversations.

    Args:
        sources: Paths of files in any known format, or conversations as :func:`grice.score` takes
            them.
        select: Codes, beginnings of codes or names of the rules to run; ``all`` is every rule.
        ignore: The same of rules to leave out.
        min_confidence: Least measured precision of a rule, instead of that of the default rules.
        models: Preset of models, ``small``, ``medium``, ``large`` or one of your own: also offer
            the rules that read scores, ``D311`` to ``D316``. The models are loaded if one runs.
        speakers: Check only turns of these speakers or roles; ``all`` is every speaker.
        format: As of :func:`grice.read`.
        columns: As of :func:`grice.read`.
        baseline: An earlier result, or its JSON file; only new findings are returned.

    Raises:
        InputError: For an input that cannot be read, or a rule or preset that does not exist.
        ModelFolderError: For a model of the preset that is missing or changed.

    >>> import grice
    >>> talk = ["Where is my parcel?", "Dear {{name}}, it is on its way."]
    >>> [(finding.code, finding.quotes) for finding in grice.check(talk).findings]
    [('T105', ('{{name}}',))]
    >>> grice.check({"messages": [{"role": "assistant", "content": "Dear {{name}},"}]})
    1 finding in 1 reply of 1 conversation
    conversation  turn  code  rule              severity  message
    talk:1        0     T105  template-left-in  error     a template field is not filled in
    """
    old = read_baseline(baseline) if isinstance(baseline, (str, Path)) else baseline
    rules = rules_for(models, select, ignore, min_confidence)
    with ExitStack() as stack:
        if models is None or not any(rule.reads_scores for rule in rules):
            checker = Checker(rules, speakers=speakers, baseline=old)
            for records, name in _inputs(sources, format, columns, stack):
                for record in records:
                    checker.add(record, name)
            return checker.check()
        from grice.evaluation.ranking import Ranker, load_parts  # which load numpy
        from grice.scoring.run import Sink, score_windows

        ranker = Ranker(rules=rules, speakers=speakers, baseline=old)
        scorer = stack.enter_context(load_parts(models, speakers=speakers)).scorer
        for records, name in _inputs(sources, format, columns, stack):
            for record, scores in score_windows(records, scorer, Sink("")):
                ranker.add(record, scores, name)
        return ranker.check()


def rules_for(
    models: str | None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_confidence: float | None = None,
) -> tuple[Rule, ...]:
    """Return the rules to run; those that read scores are offered with the models of a preset.

    Raises:
        InputError: For a code of no rule, of one that reads scores if there are no models, for
            models that no rule needs, or if no rule is left.
    """
    if models:
        from grice.evaluation.ranking import scored_rules

        rules = selected((*ALL, *scored_rules(models)), select, ignore, min_confidence)
        if select and not any(rule.reads_scores for rule in rules):
            raise InputError(
                f"models {models}: no selected rule reads scores: leave the models out, select "
                "D311 to D316, or order the replies by --rank"
            )
        return rules
    for name in select:
        if not named(ALL, name) and named(SCORED_RULES, name):
            raise InputError(
                f"{name} reads scores: give models, small, medium or large; the order of --rank "
                "has its findings without it"
            )
    return selected(ALL, select, ignore, min_confidence)


def _inputs(
    sources: Iterable[Source],
    form: str | None,
    columns: Mapping[str, str] | None,
    stack: ExitStack,
) -> Iterator[tuple[Found, str]]:
    """Yield the records of each source with the name of its file."""
    for source in sources:
        if isinstance(source, (str, Path)):
            reading = stack.enter_context(read(source, format=form, columns=columns))
            yield reading, reading.name
        else:
            yield conversations_of(source, columns), ""
