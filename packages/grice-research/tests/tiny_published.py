"""Tiny random checkpoints of the kinds that papers publish, made with transformers."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from grice.cli import main

PAD, END, UNKNOWN, START = "<pad>", "</s>", "<unk>", "<s>"


def torch_and_transformers():
    torch = pytest.importorskip("torch", reason="torch is not installed (grice-research[train])")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.set_num_threads(1)  # threads cost tiny networks more than they give
    return torch, transformers


def write_tokenizer(folder, texts, size=300, added=(), ends=f"$A {END}", pair=None):
    """Write a tokenizer of byte pairs that were counted in some texts; return its size."""
    made = Tokenizer(models.BPE(unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = [PAD, END, UNKNOWN, START]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    made.train_from_iterator(texts, trainer)
    made.add_tokens(list(added))
    made.post_processor = processors.TemplateProcessing(
        single=ends, pair=pair or f"{ends} $B:1 {END}:1",
        special_tokens=[(token, made.token_to_id(token)) for token in (END, START)],
    )  # fmt: skip
    made.save(str(folder / "tokenizer.json"))
    return made.get_vocab_size()


def write_t5(folder, texts, size=300):
    torch, transformers = torch_and_transformers()
    folder.mkdir(parents=True, exist_ok=True)
    count = write_tokenizer(folder, texts, size)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=count, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0, dropout_rate=0.0,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def write_bart(folder, texts, size=300, added=(), tied=True):
    torch, transformers = torch_and_transformers()
    folder.mkdir(parents=True, exist_ok=True)
    count = write_tokenizer(folder, texts, size, added, ends=f"{START} $A {END}")
    torch.manual_seed(0)
    config = transformers.BartConfig(
        vocab_size=count, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, max_position_embeddings=128, pad_token_id=0, eos_token_id=1,
        bos_token_id=3, decoder_start_token_id=1, forced_eos_token_id=None, dropout=0.0,
        init_std=0.1, tie_word_embeddings=tied,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def write_untied_bart(folder, texts):
    """Write a BART whose encoder, decoder and output have tables of their own."""
    return write_bart(folder, texts, tied=False)


def write_encoder(folder, texts, family="Bert", labels=None, size=300, head=None):
    """Write a BERT or a RoBERTa; with ``labels`` one that classifies, or with another head."""
    torch, transformers = torch_and_transformers()
    folder.mkdir(parents=True, exist_ok=True)
    kind = 0 if family == "Roberta" else 1
    pair = f"{START} $A {END} $B:{kind} {END}:{kind}"
    count = write_tokenizer(folder, texts, size, ends=f"{START} $A {END}", pair=pair)
    torch.manual_seed(0)
    own = {"type_vocab_size": 1, "max_position_embeddings": 515} if family == "Roberta" else {}
    config = getattr(transformers, f"{family}Config")(
        **{"vocab_size": count, "hidden_size": 32, "num_hidden_layers": 2,
           "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 512,
           "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 3, **own},
        **({} if labels is None else {"num_labels": labels}),
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2,
    )  # fmt: skip
    head = head or ("Model" if labels is None else "ForSequenceClassification")
    getattr(transformers, f"{family}{head}")(config).save_pretrained(folder)
    return folder


def json_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def add(folder, name, *words):
    assert main(["models", "add", str(folder), "--name", name, *words]) == 0


def command(system, data, base, out, **values):
    """Return the words that train a published system with some of its values changed."""
    words = ["train", system, str(data), "--from", str(base), "-o", str(out)]
    return [*words, *(word for pair in values.items() for word in ("--set", "{}={}".format(*pair)))]


def train(system, data, base, capsys, **values):
    """Train a system, which learns, and return the folder of its model."""
    out = base.parent / f"{system}-model"
    capsys.readouterr()
    assert main([*command(system, data, base, out, **values), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["curve"][-1]["loss"] < 0.8 * report["curve"][0]["loss"]
    assert report["after"]["value"] > max(0.7, report["before"]["value"])
    return out
