import numpy as np
import pytest

import tiny_published as tiny
from grice.models.download import make_model
from grice.models.loader import ModelLoader
from grice_research.published_models.readers import PublishedReader
from grice_research.published_models.seq2seq import Search, Seq2Seq

tiny.torch_and_transformers()

TEXTS = ["look 3 at soup. there is a spoon.", "the map", "you sang a long song, and then you sat"]
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def opened(source, kind, protocol, name="bundle", mode="exact"):
    target = source.parent / name
    target.mkdir()
    facts = {"name": "tiny", "kind": kind, "version": "1", "summary": "", "licence": "MIT"}
    make_model(source, target, facts)
    return ModelLoader(mode=mode, workers=1, cache=None).load(f"file:{target}", protocol)


def ids_of(folder, text, second=None):
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoding = tokenizer.encode(text, second) if second else tokenizer.encode(text)
    given = {"input_ids": torch.tensor([encoding.ids])}
    if any(encoding.type_ids):
        given["token_type_ids"] = torch.tensor([encoding.type_ids])
    return given, tokenizer


@pytest.mark.parametrize("family", ["t5", "bart", "untied_bart"])
@pytest.mark.parametrize("beams", [1, 4])
def test_an_encoder_decoder_writes_the_same_texts(family, beams, tmp_path):
    import torch
    import transformers

    source = getattr(tiny, f"write_{family}")(tmp_path / family, TEXTS)
    model = opened(source, "seq2seq", Seq2Seq)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(source).eval()
    written = model.write(TEXTS, Search(beams, beams, 12))
    for text, best in zip(TEXTS, written, strict=True):
        given, tokenizer = ids_of(source, text)
        with torch.inference_mode():
            output = plain.generate(
                **given, num_beams=beams, num_return_sequences=beams, max_length=12,
                min_length=0, do_sample=False, early_stopping=False, length_penalty=1.0,
                return_dict_in_generate=True, output_scores=True,
            )  # fmt: skip
            for row, generated in zip(output.sequences.tolist(), best, strict=True):
                assert tokenizer.decode(row).split() == generated.text.split()
                end = plain.config.eos_token_id
                length = row.index(end, 1) if end in row[1:] else len(row) - 1
                mean = -float(plain(**given, labels=torch.tensor([row[1 : length + 1]])).loss)
                assert generated.log_probability == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize("family", ["t5", "bart"])
@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_the_best_text_is_the_first_of_many_alone_or_among_others(family, mode, tmp_path):
    source = getattr(tiny, f"write_{family}")(tmp_path / family, TEXTS)
    model = opened(source, "seq2seq", Seq2Seq, mode=mode)
    many = model.write(TEXTS, Search(4, 4, 12, 2))
    for text, ranked in zip(TEXTS, many, strict=True):
        ((best,),) = model.write([text], Search(4, 1, 12, 2))
        assert best.text == ranked[0].text
        assert best.log_probability == pytest.approx(ranked[0].log_probability, abs=1e-6)
        scores = [each.log_probability for each in ranked]
        assert scores == sorted(scores, reverse=True)


def test_what_is_written_is_computed_by_the_mode(tmp_path):
    source = tiny.write_t5(tmp_path / "t5", TEXTS)
    exact, fast = (opened(source, "seq2seq", Seq2Seq, name=m, mode=m) for m in ("exact", "fast"))
    assert "/float32/" in exact.identity
    assert "/int8/" in fast.identity


FAMILIES = ("Bert", "Roberta")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", ["ForSequenceClassification", "ForMultipleChoice"])
def test_a_classifier_of_pairs_gives_the_same_logits(family, head, tmp_path):
    import torch
    import transformers

    labels = 5 if head == "ForSequenceClassification" else None
    source = tiny.write_encoder(tmp_path / "source", TEXTS, family, labels=labels, head=head)
    plain = getattr(transformers, f"{family}{head}").from_pretrained(source).eval()
    model = opened(source, "text-classifier", PublishedReader)
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], "")]
    for pair, logits in zip(pairs, model.logits(pairs), strict=True):
        given, _ = ids_of(source, *pair)
        if head == "ForMultipleChoice":
            given = {name: value[None] for name, value in given.items()}
        with torch.inference_mode():
            expected = plain(**given).logits[0].numpy()
        np.testing.assert_allclose(logits, expected, **CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reader_of_spans_gives_the_same_states_and_answers(family, tmp_path):
    import torch
    import transformers

    source = tiny.write_encoder(tmp_path / "source", TEXTS, family, head="ForQuestionAnswering")
    plain = getattr(transformers, f"{family}ForQuestionAnswering").from_pretrained(source).eval()
    reader = opened(source, "span-reader", PublishedReader)
    assert isinstance(reader, PublishedReader)
    given, tokenizer = ids_of(source, TEXTS[1], TEXTS[0])
    with torch.inference_mode():
        output = plain(**given, output_hidden_states=True)
    states, _ = reader.read(TEXTS[1], TEXTS[0])
    np.testing.assert_allclose(states, output.hidden_states[-1][0].numpy(), **CLOSE)
    encoding = tokenizer.encode(TEXTS[1], TEXTS[0])
    text = [i for i, side in enumerate(encoding.sequence_ids) if side == 1]
    starts, ends = (
        side[0][text].log_softmax(-1).numpy() for side in (output.start_logits, output.end_logits)
    )
    (answer,) = reader.answers([(TEXTS[1], TEXTS[0])])
    value, first, last = max(
        (starts[a] + ends[b], a, b) for a in range(len(text)) for b in range(a, len(text))
    )
    assert (answer.start, answer.end) == (
        encoding.offsets[text[first]][0], encoding.offsets[text[last]][1]
    )  # fmt: skip
    assert answer.log_probability == pytest.approx(value, abs=1e-5)
