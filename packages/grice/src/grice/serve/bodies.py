"""From the bytes of a request to conversations, or to what is wrong with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from grice.errors import RecordError, did_you_mean, plural
from grice.readers import from_record
from grice.serve.problems import Refused, of_record
from grice_tasks.explagraphs.check import RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.records import Conversation
    from grice.serve.limits import Limits

TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)?|[\[{]|[\]}]', re.DOTALL)
"""A text, to its end or that of the body, or a bracket: looked at in one pass, whatever comes."""
KINDS = {bool: "true or false", int: "an integer", list: "a list of texts"}

Option = TypeVar("Option", bool, int, list[str])
Record = TypeVar("Record", bound=msgspec.Struct)


Sentence: TypeAlias = Annotated[str, msgspec.Meta(max_length=10_000)]


class WrittenGraph(msgspec.Struct, frozen=True):
    """An explanation graph to be checked; see :func:`grice_tasks.explagraphs.check.check_graph`."""

    graph: str
    belief: Sentence
    argument: Sentence
    rules: RuleSet = "released"


def decoded(data: bytes, limits: Limits) -> Body:
    """Return the JSON object that a request holds.

    Raises:
        Refused: It holds none, or one that is nested too deeply.
    """
    whole = "send one JSON object in UTF-8; see /docs"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        what = f"not UTF-8: byte 0x{data[error.start]:02x} at byte {error.start}"
        raise Refused(400, what, where="body", do=whole) from None
    depth = 0
    for token in TOKEN.finditer(data):
        depth += (token[0] in b"[{") - (token[0] in b"]}")
        if depth > limits.depth:
            what = f"JSON nested more than {limits.depth} deep"
            raise Refused(400, what, where=f"byte {token.start()}", do="send it flatter")
    try:
        record = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"not JSON: {error}", where="body", do=whole) from None
    if not isinstance(record, dict):
        raise Refused(400, "JSON, but no object", where="body", do=whole)
    return Body(record, limits)


class Body:
    """The fields of a request: options are taken out, what is left is the conversation."""

    def __init__(self, record: dict[str, Any], limits: Limits) -> None:
        self._record = record
        self._limits = limits

    def option(self, name: str, otherwise: Option) -> Option:
        """Take an option out.

        Raises:
            Refused: It is of another kind than its default.
        """
        value = self._record.pop(name, otherwise)
        kind = type(otherwise)
        if type(value) is not kind or (
            isinstance(value, list) and not all(isinstance(item, str) for item in value)
        ):
            raise Refused(
                400, f"expected {KINDS[kind]}", where=name, do=f"correct {name}; see /docs"
            )
        return value

    def metrics(self, loaded: Sequence[str]) -> tuple[str, ...]:
        """Take the names of the metrics out; without any, all that are loaded.

        Raises:
            Refused: One is not loaded.
        """
        names = self.option("metrics", list[str]())
        for place, name in enumerate(names):
            if name not in loaded:
                raise Refused(
                    400,
                    f"metric {name[:100]!r} is not loaded here{did_you_mean(name, loaded)}",
                    where=f"metrics[{place}]",
                    do="name others, or start grice serve with -m",
                )
        return tuple(name for name in loaded if not names or name in names)

    def options_as(self, kind: type[Record], names: dict[str, str]) -> Record:
        """Take the options out that a record has as fields.

        Args:
            kind: The record.
            names: Its field, where an option has another name.

        Raises:
            Refused: One is of another kind than its field.
        """
        fields = {**{name: name for name in kind.__struct_fields__}, **names}
        given = {
            field: self._record.pop(name) for name, field in fields.items() if name in self._record
        }
        try:
            return msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$.")
            where = place.rstrip("`") or "request"
            raise Refused(400, problem, where=where, do="correct it; see /docs") from None

    def listed(self, name: str) -> int:
        """Return how many items a field lists; 0 if it is no list."""
        value = self._record.get(name)
        return len(value) if isinstance(value, list) else 0

    def conversation(self, *, with_list: str = "") -> Conversation:
        """Return the one conversation that the request is.

        Args:
            with_list: A field whose items count as turns.

        Raises:
            Refused: It cannot be used.
        """
        if "conversations" in self._record:
            what = "one conversation is expected here"
            raise Refused(400, what, where="conversations", do="send its turns or messages")
        built = self._built(self._record, "talk", "")
        self.check_size(len(built.turns) + self.listed(with_list))
        return built

    def conversations(self) -> list[Conversation]:
        """Return the conversations: those listed, or the one that the request is.

        Raises:
            Refused: One cannot be used, or they are too many.
        """
        listed = self._record.get("conversations")
        if listed is None:
            return [self.conversation()]
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            what = "expected a list of objects"
            raise Refused(400, what, where="conversations", do="send a list of conversations")
        built = [
            self._built(item, f"talk {place + 1}", f"conversations[{place}]")
            for place, item in enumerate(listed)
        ]
        self.check_size(sum(len(conversation.turns) for conversation in built))
        return built

    def _built(self, record: dict[str, Any], name: str, inside: str) -> Conversation:
        try:
            return from_record(record, name)
        except RecordError as error:
            raise of_record(error, inside) from None

    def check_size(self, count: int, noun: str = "turn", *, where: str = "conversations") -> None:
        """Raise Refused if a request asks for more than is taken at a time."""
        if count > self._limits.turns:
            raise Refused(
                413,
                f"{plural(count, noun)}, where {self._limits.turns:,} are taken at a time",
                where=where,
                do="send them in several requests, or use the command line for files",
            )


def judged(conversation: Conversation, turn: int) -> Conversation:
    """Return a conversation of which one turn alone is judged; -1 is the last.

    Raises:
        Refused: There is no such turn.
    """
    last = len(conversation.turns) - 1
    if not -1 <= turn <= last:
        what = f"no turn {turn}: they are 0 to {last}"
        raise Refused(400, what, where="turn", do="count from 0, or leave it out for the last")
    return replace(conversation, targets=(last if turn == -1 else turn,))
