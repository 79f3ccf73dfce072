from __future__ import annotations

import pytest

from grice.evaluation.benches._research import research
from grice.evaluation.workshop import Left, Workshop
from grice.runtime.bundle import shipped_bundles
from grice.scoring.models import Models


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    models = Models(mode="exact", workers=1, cache=None)
    yield Workshop(
        tmp_path_factory.mktemp("data"), lambda names: None, ("relevance",), (), lambda: models
    )
    models.close()


def test_weights_that_no_recipe_has_left_are_named_with_their_recipe(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("GRICE_RELEVANCE", str(tmp_path / "nowhere"))
    with pytest.raises(Left, match=r"nowhere: not a bundle.*recipes of relevance"), research(shop):
        pass


def test_metrics_read_the_weights_that_are_there(shop, monkeypatch, tmp_path):
    for name in ("relevance", "engagement"):
        folder = tmp_path / name
        folder.mkdir()
        shipped = shipped_bundles()[name]
        for file in shipped.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        card = folder / "card.toml"
        text = card.read_text("utf-8")
        card.write_text(text.replace(f'name = "{name}"', f'name = "{name}_other"', 1), "utf-8")
        monkeypatch.setenv(f"GRICE_{name.upper()}", str(folder))
    with research(shop) as desk:
        for name in ("relevance", "engagement"):
            assert f"{name}_other@" in desk.grader(name)[1][name]
