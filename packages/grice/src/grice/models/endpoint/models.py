"""Models of endpoints by reference: ``openai:MODEL@URL`` and ``openai-logprobs:MODEL@URL``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from grice.errors import ModelError
from grice.models.bundle import Bundle, Card
from grice.models.endpoint.chat import EndpointChat
from grice.models.endpoint.client import Client
from grice.models.endpoint.likelihood import EndpointLikelihood
from grice.models.loader import Settings, model_type, reference_scheme
from grice.models.protocols import CausalLM, Chat

if TYPE_CHECKING:
    from grice.models.loader import ModelLoader


class EndpointSettings(Settings, frozen=True):
    """Which model of which address."""

    model: str
    url: str


@model_type("openai-chat", task="chat", protocol=Chat, settings=EndpointSettings)
def endpoint_chat(bundle: Bundle, settings: EndpointSettings, loader: ModelLoader) -> EndpointChat:
    """Return a chat model; nothing is sent before it is asked."""
    requests = loader.requests
    client = Client(settings.url, requests.options)
    return EndpointChat(settings.model, bundle.identity, client, loader.cache, requests)


@model_type("openai-logprobs", task="likelihood", protocol=CausalLM, settings=EndpointSettings)
def endpoint_likelihood(
    bundle: Bundle, settings: EndpointSettings, loader: ModelLoader
) -> EndpointLikelihood:
    """Return a language model, after one request that shows that it can say what is asked."""
    requests = loader.requests
    client = Client(settings.url, requests.options)
    model = EndpointLikelihood(settings.model, bundle.identity, client, loader.cache, requests)
    try:
        model.check()
    except BaseException:
        model.close()
        raise
    return model


@reference_scheme("openai")
def openai_model(place: str) -> Bundle:
    """Return what stands for the chat model of ``openai:MODEL@URL``; it has no files."""
    return _bundle("openai", "openai-chat", place, "Answers of a chat model of an endpoint.")


@reference_scheme("openai-logprobs")
def openai_logprobs_model(place: str) -> Bundle:
    """Return what stands for the model of ``openai-logprobs:MODEL@URL``; it has no files."""
    return _bundle("openai-logprobs", "openai-logprobs", place, "Log probabilities of an endpoint.")


def _bundle(scheme: str, kind: str, place: str, summary: str) -> Bundle:
    # A name of a model may hold an @, an address only in front of its host, which is refused.
    model, at, url = place.rpartition("@")
    parts = urlsplit(url)
    address = parts.scheme in ("http", "https") and parts.hostname
    if not at or not model or not address or parts.query or parts.fragment:
        raise ModelError(
            f"{scheme}:{place}: a model of an endpoint is {scheme}:MODEL@URL, such as "
            f"{scheme}:qwen2.5@http://localhost:8000/v1"
        )
    if not model.isprintable() or "|" in model or not url.isprintable():
        raise ModelError(f"{scheme}:{place!r}: a name without | and of printable letters is needed")
    url = url.rstrip("/")
    digest = hashlib.sha256(f"{kind} {model} {url}".encode()).hexdigest()[:8]
    # Who offers a model may change it under its name: no digest of weights is known here.
    return Bundle(
        Path(),
        Card(model, kind, "1", summary, "unknown", {}, settings={"model": model, "url": url}),
        digest,
    )
