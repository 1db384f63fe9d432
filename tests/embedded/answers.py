"""What a DynamoDB answers, in a form that two of them can be compared by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dynaorm.transport import Call, NoAnswer, Refusal, Transport

_PAGES: Final = 60
_INVALID: Final = "ValidationException"


class Answer(NamedTuple):
    """A reply, or a refusal.

    Attributes:
        content: what must be equal.
        refused: the codes of a refusal; "" for a reply.
        message: its messages.
    """

    content: Any
    refused: str = ""
    message: str = ""


def answer(engine: Transport, operation: str, request: Mapping[str, Any]) -> Answer:
    """What an engine answers, with sets and unordered items sorted.

    Of several things that are wrong with a transaction, two engines may find another one first: one of the request, or
    of one action. And ministack answers some of them by an internal error.
    """
    try:
        if operation in ("Query", "Scan"):
            return Answer(_pages(engine, operation, request))
        reply = dict(engine.call(Call(operation, request)))
    except NoAnswer as trouble:
        return Answer(_INVALID, _INVALID, str(trouble))
    except Refusal as refusal:
        reasons = [reason for reason in refusal.reasons if reason is not None]
        codes = {reason.code for reason in reasons} or {refusal.code}
        message = " ".join([refusal.message, *(reason.message for reason in reasons)])
        if codes <= {_INVALID, "ValidationError"}:
            return Answer(_INVALID, _INVALID, message)
        told = [reason and (reason.code, _sorted_sets(reason.item)) for reason in refusal.reasons]
        return Answer((refusal.code, told, _sorted_sets(refusal.item)), " ".join(sorted(codes)), message)
    if operation == "TransactGetItems":
        # An item that has nothing of what is projected is empty. ministack leaves it out.
        reply["Responses"] = [read if read.get("Item") else {} for read in reply["Responses"]]
    if operation == "BatchGetItem":
        reply["Responses"] = {
            table: sorted(map(repr, _sorted_sets(items))) for table, items in reply["Responses"].items()
        }
    return Answer(_sorted_sets({name: value for name, value in reply.items() if value != {}}))


def _pages(engine: Transport, operation: str, request: Mapping[str, Any]) -> Any:
    """All pages of a query, or of all segments of a scan.

    Two engines may place partitions, and the entries of an index with one key, in another order.
    """
    is_ordered = operation == "Query" and not request.get("IndexName", "").startswith("gsi")
    items: list[str] = []
    counts = [0, 0]
    pages = []
    for segment in range(request.get("TotalSegments", 1)):
        here = {**request, **({"Segment": segment} if "TotalSegments" in request else {})}
        for _ in range(_PAGES):
            reply = engine.call(Call(operation, here))
            page = [repr(_sorted_sets(item)) for item in reply.get("Items", ())]
            items += page
            counts[0] += reply["Count"]
            counts[1] += reply["ScannedCount"]
            pages.append((page, reply.get("LastEvaluatedKey")))
            if "LastEvaluatedKey" not in reply:
                break
            here["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
    return counts, _sorted_sets(pages) if is_ordered else sorted(items)


def _sorted_sets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: sorted(value[name]) if name in ("SS", "NS", "BS") else _sorted_sets(value[name])
            for name in sorted(value)
        }
    return [*map(_sorted_sets, value)] if isinstance(value, list | tuple) else value
