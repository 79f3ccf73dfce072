import ast
import gzip
import json
import re
from pathlib import Path

import msgspec
import pytest

import made_sets
from fake_metrics import loaded, made_figure, made_run
from grice.cli import main
from grice.errors import InputError
from grice.evaluation.datasets import known_sets, load_rated
from grice.stats.estimate import Estimate
from grice_research import benches
from grice_research.context import BenchContext, measured
from grice_research.figures import VERDICTS, Figure, figure, figures
from grice_research.pages import UNKNOWN, bench_page
from grice_research.published import Bench, Table, Task, bench_names, load_bench, printed
from grice_research.runs import merged, read_runs, write_run

KEYS = ["bench", "row", "measure", "value", "low", "high", "n", "published", "verdict", "command",
        "signature"]  # fmt: skip


def small(**fields):
    known = {"id": "table 1", "column_lines": ("fed_turn:overall | spearman | 40",),
             "row_lines": "Theirs | 0.50*\nOther | 0.10\nLost | -\n"}  # fmt: skip
    return Bench(title="T", paper="P", name="small", tables=(Table(**{**known, **fields}),))


def bench_context(folder, metrics=("log_length",), without=()):
    return BenchContext(folder, loaded, metrics, without)


@pytest.fixture
def folder(tmp_path):
    made_sets.fed_turn(tmp_path)
    return tmp_path


def lengths(folder):
    rated = load_rated(known_sets()["fed_turn"], folder)
    return rated, [float(len(item.conversation.turns[-1].text)) for item in rated.items]


def released(folder, values):
    """Write released scores of the made set."""
    path = folder / "rated" / "released_scores.json.gz"
    content = {"fed_turn": {"theirs": {f"fed_turn_{i:04}": v for i, v in enumerate(values)}}}
    path.write_bytes(gzip.compress(json.dumps(content).encode()))


def ours(folder, printed="0.50*", row="log_length (ours)", context=None, **fields):
    """Return the figure of ours, or of another row, beside a printed one."""
    fields = {"row_lines": f"Theirs | {printed}\n", "ours": {"log_length": "Theirs"}, **fields}
    rows = figures(small(**fields), context or bench_context(folder))
    return next(figure for figure in rows if figure.row == row)


def test_every_published_table_can_be_read_and_names_what_is_there():
    names = bench_names()
    assert {"accent", "ruber", "predictive_engagement", "deam", "cider", "explagraphs",
            "situatedgen", "llm_judges"} <= set(names)  # fmt: skip
    known = known_sets()
    for name in names:
        for table in load_bench(name).tables:
            assert not re.search(r"\b0\.\d", table.note), "a figure that no run gives"
            for column in table.columns():
                entry, _, aspect = column.on.partition(":")
                if entry in known and aspect not in known[entry].all_aspects:
                    assert aspect in ("reply", "events and overall", "mean over aspects")


def test_no_bench_holds_a_typed_figure_and_printed_ones_are_read_from_their_tables():
    for path in Path(benches.__path__[0]).glob("*.py"):
        nodes = [node for node in ast.parse(path.read_text("utf-8")).body if "Assign" in str(node)]
        values = [getattr(each, "value", 0) for node in nodes for each in ast.walk(node)]
        assert not any(isinstance(value, float) and round(value, 2) != value for value in values)
    printed_row = printed("explagraphs", "table 5")["RE-T5"]
    assert printed_row["explagraphs_dev:graphs", "G-BLEU F1"] == 0.054


def test_what_was_not_released_or_is_not_built_is_not_measured(folder):
    rows = list(figures(small(), bench_context(folder)))
    assert [(figure.row, figure.published) for figure in rows] == [("Theirs", 0.5), ("Other", 0.1)]
    assert {(figure.verdict, figure.value) for figure in rows} == {("cannot be checked", None)}
    later = ours(folder, row="coherence (ours)", ours={"coherence": ""})
    assert (later.verdict, later.why) == (None, "there is no metric coherence yet")
    task = ours(folder, column_lines=("cider_nli:fold 1 | macro F1 | 9",))
    assert (task.verdict, task.why) == (None, "this task is not built yet")


@pytest.mark.parametrize(("printed", "verdict"), [("{:.2f}", "recomputed"),
                                                  ("0.03", "not recomputed")])  # fmt: skip
def test_released_scores_are_measured_again_and_compared(folder, printed, verdict):
    rated, scores = lengths(folder)
    released(folder, scores)
    true = measured("spearman", scores, rated, "overall").value
    source = {"Theirs": "scores:theirs"}
    figure = ours(folder, printed.format(true), "Theirs", ours={}, recomputed=source)
    assert (figure.verdict, figure.value) == (verdict, true)
    assert figure.low < figure.value < figure.high
    assert figure.n == 40
    assert figure.signature.startswith("released:scores:theirs|on:fed_turn@")
    assert figure.signature.endswith(":overall|measure:spearman")


