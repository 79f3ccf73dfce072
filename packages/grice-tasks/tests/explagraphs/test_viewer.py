from __future__ import annotations

from html.parser import HTMLParser

from grice.cli import main
from grice_tasks.explagraphs.drawing import Shown, graph_page

GRAPH = "(zoos; is a; place)(place; causes; <harm>)"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.elements = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))


def test_a_page_shows_every_graph_and_loads_nothing():
    shown = [Shown(f"g{i}", "Zoos <b>", "&", "support", GRAPH) for i in range(3)]
    page = graph_page(shown)
    tags = Tags()
    tags.feed(page)
    assert sum(tag == "section" for tag, _ in tags.elements) == 3
    nodes = [attrs["data-node"] for _, attrs in tags.elements if attrs.get("class") == "node"]
    links = [attrs["data-ends"] for _, attrs in tags.elements if attrs.get("class") == "link"]
    assert nodes == ["0", "1", "2"] * 3
    assert links == ["0 1", "1 2"] * 3
    assert not any({"src", "href"} & attrs.keys() for _, attrs in tags.elements)
    assert "<harm>" not in page
    assert "min_facts: 2 facts, at least 3 are needed" in page


def test_a_graph_too_large_to_draw_does_not_cost_the_others_their_pictures():
    large = "".join(f"(n{i}; is a; n{i + 1})" for i in range(10_000))
    page = graph_page([Shown(f"g{i}", "b", "a", "", text) for i, text in enumerate((large, GRAPH))])
    assert page.count("<section>") == 2
    assert page.count("<svg") == 1
    assert "not drawn: 10,000 facts" in page


def test_the_command_writes_the_page(tmp_path, capsys):
    samples = tmp_path / "s.jsonl"
    samples.write_text(
        '{"id": "x", "belief": "b", "argument": "a", "graph": "(a; is a; b)"}\n', "utf-8"
    )
    out = tmp_path / "page.html"
    assert main(["explagraphs", "draw", str(samples), "--report", str(out)]) == 0
    assert "<section>" in out.read_text("utf-8")
    assert main(["explagraphs", "draw", str(samples), "--report", str(out), "--id", "y"]) == 2
