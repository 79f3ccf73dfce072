"""What tokens of a model cost, from a file of the user's."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

from grice.errors import InputError, os_reason

Amount = Annotated[float, msgspec.Meta(ge=0)]

EXAMPLE = """such as
  currency = "USD"
  [models."gpt-4o-mini"]
  prompt = 0.15        # per million tokens
  completion = 0.60"""


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost, of the prompt and of the answer."""

    prompt: Amount
    completion: Amount

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


class PriceList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices by name of the model, as its endpoint calls it."""

    currency: str
    models: dict[str, Price]
    source: str = ""


def read_prices(path: Path) -> PriceList:
    """Return the price list in a TOML file.

    Raises:
        InputError: If it is missing or is none.
    """
    try:
        prices = msgspec.convert(tomllib.loads(path.read_text("utf-8")), PriceList)
    except OSError as error:
        raise InputError(
            f"{path}: the price list cannot be read: {os_reason(error)}; it is a TOML file, "
            f"{EXAMPLE}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{path}: no price list: {error}; one is {EXAMPLE}") from None
    return msgspec.structs.replace(prices, source=str(path))