def test_ours_stands_beside_the_row_it_follows_and_baselines_have_no_verdict(folder):
    beside = ours(folder, baselines=("log_length",))
    baseline = ours(folder, row="log_length", baselines=("log_length",))
    assert (beside.published, beside.verdict) == (0.5, "beside: above")
    assert beside.value > 0.9
    assert (baseline.published, baseline.verdict) == (None, None)
    assert baseline.value == beside.value
    assert beside.command == "grice meta-eval log_length --on fed_turn:overall"


def test_released_scores_of_the_row_beside_are_compared_item_by_item(folder):
    released(folder, [-score for score in lengths(folder)[1]])
    beside = ours(folder, "-0.9", recomputed={"Theirs": "scores:theirs"})
    assert beside.difference[0] == pytest.approx(2 * beside.value, abs=0.05)
    assert beside.difference[1] > 0
    assert beside.verdict == "beside: above"


def test_a_set_that_is_away_or_left_out_is_said_and_stops_nothing(tmp_path):
    away = bench_context(tmp_path)
    figure = ours(tmp_path, context=away)
    assert (figure.verdict, figure.why) == (None, "fed_turn is not in the data folder")
    assert "github.com/Shikib/fed" in away.missing["fed_turn"]
    made_sets.fed_turn(tmp_path)
    assert "left out" in ours(tmp_path, context=bench_context(tmp_path, without=("fed_turn",))).why


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"row_lines": "A | 1 | 2\n"}, "2 cells for 1 columns"),
     ({"column_lines": ("fed_turn",)}, "expected set \\| measure \\| n"),
     ({"recomputed": {"Thiers": "deam"}}, "did you mean 'Theirs'")],
)  # fmt: skip
def test_a_table_that_contradicts_itself_is_refused(fields, message):
    table = small(**fields).tables[0]
    with pytest.raises(InputError, match=message):
        table.columns() and table.rows()


def test_the_page_is_written_from_records(tmp_path):
    figure = made_figure("A_B|C", "released:m", table="t", on="s:overall", published=0.5, n=9,
                         verdict="beside: level", difference=(-0.1, -0.2, 0.1))  # fmt: skip
    run = made_run(figure, counts={"beside: level": 1}, notes={"t": "mind"})
    write_run(run, tmp_path / "records")
    assert read_runs(tmp_path / "records") == [run]
    page = bench_page(run, "../results.md")
    remark = "beside: level (difference to the released scores -0.100, -0.200 to 0.100)"
    line = "| **A\\_B\\|C** | spearman on s:overall | 0.400 | 0.300 to 0.500 | 9 | 0.5 |"
    assert f"{line} {remark} |" in page
    with pytest.raises(InputError, match="no record"):
        read_runs(tmp_path)
    record = tmp_path / "records" / "b.json"
    record.write_text(record.read_text().replace('"kind":"ours"', '"kind":"floor"'))
    with pytest.raises(InputError, match="not the record of a bench"):
        read_runs(tmp_path / "records")


def test_what_cannot_be_measured_today_stays_in_the_record_with_its_day(tmp_path):
    def row(name, value):
        return Figure(bench="b", table="", row=name, kind="ours", on="s", measure="f1", value=value)

    earlier = (row("at hand", 0.4), row("model gone", 0.5), row("row gone", 0.6))
    run = made_run(*earlier)
    assert merged(earlier, tmp_path, "b") == list(earlier)
    write_run(run, tmp_path)
    today = [row("new", 0.1), row("at hand", 0.7), row("model gone", None)]
    together = merged(today, tmp_path, "b")
    found = [(figure.row, figure.value, figure.date) for figure in together]
    day = "2026-01-02"
    assert found[:2] == [("new", 0.1, ""), ("at hand", 0.7, "")]
    assert found[2:] == [("model gone", 0.5, day), ("row gone", 0.6, day)]
    write_run(msgspec.structs.replace(run, date="2026-03-04", figures=tuple(together)), tmp_path)
    assert merged([], tmp_path, "b")[2].date == "2026-01-02"
    assert "measured 2026-01-02 |" in bench_page(*read_runs(tmp_path), "../results.md")


def test_the_command_prints_the_fields_that_other_programs_read(tmp_path, capsys):
    made_sets.fed_dialogue(tmp_path)
    records = tmp_path / "records"
    words = ["bench", "llm_judges", "--data", str(tmp_path), "--no-cache", "--record", str(records)]
    assert main([*words, "--json", "--page", str(tmp_path / "page.md")]) == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert all(list(row) == KEYS for row in rows)
    assert {row["verdict"] for row in rows} <= {*VERDICTS, None}
    overall = {row["row"]: row for row in rows if row["measure"].endswith("fed_dialogue:overall")}
    released = overall["GPT-4 on fed_dialogue: GPT-4, mean of 5 samples"]
    assert (released["published"], released["verdict"]) == (0.725, "cannot be checked")
    assert overall["GPT-4 on fed_dialogue: mean_user_words"]["n"] == 30
    assert "usr_topicalchat was not found" in captured.err
    kept = json.loads((records / "llm_judges.json").read_text())
    assert all(figure["value"] is not None for figure in kept["figures"])
    assert "[llm_judges](records/llm_judges.md)" in (tmp_path / "page.md").read_text()
    assert (records / "llm_judges.md").read_text().startswith("# llm_judges\n")


