"""Tasks of Label Studio, as its API and its JSON export have them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from grice.readers import response
from grice.readers._build import conversation, list_of, turns
from grice.readers._format import Bad, Format
from grice.readers._json import confidence, field_names, kind, records

if TYPE_CHECKING:
    from grice.records import Conversation, Json

TEXT = ("text", "content", "utterance", "message")
SPEAKER = ("author", "speaker", "role", "name", "user")


def _fits(record: dict[str, Any]) -> bool:
    data = record.get("data")
    return isinstance(data, dict) and (_dialogue(data) is not None or _is_response(data))


def _is_response(data: dict[str, Any]) -> bool:
    return any(name in data for name in response.RESPONSE) and any(
        name in data for name in response.CONTEXT
    )


def _dialogue(data: dict[str, Any]) -> str | None:
    """Return the field whose items have a text and somebody who says it."""
    for name, value in data.items():
        first = value[0] if isinstance(value, list) and value else None
        if (
            isinstance(first, dict)
            and first.keys() & set(TEXT)
            and first.keys() & set(SPEAKER)
            and not _is_response(data)
        ):
            return name
    return None


def _build(record: dict[str, Any], default_id: str) -> Conversation:
    data = record.pop("data", None)
    if not isinstance(data, dict):
        raise Bad("data", f"expected an object, found {kind(data)}")
    predictions = list_of(record.pop("predictions", None) or [], "predictions", "predictions")
    number = record.pop("id", None)
    name = str(data.pop("key", None) or (default_id if number is None else number))
    proposal = _proposal(predictions[0]) if predictions else None
    rest = {**record, **data, **({"proposal": proposal} if proposal else {})}
    try:
        if _is_response(data):
            return response.build(rest, name)
        field = _dialogue(data)
        if field is None:
            raise Bad(
                None, f"expected a list of objects with author and text; found {field_names(data)}"
            )
        built = turns(rest.pop(field), field, text=TEXT, speaker=SPEAKER)
        return conversation(rest, built, name, field=field)
    except Bad as bad:
        raise bad.inside("data") from None


def _proposal(prediction: object) -> dict[str, Json]:
    """Return what a prediction says, by the control it is for: a number, choices or a text."""
    if not isinstance(prediction, dict):
        raise Bad("predictions[0]", f"expected an object, found {kind(prediction)}")
    results = list_of(prediction.get("result", []), "predictions[0].result", "regions")
    return {
        result["from_name"]: _plain(result["value"])
        for result in results
        if isinstance(result, dict) and {"from_name", "value"} <= result.keys()
    }


def _plain(value: Json) -> Json:
    """Return the content of a region that has one, and all of any other."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


FORMAT = Format(
    name="label_studio",
    summary="Label Studio's tasks: `data` with a dialogue or a reply, and predictions",
    description="""\
The turns are the list in `data` whose items have `author` (or `speaker`, `role`, `name`) and
`text` (or `content`), as the tags Paragraphs and Chat take them; or a context and a response, as
the format `response` has them. The id is `key` of the data, else that of the task. Results of the
first prediction become `proposal`, by `from_name`: an answer to start from. Annotations and other
fields stay in the meta.""",
    example="""\
{"id": 7, "data": {"dialogue": [{"author": "Ann", "text": "Is it far?"}, {"author": "Bot", "text": "Ten minutes."}]}, "predictions": [{"model_version": "m1", "result": [{"from_name": "overall", "to_name": "reply", "type": "number", "value": {"number": 4}}]}]}
""",  # noqa: E501 - an example stands as it would in a file
    sniff=partial(confidence, fits=_fits),
    read=partial(records, build=_build),
)
