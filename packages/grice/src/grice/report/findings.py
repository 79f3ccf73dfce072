"""Findings for other programs: GitHub annotations, SARIF, JUnit XML and Markdown.

All texts of logs are escaped by the rules of each form, and unprintable characters are replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote

from grice.data import Finding, to_json
from grice.errors import excerpt
from grice.text.markup import visible

if TYPE_CHECKING:
    from grice.detectors.check import Check, RuleCount

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST, PLACES = 400, 10  # characters of one line, and places of the same reply in it
COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
"""Commands of GitHub's workflows by severity."""


def place(finding: Finding) -> str:
    """Return ``file:conversation turn``."""
    file = f"{finding.file}:" if finding.file else ""
    return f"{file}{finding.conversation} {finding.turn}"


def explained(finding: Finding) -> str:
    """Return the message with the quoted words, each once, those of other turns by their number."""
    quoted = zip(finding.spans, finding.quotes, strict=True)
    parts = []
    seen = finding.message
    for turn, spans in groupby(quoted, key=lambda pair: pair[0].turn):
        fresh = [words for _, words in spans if f'"{words}"' not in seen]
        if fresh:
            words = ", ".join(f'"{words}"' for words in fresh)
            parts.append(words if turn == finding.turn else f"turn {turn}: {words}")
            seen += words
    shown = visible(": ".join([finding.message, *(["; ".join(parts)] if parts else [])]))
    return excerpt(shown, LONGEST)


def line(finding: Finding) -> str:
    """Return a finding as one line of text."""
    return f"{visible(place(finding))} {finding.code} {explained(finding)}"


RULE_COLUMNS = ("rule", "", "findings", "conversations", "measured precision")


def rule_rows(result: Check) -> list[tuple[str, ...]]:
    """Return a row for each rule that found something, under :data:`RULE_COLUMNS`."""
    return [
        (rule.code, rule.title, f"{rule.findings:,}", f"{rule.conversations:,}", precision(rule))
        for rule in result.rules
        if rule.findings
    ]


def precision(rule: RuleCount) -> str:
    """Return the measured precision of a rule with its 95 % interval."""
    if rule.confidence is None:
        return "not measured"
    return f"{rule.confidence:.2f} [{rule.low:.2f}, {rule.high:.2f}]"


def github(result: Check) -> str:
    """Return workflow commands of GitHub, which annotate the files."""
    return "".join(
        f"::{COMMANDS[each.severity]} "
        + (f"file={_property(each.file)}," if each.file else "")
        + f"title={_property(f'{each.code} {each.rule}')}"
        + f"::{_data(f'{each.conversation}, turn {each.turn}: {explained(each)}')}\n"
        for each in result.findings
    )


def _data(text: str) -> str:
    escapes = {"%": "%25", "\r": "%0D", "\n": "%0A"}
    return "".join(escapes.get(character, character) for character in visible(text))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(result: Check) -> str:
    """Return a log of SARIF 2.1.0 with one run; a conversation is a logical location."""
    index = {rule.code: place for place, rule in enumerate(result.rules)}
    driver = {
        "name": "grice",
        "version": result.grice,
        "rules": [
            {
                "id": rule.code,
                "name": "".join(word.capitalize() for word in rule.rule.split("-")),
                "shortDescription": {"text": rule.title},
                **(
                    {}
                    if rule.confidence is None
                    else {"properties": {"precision": rule.confidence}}
                ),
            }
            for rule in result.rules
        ],
    }
    results = [
        {
            "ruleId": each.code,
            "ruleIndex": index[each.code],
            "level": each.severity,
            "message": {"text": explained(each)},
            "locations": [_location(each)],
            "partialFingerprints": {"grice/v1": f"{each.conversation}/{each.turn}/{each.code}"},
        }
        for each in result.findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=True) + "\n"


def _location(finding: Finding) -> dict[str, object]:
    name = f"{visible(finding.conversation)} turn {finding.turn}"
    location: dict[str, object] = {"logicalLocations": [{"fullyQualifiedName": name}]}
    if finding.file and finding.file != "-":
        artifact = {"uri": quote(finding.file.replace("\\", "/"), safe="/:@")}
        location["physicalLocation"] = {"artifactLocation": artifact}
    return location


def junit(result: Check) -> str:
    """Return a test case for each rule that ran; its findings are one failure."""
    from grice.report.html import rendered

    cases = [
        (rule, [line(each) for each in result.findings if each.code == rule.code])
        for rule in result.rules
    ]
    return rendered("findings.xml.j2", cases=cases, failing=len(result.counts()))


def also(places: Iterable[str]) -> str:
    """Return the first of the other places of a reply, and how many more there are."""
    first = list(places)
    more = f" and {len(first) - PLACES:,} more" if len(first) > PLACES else ""
    return f"also {', '.join(map(visible, first[:PLACES]))}{more}"


def markdown(result: Check, same: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the rules and findings as two Markdown tables.

    With ``same``, the findings at its keys are listed, with the places of the same reply.
    """
    from grice.report.html import rendered

    listed = []
    for each in result.findings:
        at = place(each)
        if same is None or at in same:
            others = f" ({len(same[at]) + 1} times, {also(same[at])})" if same and same[at] else ""
            listed.append((f"{at}{others}", each.code, explained(each)))
    rules = [rule for rule in result.rules if rule.findings]
    return rendered("findings.md.j2", result=result, rules=rules, listed=listed)


FORMS: dict[str, Callable[[Check], str]] = {
    "text": lambda result: "".join(f"{line(finding)}\n" for finding in result.findings),
    "json": lambda result: to_json(result) + "\n",
    "github": github,
    "sarif": sarif,
    "junit": junit,
    "markdown": markdown,
}
"""Functions that write a result, by the name of the form."""
