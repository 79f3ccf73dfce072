"""Models on ONNX Runtime and transformers give what plain transformers gives, to 1e-5."""

import json
import sys

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from decoders import FEED, weights, write_folder
from grice.errors import GriceError, ModelFolderError
from grice.models.download import make_model
from grice.models.folder import open_folder
from grice.models.loader import ModelLoader
from grice.models.pretrained import CrossEncoder, LabelSettings
from grice.models.protocols import (
    CausalLM,
    GroundedReply,
    Pair,
    PairClassifier,
    PromptPart,
    SpanDetector,
)

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "i", "eat", "bread", "sleep", "you", "run", "late"]
PAIRS = [
    Pair(("i eat bread", "you sleep"), "i run late"),
    Pair(("you run",), "i sleep"),
    Pair((), "bread"),
    Pair(("i",), "late you eat bread"),
]
TEXTS = ["i eat bread", "you sleep late", "run"]
PASSAGE = [
    PromptPart("A:"),
    PromptPart(" read a bad bread", target=True),
    PromptPart(" a", target=True),
]


def folder(source, target, kind, **settings):
    facts = {"name": "tiny", "kind": kind, "version": "1", "summary": "", "licence": "MIT"}
    target.mkdir()
    make_model(source, target, facts, settings=settings)
    return target


def opened(folder, protocol, workers=1):
    return ModelLoader(mode="exact", workers=workers, cache=None).load(f"file:{folder}", protocol)


def write_tokenizer(folder):
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )  # fmt: skip
    made.save(str(folder / "tokenizer.json"))


