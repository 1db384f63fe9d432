"""``explain()`` of a read says what is sent: each request with its keys, filter, projection and order, and no other."""

import os
import re
from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Session
from dynaorm.errors import UsageError
from dynaorm.item.text import printable
from dynaorm.testing import FakeClock, FaultyTransport
from dynaorm.transport import Call, Transport
from tests.laws.chains import chains
from tests.laws.classes import NOON, declare, rows, schemas
from tests.laws.test_reads import is_rightly_refused, query_of, store

FETCHED = "The whole items are fetched by key"
KINDS = ("all", "all", "keys", "consistent", "values")
DOUBTFUL = "An entry whose keys do not tell whether it is wanted is fetched by key"


def expression(request: Any, name: str) -> str:
    """An expression with its names and values in place of the placeholders."""
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})

    def meant(found: re.Match[str]) -> str:
        text = found[0]
        return str(names[text]) if text[0] == "#" else repr(next(iter(values[text].values())))

    return re.sub(r"[#:]\w+", meant, request[name])


def in_words(call: Call) -> str:
    """A request as it is explained."""
    request = call.request
    text = f"{call.operation} {request['TableName']}"
    text += f" index {request['IndexName']}" if "IndexName" in request else ""
    if "KeyConditionExpression" in request:
        text += f": {expression(request, 'KeyConditionExpression')}"
    if "Segment" in request:
        text += f": segment {request['Segment'] + 1} of {request['TotalSegments']}"
    if "FilterExpression" in request:
        text += f", filter {expression(request, 'FilterExpression')}"
    if "ProjectionExpression" in request:
        text += f", only {expression(request, 'ProjectionExpression').replace(',', '')}"
    text += "" if request.get("ScanIndexForward", True) else ", descending"
    return printable(text + (", consistent" if request.get("ConsistentRead") else ""))


def variant(query: Any, kind: str) -> Any:
    if kind == "values":
        return query.values("row", "flag")
    return query if kind == "all" else getattr(query, kind)()


def check(query: Any, wire: FaultyTransport, *, is_limited: bool) -> None:
    lines = query.explain().splitlines()
    said = [line.partition(" ")[2] for line in lines if re.match(r"\d+\. ", line)]
    wire.calls.clear()
    found = query.all()
    operations = {call.operation for call in wire.calls}
    asked = [call for call in wire.calls if call.operation in ("Query", "Scan")]
    first = Counter(in_words(call) for call in asked if "ExclusiveStartKey" not in call.request)
    # With a limit, a read may have enough before it asks every partition or segment.
    assert first == Counter(said) or (is_limited and first <= Counter(said))
    assert operations <= {"Query", "Scan", "BatchGetItem"}
    is_fetched = any(line.startswith(FETCHED) for line in lines)
    may_fetch = is_fetched or any(line.startswith(DOUBTFUL) for line in lines)
    assert may_fetch or "BatchGetItem" not in operations
    assert not (is_fetched and found) or "BatchGetItem" in operations
    assert not said or lines[0].startswith(f"{len(said)} request")


def ask(query: Any, kind: str, wire: FaultyTransport, *, is_limited: bool) -> str:
    """Check a read, or that it is refused for a reason of its own and sends nothing: which of both."""
    wire.calls.clear()
    try:
        query = variant(query, kind)
        query.explain()
    except UsageError as refused:
        if kind != "consistent" or "no consistent reads" not in str(refused):
            if not is_rightly_refused(str(refused)):
                raise
            with suppress(UsageError):
                query.all()
                raise AssertionError(f"only explain() is refused: {refused}") from None
        assert not wire.calls
        return "refused"
    check(query, wire, is_limited=is_limited)
    return kind


def test_what_is_explained_is_what_is_sent(engine: Transport) -> None:
    asked: Counter[str] = Counter()

    @settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "15")))
    @given(data=st.data())
    def explain(data: st.DataObject) -> None:
        schema = data.draw(schemas(numbered=True), label="schema")
        declared, drawn = declare(schema), data.draw(rows(schema), label="rows")
        wire = FaultyTransport(engine)
        session = Session(transport=wire, clock=FakeClock(NOON.timestamp()))
        store(session, engine, declared, drawn)
        try:
            for _ in range(4):
                chain = data.draw(chains(declared, drawn), label="chain")
                kind = data.draw(st.sampled_from(KINDS), label="kind")
                try:
                    query = query_of(session, declared, chain)
                except UsageError as refused:
                    if not is_rightly_refused(str(refused)):
                        raise
                    continue
                asked[ask(query, kind, wire, is_limited=chain.limit is not None)] += 1
        finally:
            engine.call(Call("DeleteTable", {"TableName": declared.table.name}))

    explain()
    assert {*KINDS} <= asked.keys()
    assert asked.total() > 2 * asked["refused"]
