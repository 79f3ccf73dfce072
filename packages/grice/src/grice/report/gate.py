"""The outcome of a gate as JUnit XML and as Markdown, for whatever runs the build."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from grice.evaluation.gate import Check, GateResult


def junit(result: GateResult, source: str) -> str:
    """Return the checks as test cases of one suite; an uncertain one that counts is a failure."""
    failing = [check for check in result.checks if not _is_fine(check, result)]
    suite = ElementTree.Element(
        "testsuite",
        name="grice gate",
        tests=str(len(result.checks)),
        failures=str(len(failing)),
        errors="0",
    )
    for check in result.checks:
        name = _visible(f"{check.metric}: {check.what} against {check.bar:g}")
        case = ElementTree.SubElement(suite, "testcase", classname="grice.gate", name=name)
        if check in failing:
            problem = ElementTree.SubElement(
                case, "failure", type=check.verdict, message=_visible(check.says)
            )
            problem.text = _visible(f"{source}: {check.metric}: {check.says}")
        else:
            ElementTree.SubElement(case, "system-out").text = _visible(check.says)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def markdown(result: GateResult, source: str) -> str:
    """Return the checks as a Markdown table under a line that says how it came out."""
    outcome = "passed" if result.passed else "failed"
    lines = [
        f"**grice gate: {outcome}** ({_cell(source)})",
        "",
        "| metric | check | verdict |",
        "|---|---|---|",
    ]
    for check in result.checks:
        allowed = check.verdict == "uncertain" and result.allow_uncertain
        verdict = "uncertain, allowed" if allowed else check.verdict
        lines.append(f"| {_cell(check.metric)} | {_cell(check.says)} | {verdict} |")
    return "\n".join(lines) + "\n"


def _is_fine(check: Check, result: GateResult) -> bool:
    return check.verdict == "passed" or (check.verdict == "uncertain" and result.allow_uncertain)


def _visible(text: str) -> str:
    """Return the text without characters that XML cannot hold."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cell(text: str) -> str:
    special = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|<>"})
    return _visible(text).translate(special)
