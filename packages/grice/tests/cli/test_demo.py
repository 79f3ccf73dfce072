"""The demo: findings in a log that ships, a report, and what to type next."""

import webbrowser

import pytest

import grice
from grice.cli import main


def test_the_demo_shows_findings_and_a_report_that_opens_on_request(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["demo", "--open"]) == 0
    page, shown = tmp_path / "grice-demo.html", capsys.readouterr().out.splitlines()
    assert opened == [page.as_uri()]
    assert "warranty" in page.read_text("utf-8")
    for words in ("{{label_text}}", "Penguins", str(page), "grice check LOG"):
        assert [line for line in shown if words in line], words
    assert all(len(line) <= 80 for line in shown if str(page) not in line)


@pytest.mark.parametrize("options", [["-o", "no/such/folder.html"], []])
def test_a_demo_that_cannot_be_shown_says_why(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grice, "__file__", str(tmp_path) if not options else grice.__file__)
    assert main(["demo", *options]) == 2
    assert ("folder.html" if options else "is missing: install") in capsys.readouterr().err
