"""ACCENT's published models against the plain loop of transformers: T5-base and BART-large.

    python bench/published_speed.py              two replies: 12 prompts each, then two queries each
    python bench/published_speed.py --replies 1 --pieces 12 --tiny   whether it runs

Both networks have random weights of the published sizes, so that texts have the full length
(``full`` counts them) and no weights need be fetched. Their output layers are their own: with those
of the papers, which are the embeddings, random weights write the same piece again and again, and
where a repeat is forbidden the engines do not search alike (:mod:`grice.models.seq2seq`). The loop
is that of the released code: a prompt at a time, beam 10 for both, float32. Ours is
:class:`grice.models.seq2seq.EmbeddedSeq2Seq` on the converted checkpoints, as ``accent`` calls it:
``exact`` in float32, a text at a time, ``fast`` in int8, prompts of one length together.

``same`` counts the texts that both write. To random weights thousands of pieces are equally likely,
so that a last bit chooses; ``less_likely`` says by how many nats a piece ours are less likely than
theirs, by the network in float32: below .01 where both searches find as much. Both see all
cores; where others are busy on these, ``ratio_of_cores`` compares the seconds that the cores
computed. Memory is that of the process after each.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from grice.knowledge.comet import query
from grice.metrics.accent import PROMPTS, extraction_source
from grice.models.embedded import Mode
from grice.models.models import Models, default_workers
from grice.models.seq2seq import Search, Seq2Seq
from grice.models.store.make import Description, make_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

BEAMS, NO_REPEAT = 10, 2
MODES: tuple[Mode, ...] = ("exact", "fast")
HISTORY = "i am going to the airport tomorrow</UTT>that sounds fun, where are you flying to?</UTT>"
REPLIES = ("i want to see my sister in rome", "i missed my flight so i stayed at home")
SIZES = {"t5": (32_128, "</s>"), "bart": (50_265, "</s>")}


def checkpoint(folder: Path, family: str, *, tiny: bool) -> Any:  # noqa: ANN401 - a network
    """Write a checkpoint of random weights and return its network."""
    folder.mkdir()
    size = 400 if tiny else SIZES[family][0]
    words = sorted({word for text in texts() for word in text.replace("</UTT>", " ").split()})
    vocabulary = ["<pad>", "</s>", "<unk>", "<s>", *words]
    vocabulary += [f"w{i}" for i in range(size - len(vocabulary))]
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    if family == "t5":
        small = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
        large = {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
        shape = transformers.T5Config(
            vocab_size=size, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
            tie_word_embeddings=False, **(small if tiny else large),
        )  # fmt: skip
        network: Any = transformers.T5ForConditionalGeneration(shape)
        network.lm_head.weight.data *= shape.d_model**-0.5  # as where it is the embeddings
    else:
        width, layers, heads = (64, 2, 4) if tiny else (1024, 12, 16)
        network = transformers.BartForConditionalGeneration(
            transformers.BartConfig(
                vocab_size=size, d_model=width, encoder_layers=layers, decoder_layers=layers,
                encoder_attention_heads=heads, decoder_attention_heads=heads,
                encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, pad_token_id=0,
                bos_token_id=3, eos_token_id=1, decoder_start_token_id=3,
                forced_eos_token_id=None, tie_word_embeddings=False,
            )
        )  # fmt: skip
    network.eval().save_pretrained(folder)
    return network


def texts() -> list[str]:
    """Return everything that is read, for the vocabulary."""
    return [*prompts(REPLIES), *queries(REPLIES)]


def prompts(replies: tuple[str, ...]) -> list[str]:
    """Return what the extractor reads."""
    return [extraction_source(name, HISTORY, reply) for reply in replies for name in PROMPTS]


def queries(replies: tuple[str, ...]) -> list[str]:
    """Return what COMET reads: two events a reply."""
    return [query(reply, name) for reply in replies for name in ("xWant", "xReact")]


def plain(network: Any, folder: Path, read: list[str], pieces: int) -> list[str]:  # noqa: ANN401
    """Write as the released code does: a prompt at a time."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    written = []
    for text in read:
        given = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            output = network.generate(
                given, num_beams=BEAMS, num_return_sequences=1, max_length=pieces, min_length=0,
                no_repeat_ngram_size=NO_REPEAT, do_sample=False,
            )  # fmt: skip
        ids = output[0].tolist()[1:]  # without the piece that starts it
        written.append(tokenizer.decode(ids[: ids.index(1)] if 1 in ids else ids))
    return written


