"""The MCP server, as a client starts it: over standard input and output."""

import asyncio
import sys

import pytest

from grice.cli import main

REPLY = {"role": "assistant", "content": "Dear {{name}}, I like cats."}
TALK = [{"role": "user", "content": "Where is my parcel?"}, REPLY]


def test_without_the_library_its_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp"]) == 2
    assert 'pip install "grice[mcp]"' in capsys.readouterr().err
    assert main(["mcp", "--check", "-m", "log_length"]) == 0
    assert "explain   scores" in capsys.readouterr().out


def called(folder, *calls):
    """Start the server in a folder; return whether each call failed, and its answer."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def answers():
        words = ["-m", "grice", "mcp", "-m", "log_length", "--no-cache"]
        server = StdioServerParameters(command=sys.executable, args=words, cwd=folder)
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert [tool.name for tool in tools] == ["check", "score", "explain"]
            results = [await session.call_tool(name, given) for name, given in calls]
            return [
                (result.is_error, result.structured_content or result.content[0].text)
                for result in results
            ]

    return asyncio.run(answers())


@pytest.mark.slow
def test_a_client_gets_findings_scores_and_evidence_and_an_error_for_bad_input(tmp_path):
    pytest.importorskip("mcp")
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.txt").write_text("Ann: Hi.\nBob: Hello.\n")
    (inner / "talk.txt").write_text("Ann: Where?\nBot: Here.\n\nAnn: Why?\nBot: Dear {{name}},\n")
    (inner / "notes.md").write_text("# Notes")
    (inner / "link.txt").symlink_to(tmp_path / "secret.txt")
    (_, check), (_, score), (_, explain), (_, files), *bad = called(
        inner,
        ("check", {"messages": TALK}),
        ("score", {"path": "talk.txt"}),
        ("explain", {"messages": TALK, "turn": 1}),
        ("check", {"path": ".", "limit": 0}),
        *[("check", {"path": path}) for path in ("../secret.txt", "link.txt", "a\0", "s3://a/b")],
        *[("check", given) for given in ({}, {"messages": [3]}, {"messages": [{"a": 1}]})],
        ("explain", {"messages": TALK, "turn": 7}),
        ("score", {"messages": TALK, "metrics": ["relevnce"]}),
    )
    assert (check["counts"], check["findings"][0]["quotes"]) == ({"T105": 1}, "{{name}}")
    [metric] = score["metrics"]
    assert metric["lowest"][0]["text"] == "Here."
    assert metric["counts"] == {"ok": 2}
    assert explain["scores"][0]["evidence"][0] == {"kind": "feature", "name": "words", "value": 5}
    assert (files["counts"], files["findings"]) == ({"T105": 1}, [])
    assert all(failed for failed, _ in bad)
    expected = [
        "--allow", "--allow", "null byte", "no such file", "give either messages or path",
        "valid dictionary", "object with messages", "turns 0 to 1, not 7", "relevance",
    ]  # fmt: skip
    for (_, message), words in zip(bad, expected, strict=True):
        assert words in message