FAMILIES = {
    "Bert": {},
    "Roberta": {"type_vocab_size": 1, "max_position_embeddings": 66, "pad_token_id": 0},
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"],
                  "position_biased_input": False, "type_vocab_size": 0},
    "ModernBert": {"global_attn_every_n_layers": 2, "local_attention": 16, "pad_token_id": 0,
                   "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
}  # fmt: skip


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request, tmp_path_factory):
    """A small random classifier of pairs in the layout of Hugging Face, and its network."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = getattr(transformers, f"{request.param}Config")(
        **{"vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
           "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64,
           **FAMILIES[request.param]},
        id2label={0: "Contradiction", 1: "Entailment", 2: "Neutral"},
        label2id={"Contradiction": 0, "Entailment": 1, "Neutral": 2},
        attn_implementation="eager", initializer_range=0.3,
    )  # fmt: skip
    network = getattr(transformers, f"{request.param}ForSequenceClassification")(config).eval()
    folder = tmp_path_factory.mktemp(request.param)
    network.save_pretrained(folder)
    write_tokenizer(folder)
    return folder, network


def inputs(source, network, *texts):
    """Return what plain transformers is given for a text or a pair."""
    import torch

    read = Tokenizer.from_file(str(source / "tokenizer.json")).encode(*texts)
    given = {
        "input_ids": torch.tensor([read.ids]),
        "attention_mask": torch.ones(1, len(read.ids)).long(),
    }
    if network.config.model_type == "bert":
        given["token_type_ids"] = torch.tensor([read.type_ids])
    return given


def plain(network, given):
    """Return the first output of plain transformers."""
    import torch

    with torch.inference_mode():
        return network(**given)[0][0]


def probabilities(source, network):
    pairs = [inputs(source, network, " ".join(pair.left), pair.right) for pair in PAIRS]
    return np.array([plain(network, pair).softmax(-1).numpy() for pair in pairs])


def exported(source, target, network, *texts):
    """Write a network as a checkpoint in ONNX; the test is left out where the exporter cannot."""
    import torch

    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    given = inputs(source, network, *texts)
    target.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (target / name).write_bytes((source / name).read_bytes())

    class FirstOutput(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, *arrays):
            return self.network(**dict(zip(given, arrays, strict=True)))[0]

    try:
        torch.onnx.export(
            FirstOutput().eval(), tuple(given.values()), str(target / "model.onnx"),
            input_names=list(given), dynamo=False, opset_version=17,
            dynamic_axes={name: {0: "batch", 1: "length"} for name in given},
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - whatever an exporter of another version says
        pytest.skip(f"torch cannot export it: {type(error).__name__}: {error}")
    return target


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["transformers", "onnx"])
def test_a_classifier_gives_what_plain_transformers_gives(checkpoint, tmp_path, engine):
    source, network = checkpoint
    if engine == "onnx":
        source = exported(source, tmp_path / "source", network, "i eat", "you run")
    model = opened(folder(source, tmp_path / "b", f"{engine}-nli"), PairClassifier, workers=2)
    assert model.labels == ("contradiction", "entailment", "neutral")
    expected = probabilities(source, network)
    np.testing.assert_allclose(model.label_probabilities(PAIRS), expected, atol=1e-5)
    assert model.classify(PAIRS) == pytest.approx(expected[:, 1], abs=1e-5)


PROMPT = "{% for text in knowledge %}{{ text }} {% endfor %}{{ question }}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["transformers", "onnx"])
def test_token_spans_are_those_of_plain_transformers(checkpoint, tmp_path, engine):
    torch, transformers = map(pytest.importorskip, ("torch", "transformers"))
    source, classifier = checkpoint
    torch.manual_seed(1)
    network = transformers.AutoModelForTokenClassification.from_config(
        type(classifier.config).from_dict(classifier.config.to_dict() | {"num_labels": 2})
    ).eval()
    network.save_pretrained(tmp_path / "source")
    write_tokenizer(tmp_path / "source")
    source = tmp_path / "source"
    if engine == "onnx":
        source = exported(source, tmp_path / "graph", network, "i eat", "you run")
    model = opened(folder(source, tmp_path / "b", f"{engine}-spans", prompt=PROMPT), SpanDetector)
    reply = GroundedReply("you run", ("i eat", "bread"), "i sleep  late")
    spans = model.unsupported([reply, reply])
    expected = plain(network, inputs(source, network, "i eat bread you run", reply.reply))
    expected = expected.softmax(-1)[-4:-1, 1].tolist()
    assert [reply.reply[span.start : span.end] for span in spans[1]] == ["i", "sleep", "late"]
    assert [span.confidence for span in spans[0]] == pytest.approx(expected, abs=1e-5)
    assert model.cut([reply, reply._replace(reply="run " * 40)]) == [False, True]
    assert model.cut([reply._replace(knowledge=("eat " * 70,))]) == [True]


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_a_language_model_of_transformers_agrees_with_the_converted_one(tmp_path, family):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    source = write_folder(tmp_path / "source", family, tie_word_embeddings=True)
    model = opened(folder(source, tmp_path / "a", "transformers-lm"), CausalLM)
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    ids = [i for part in PASSAGE for i in tokenizer.encode(part.text).ids]
    network = transformers.AutoModelForCausalLM.from_pretrained(source).float().eval()
    odds = plain(network, {"input_ids": torch.tensor([ids])}).log_softmax(-1).numpy()
    expected = [odds[i, token] for i, token in enumerate(ids[1:])]
    (first, second) = model.token_scores([PASSAGE])[0]
    log_probabilities = [token.log_probability for token in (*first, *second)]
    assert log_probabilities == pytest.approx(expected[-len(log_probabilities) :], abs=1e-5)


def test_a_language_model_that_lacks_a_weight_is_refused(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    tensors = weights()
    del tensors["model.norm.weight"]
    source = write_folder(
        tmp_path / "source", tensors=tensors, intermediate_size=FEED, tie_word_embeddings=True
    )
    with pytest.raises(ModelFolderError, match=r"model\.norm\.weight is missing"):
        opened(folder(source, tmp_path / "b", "transformers-lm"), CausalLM)


def kept(tmp_path, **config):
    """A checkpoint whose weights nobody reads."""
    source = tmp_path / "source"
    source.mkdir()
    write_tokenizer(source)
    facts = {"hidden_size": 4, "max_position_embeddings": 20, "id2label": {"0": "No", "1": "Yes"}}
    (source / "config.json").write_text(json.dumps(facts | config))
    (source / "model.safetensors").write_bytes(b"none")
    (source / "model.onnx").write_bytes(b"none")
    return source


@pytest.mark.parametrize(
    ("kind", "missing", "extra"),
    [("transformers-nli", "torch", "transformers"), ("onnx-nli", "onnxruntime", "onnx")],
)
def test_an_absent_engine_is_named(tmp_path, monkeypatch, kind, missing, extra):
    monkeypatch.setitem(sys.modules, missing, None)
    directory = folder(kept(tmp_path), tmp_path / "b", kind)
    with pytest.raises(GriceError, match=rf'pip install "grice\[{extra}\]"'):
        opened(directory, PairClassifier)


def test_a_checkpoint_that_is_not_whole_is_refused(tmp_path):
    source = kept(tmp_path)
    (source / "model.onnx").unlink()
    (source / "model.safetensors").unlink()
    with pytest.raises(ModelFolderError, match=r"neither model\.onnx nor \*\.safetensors"):
        folder(source, tmp_path / "b", "onnx-nli")
    (source / "model.onnx").touch()
    (source / "config.json").write_text('{"id2label": {"first": "no"}}')
    with pytest.raises(ModelFolderError, match=r"config\.json: cannot be used"):
        folder(source, tmp_path / "d", "onnx-nli")
    (source / "tokenizer.json").unlink()
    with pytest.raises(ModelFolderError, match=r"tokenizer\.json is missing"):
        folder(source, tmp_path / "c", "onnx-nli")


@pytest.fixture
def made(tmp_path):
    """Return what makes a classifier, and the tokens that its network was given."""
    directory, seen = folder(kept(tmp_path), tmp_path / "b", "onnx-nli"), []

    def make(outputs=2, labels=("no", "yes"), positive="yes"):
        class Network:
            engine, threads = "test", 1

            def __call__(self, ids, types):
                seen.append((ids, types))
                return np.array([len(ids), *range(1, outputs)], np.float32)

        settings = LabelSettings(20, list(labels), positive)
        return CrossEncoder(open_folder(directory), settings, ModelLoader(), Network())

    return make, seen


def test_probabilities_sum_to_one_and_a_pair_is_read_once(made):
    make, seen = made
    model = make()
    rows = model.label_probabilities([Pair(("i",), "run"), Pair(("i",), "run")])
    assert rows.shape == (2, 2)
    assert rows.sum(axis=1) == pytest.approx([1, 1])
    assert model.classify([Pair(("i",), "run")]) == pytest.approx([rows[0, 1]])
    assert seen == [([1, 4, 2, 9, 2], [0, 0, 0, 1, 1])]


def test_of_a_long_history_the_end_is_read_and_of_a_long_reply_the_beginning(made):
    make, seen = made
    make().classify([Pair(("bread " * 40 + "i",), "run " * 40 + "late")])
    ((ids, types),) = seen
    assert (len(ids), ids[:2]) == (20, [1, 6])
    assert (ids[ids.index(2) - 1], ids[-2:]) == (4, [9, 2])
    assert sum(types) == 9


def test_a_single_output_is_a_probability_and_other_outputs_than_labels_are_refused(made):
    make, _ = made
    model = make(outputs=1, labels=["yes"])
    assert model.classify([Pair((), "run")])[0] == pytest.approx(1 / (1 + np.exp(-4)))
    assert model.truncated(["run", "run " * 30]) == [False, True]
    assert model.cut([Pair(("i " * 9,), "run"), Pair(("i " * 9, "i " * 9), "run")]) == [False, True]
    with pytest.raises(
        ModelFolderError, match=r"no label 'contradiction' \(id2label\); it has yes"
    ):
        model.label_chances("contradiction", [Pair((), "run")])
    with pytest.raises(ModelFolderError, match="3 outputs for the labels no, yes"):
        make(outputs=3).classify([Pair((), "run")])
    with pytest.raises(ModelFolderError, match="one of no, yes is needed, found 'maybe'"):
        make(positive="maybe")