def log_probability(network: Any, folder: Path, prompt: str, text: str) -> float:  # noqa: ANN401
    """Return the mean log probability of the pieces of a text."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    given = torch.tensor([tokenizer.encode(prompt).ids])
    labels = torch.tensor([tokenizer.encode(text, add_special_tokens=False).ids])
    with torch.inference_mode():
        return -float(network(given, labels=labels).loss)


class Timed(NamedTuple):
    """Seconds that went by, seconds of all cores, and what was written."""

    wall: float
    cores: float
    texts: list[str]


def timed(what: Callable[[], list[str]]) -> Timed:
    """Return how long something took, and its result."""
    began, used = time.perf_counter(), time.process_time()
    result = what()
    return Timed(time.perf_counter() - began, time.process_time() - used, result)


def timed_ours(bundle: Path, mode: Mode, read: list[str], search: Search) -> Timed:
    """Return how long the bundle took, opened and warm, and what it wrote."""
    models_open = Models(mode=mode, workers=default_workers(), cache=None)
    ours = models_open.open(f"file:{bundle}", Seq2Seq)
    ours.write(read[:1], Search(1, 1, 2))  # loads the weights
    taken = timed(lambda: [best.text for best, *_ in ours.write(read, search)])
    models_open.close()
    return taken


def main() -> None:
    """Time both and print a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replies", type=int, default=2)
    parser.add_argument("--pieces", type=int, default=24, help="length of every text")
    parser.add_argument("--tiny", action="store_true", help="small networks")
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    replies = (REPLIES * options.replies)[: options.replies]
    total = {mode: np.zeros(4) for mode in MODES}
    with tempfile.TemporaryDirectory() as made:
        for family, read in (("t5", prompts(replies)), ("bart", queries(replies))):
            folder, target = Path(made) / family, Path(made) / f"{family}-bundle"
            network = checkpoint(folder, family, tiny=options.tiny)
            target.mkdir()
            facts = {"name": family, "kind": "seq2seq", "version": "1", "summary": ""}
            facts["licence"] = "MIT"
            make_bundle(folder, target, Description(facts, {"data": []}, {}))
            plain(network, folder, read[:1], 2)
            theirs = timed(lambda n=network, f=folder, r=read: plain(n, f, r, options.pieces))
            full = sum(len(text.split()) == options.pieces - 1 for text in theirs.texts)
            for mode in MODES:
                mine = timed_ours(target, mode, read, Search(BEAMS, 1, options.pieces, NO_REPEAT))
                pairs = zip(mine.texts, theirs.texts, strict=True)
                same = sum(a.split() == b.split() for a, b in pairs)
                logs = (
                    [
                        log_probability(network, folder, *each)
                        for each in zip(read, texts, strict=True)
                    ]
                    for texts in (theirs.texts, mine.texts)
                )
                less = float(np.subtract(*map(np.mean, logs)))
                total[mode] += [theirs.wall, mine.wall, theirs.cores, mine.cores]
                row = {
                    "network": family, "mode": mode, "prompts": len(read),
                    "plain_s": round(theirs.wall, 2), "ours_s": round(mine.wall, 2),
                    "ratio": round(theirs.wall / mine.wall, 2),
                    "ratio_of_cores": round(theirs.cores / mine.cores, 2), "same": same,
                    "full": full, "less_likely": round(less, 4),
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                }  # fmt: skip
                print(json.dumps(row), flush=True)
    for mode, (plain_wall, wall, plain_cores, cores) in total.items():
        ratios = {"both": plain_wall / wall, "both_of_cores": plain_cores / cores}
        rounded = {name: round(value, 2) for name, value in ratios.items()}
        print(json.dumps({"mode": mode, **rounded}))


if __name__ == "__main__":
    main()
