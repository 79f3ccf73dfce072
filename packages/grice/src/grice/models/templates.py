"""Prompt templates of checkpoints, rendered by Jinja in a sandbox.

A template comes from a checkpoint and is not trusted: attributes of Python are out of reach, and
loops, products and the rendered text have limits. Judged text is data: in it the special tokens of
a model are broken up, so that no message can end itself or begin another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.environment import Template as Compiled
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from grice.errors import ModelFolderError, shortened

MAX_STEPS = 100_000
"""Passes of all loops of one prompt: a template of a chat model takes a few for each message."""
MAX_CHARACTERS = 1 << 22  # length of a rendered prompt, and of each product of texts in it


NONE: Mapping[str, str] = MappingProxyType({})


class _Environment(ImmutableSandboxedEnvironment):
    """The environment of chat templates in transformers, with limits."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self) -> None:
        extensions = ["jinja2.ext.loopcontrols"]
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
        self.filters["counted"] = self._counted
        self.globals["raise_exception"] = _raise  # no strftime_now: a prompt has no date
        self.steps = 0

    def counting(self, source: str) -> Compiled:
        """Compile a template whose loops count their passes."""
        tree = self.parse(source)
        for loop in list(tree.find_all(nodes.For)):
            loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
        return self.template_class.from_code(self, self.compile(tree), self.make_globals(None))

    def _counted(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TemplateError(f"its loops take more than {MAX_STEPS:,} passes")
            yield item

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Refuse products that fill the memory."""
        number = min((each for each in (left, right) if isinstance(each, int)), default=0)
        sized = max((len(each) for each in (left, right) if hasattr(each, "__len__")), default=1)
        if operator == "**" or number * sized > MAX_CHARACTERS:
            raise TemplateError(f"{operator!r} makes more than {MAX_CHARACTERS:,} characters")
        return super().call_binop(context, operator, left, right)


def _raise(message: str) -> None:
    raise TemplateError(message)


class PromptTemplate:
    """A template; ``place`` names its file and field in errors, ``tokenizer`` is of its model."""

    def __init__(
        self, source: str, place: str, tokenizer: Tokenizer, variables: Mapping[str, str] = NONE
    ) -> None:
        self._environment = _Environment()
        self._place, self._variables = place, variables
        # Tokens of a character or two stand in ordinary text.
        added = {each.content for each in tokenizer.get_added_tokens_decoder().values()}
        special = sorted((token for token in added if len(token) > 2), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, special)) if special else r"(?!)")
        try:
            self._template = self._environment.counting(source)
        except (TemplateError, RecursionError) as error:
            raise self._error(error) from None

    def render(self, **variables: object) -> str:
        """Return the prompt; texts in the variables are of the judged conversation."""
        self._environment.steps = 0
        parts, length = [], 0
        try:
            for part in self._template.generate(**self._variables, **self._plain(variables)):
                parts.append(part)
                length += len(part)
                if length > MAX_CHARACTERS:
                    raise TemplateError(f"it writes more than {MAX_CHARACTERS:,} characters")
        except Exception as error:  # noqa: BLE001 - a template may raise anything
            raise self._error(error) from None
        return "".join(parts)

    def _error(self, error: BaseException) -> ModelFolderError:
        line = getattr(error, "lineno", None)
        where = f"{self._place}, line {line}" if line else self._place
        return ModelFolderError(
            f"{where}: the template cannot be rendered: {type(error).__name__}: "
            f"{shortened(str(error), 200)}; take that of the model's own repository"
        )

    def _plain(self, value: Any) -> Any:  # noqa: ANN401 - what JSON can hold
        """Break up special tokens in texts."""
        if isinstance(value, str):
            return self._special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", value)
        if isinstance(value, Mapping):
            return {key: self._plain(each) for key, each in value.items()}
        return [*map(self._plain, value)] if isinstance(value, list) else value
