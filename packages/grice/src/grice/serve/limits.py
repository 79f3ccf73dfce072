"""What a request may ask for, and how much may wait."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a service; whoever asks for more is told the bound.

    Attributes:
        body: Bytes of the body of a request.
        depth: How deep its JSON may be nested.
        turns: Turns of all conversations, or candidates, of one request.
        waiting_turns: Turns that may wait to be scored; beyond them requests are answered 429.
        requests: Requests that may be under way at once, whatever they ask for.
        body_seconds: How long the body of a request may take to arrive.
        head_seconds: How long its head may take.
        seconds: How long a request may wait for its scores.
        gather_seconds: How long more requests are waited for where several came together before.
        key_rate: Requests a second of each key; 0 is as many as there are.
    """

    body: int = 1 << 20
    depth: int = 32
    turns: int = 2_000
    waiting_turns: int = 8_000
    requests: int = 512
    body_seconds: float = 10
    head_seconds: float = 10
    seconds: float = 60
    gather_seconds: float = 0.002
    key_rate: float = 0