def test_without_a_name_the_benches_are_listed(capsys):
    assert main(["bench"]) == 0
    assert "ACCENT" in capsys.readouterr().out
    assert main(["bench", "acent"]) == 2
    assert "did you mean 'accent'" in capsys.readouterr().err


def test_records_in_the_repository_say_what_the_tables_say():
    folder = Path(__file__).parents[3] / "docs" / "results"
    for run in read_runs(folder):
        printed = {
            (table.id, name, column.on, column.measure): cell.value
            for table in load_bench(run.bench).tables
            for name, cells in table.rows().items()
            for column, cell in zip(table.columns(), cells, strict=True)
            if cell is not None
        }
        for each in run.figures:
            if each.kind == "printed" and each.table:
                key = (each.table, each.row, each.on, each.measure)
                assert each.published == printed[key]
        page = folder.joinpath(f"{run.bench}.md").read_text()
        assert UNKNOWN not in page, "a bench signs the rows of metrics"


@pytest.mark.data
@pytest.mark.parametrize(("name", "expected"), [
    # Golden: recomputed elsewhere from the same released scores, to four decimals.
    ("predictive_engagement", {
        ("Ctx_RUBER", "replies_generated:overall", "pearson"): 0.54677718,
        ("Ctx_RUBER", "replies_600:overall", "spearman"): 0.54699721,
        ("RUBER", "replies_human:overall", "spearman"): -0.01314036,
        ("MLP BERT(max)", "replies_generated:overall", "pearson"): -0.09307054,
        ("MLP BERT(mean) + Ctx_RUBER", "replies_generated:overall", "pearson"): 0.47500907}),
    ("deam", {
        ("DEAM", "fed_dialogue:coherent", "spearman"): 0.468217,
        ("DEAM", "fed_dialogue:overall", "spearman"): 0.547225}),
    ("llm_judges", {
        ("UniEval", "usr_topicalchat:natural", "spearman"): 0.513986,
        ("GPT-3.5-turbo, geval", "usr_topicalchat:natural", "spearman"): 0.413322}),
    ("accent", {
        ("annotators", "deco_all:events", "judges against the others, spearman"): 0.578258,
        ("annotators", "deco_all:events and overall", "single ratings, spearman"): 0.862375}),
])  # fmt: skip
def test_released_scores_give_the_golden_correlations(data_folder, name, expected):
    bench = load_bench(name)
    # Nothing is scored: only what was released is measured again.
    tables = tuple(
        msgspec.structs.replace(table, ours={}, baselines=())
        for table in bench.tables
        if any(row in table.recomputed for row, _, _ in expected)
    )
    context = bench_context(data_folder, metrics=(), without=("dstc9_dialogue",))
    measured_values = {
        (figure.row, figure.on, figure.measure): figure.value
        for figure in figures(msgspec.structs.replace(bench, tables=tables), context)
        if figure.value is not None
    }
    for key, value in expected.items():
        assert measured_values[key] == pytest.approx(value, abs=5e-5)


def of_task(monkeypatch, measure):
    task = Task("T", "P", measure)
    monkeypatch.setattr("grice_research.figures.find_task", lambda _: task)
    return Bench(title="T", paper="P", name="task", tables=())


def test_the_bench_of_a_task_gives_ours_baselines_and_printed_figures(tmp_path, monkeypatch):
    half = Estimate(0.5, 0.4, 0.6, 0.95, 100, "share")
    printed = {"row": "paper", "kind": "printed", "measure": "f1", "estimate": half}
    mine, other = printed | {"row": "ours", "kind": "ours"}, printed | {"kind": "baseline"}

    def measure(context):
        yield figure(**mine, published=0.45)
        yield figure(**mine | {"row": "worse", "measure": "ged"}, published=0.3, lower=True)
        yield figure(**other)
        yield figure(**other, published=-0.2)
        yield figure(**printed, published=0.502)
        yield figure(**printed | {"estimate": None}, published=0.9)

    rows = list(figures(of_task(monkeypatch, measure), bench_context(tmp_path)))
    verdicts = ["beside: level", "beside: below", None, "beside: above", "recomputed",
                "cannot be checked"]  # fmt: skip
    assert [each.verdict for each in rows] == verdicts
    first = rows[0].public()
    assert [first[name] for name in ("row", "measure", "value", "n")] == ["ours", "f1", 0.5, 100]


def test_a_task_without_its_data_says_what_is_missing(tmp_path, monkeypatch):
    def measure(context):
        yield from ()
        raise InputError(f"{context.folder.name}/there.tsv is not there")

    context = bench_context(tmp_path)
    assert list(figures(of_task(monkeypatch, measure), context)) == []
    assert "there.tsv is not there" in context.missing["task"]
