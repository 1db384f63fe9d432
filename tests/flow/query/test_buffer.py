"""What a walk has in hand tells where it was found, and answers are read straight where nothing speaks against it."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, InKey, Key, Session, Table, any_of
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import LazyItem, carried_by, state_of
from dynaorm.errors import DecodeError
from dynaorm.flow.call import Call
from dynaorm.flow.wanted import key_in, source_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.value import Item
from dynaorm.testing.transports import Answer, ScriptedTransport

APP = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("Part", projection="KEYS_ONLY")])


class Task(Entity, table=APP, pk="PROJECT#{project}", sk="TASK#{number:04d}"):
    project: str
    number: int
    title: str = ""
    by_title = Index("GSI1", pk="TITLE#{title}", sk="{project}#{number:04d}")
    in_part = Index("Part", pk="TITLE#{title}", sk="{project}#{number:04d}")


def item(number: int, /, **changes: Any) -> dict[str, Any]:
    task = Task(project="p", number=number, title="t")
    mapping = mapping_of(Task)
    keys = mapping.primary_key.of(vars(task)) | index_keys(mapping, mapping.subject({}, vars(task)))
    stored = mapping.encoder.encode(vars(task)) | keys
    return {**stored, "_type": {"S": "Task"}, "_rev": {"S": "r"}, **changes}


def answer(*items: Item, **more: Any) -> Body:
    return Body(encode_body({"Items": items, "Count": len(items), **more}))


def last(number: int) -> dict[str, Item]:
    return {"LastEvaluatedKey": {name: item(number)[name] for name in ("PK", "SK")}}


def asked(*answers: Answer, **options: Any) -> tuple[Session, ScriptedTransport]:
    transport = ScriptedTransport(*answers)
    return Session(transport=transport, **options), transport


def is_straight(entity: Entity) -> bool:
    """Whether an entity was made without its item having been taken apart."""
    return isinstance(carried_by(entity), LazyItem)


def test_entities_come_straight_out_of_their_answers_and_in_order() -> None:
    session, _ = asked(answer(item(1), item(2), **last(2)), answer(item(3)))
    found = session.query(Task, project="p").all()
    assert [task.number for task in found] == [1, 2, 3]
    assert all(map(is_straight, found))
    assert [state_of(task) for task in found][2] == state_of(mapping_of(Task).loader.hydrate(item(3)))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_pages_end_where_the_last_entity_returned_was(size: int) -> None:
    stored = [item(number) for number in range(1, 5)]

    def query(call: Call) -> Body:
        start = call.request.get("ExclusiveStartKey")
        after = [one["SK"] for one in stored].index(start["SK"]) + 1 if start else 0
        # As the table answers to a Limit that is larger than it was asked to be.
        return answer(*stored[after:])

    session, _ = asked(query, query, query, query)
    numbers, cursor = [], None
    while True:
        page = session.query(Task, project="p").page(size, after=cursor)
        numbers.append([task.number for task in page])
        if (cursor := page.cursor) is None:
            break
    assert [number for one in numbers for number in one] == [1, 2, 3, 4]
    assert all(len(one) == size for one in numbers[:-1])


def test_where_an_entity_was_is_known_whatever_has_become_of_it_since() -> None:
    session, _ = asked(answer(item(1)), {})
    (task,) = session.query(Task, project="p").all()
    place = source_of(task)
    session.delete(task)
    assert state_of(task) is None
    assert key_in(place, ("SK",)) == {"SK": {"S": "TASK#0001"}}


def test_what_is_left_to_the_codecs_is_found_in_its_place_or_told() -> None:
    stranger: Item = {"PK": {"S": "PROJECT#p"}, "SK": {"S": "TASK#one"}}
    damaged = item(3, number={"S": "three"})
    stored = answer(item(1), stranger, damaged, item(4))
    session, _ = asked(stored)
    with pytest.raises(DecodeError, match="number: is stored as S, not as N"):
        session.query(Task, project="p").all()
    problems: list[DecodeError] = []
    session, _ = asked(stored, on_decode_error=problems.append)
    found = session.query(Task, project="p").all()
    assert [(task.number, is_straight(task)) for task in found] == [(1, True), (4, True)]
    assert {str(problem.key["SK"]["S"]) for problem in problems} == {"TASK#one", "TASK#0003"}


FETCHED = Body(encode_body({"Responses": {"app": [item(1)]}}))
SEVERAL: list[Callable[[Session], Any]] = [
    lambda session: session.query(Task, project=any_of("p", "q")).all(),
    lambda session: session.query(Task.in_part, title="t").all(),
]


@pytest.mark.parametrize("query", SEVERAL, ids=["merged", "projected"])
def test_merged_and_fetched_entities_come_straight_out_of_their_answers(
    query: Callable[[Session], Any],
) -> None:
    session, _ = asked(answer(item(1)), lambda call: answer() if call.operation == "Query" else FETCHED)
    (task,) = query(session)
    assert is_straight(task)
    assert state_of(task) == state_of(mapping_of(Task).loader.hydrate(item(1)))


def test_scans_filters_indexes_and_collections_are_read_straight_too() -> None:
    queries: list[Callable[[Session], Any]] = [
        lambda session: session.scan(Task, segments=2).all(),
        lambda session: session.query(Task, project="p").filter(F.title == "t").all(),
        lambda session: session.query(Task.by_title, title="t").descending().all(),
        lambda session: session.collection(Task, project="p").all(),
    ]
    for query in queries:
        session, _ = asked(answer(item(1)), answer())
        (task,) = query(session)
        assert is_straight(task)


def test_a_batch_gives_each_key_its_entity_whatever_the_order_and_once_for_a_key_given_twice() -> None:
    damaged = item(4, number={"S": "four"})
    left = {"UnprocessedKeys": {"app": {"Keys": [{"PK": item(1)["PK"], "SK": item(1)["SK"]}]}}}
    problems: list[DecodeError] = []
    session, transport = asked(
        Body(encode_body({"Responses": {"app": [damaged, item(2)]}, **left})),
        Body(encode_body({"Responses": {"app": [item(1)]}})),
        on_decode_error=problems.append,
    )
    keys = [Key(Task, project="p", number=number) for number in (1, 2, 3, 4, 1)]
    first, second, absent, unread, again = session.get_many(keys)
    assert (first, second, absent, unread) == (Task(project="p", number=1, title="t"), second, None, None)
    assert second is not None
    assert second.number == 2
    assert again is first
    assert is_straight(second)
    assert [problem.key["SK"] for problem in problems] == [item(4)["SK"]]
    assert transport.calls[1].request["RequestItems"]["app"]["Keys"] == left["UnprocessedKeys"]["app"]["Keys"]


def test_a_half_open_range_leaves_out_the_upper_end_that_between_includes() -> None:
    foreign = item(2, SK={"S": "TASK#2"})  # as another writer renders it
    problems: list[DecodeError] = []
    session, transport = asked(answer(foreign, item(3), item(4)), on_decode_error=problems.append)
    found = session.query(Task, project="p").gt(number=1).lt(number=4).all()
    within = transport.calls[0].request["ExpressionAttributeValues"]
    assert [within[name]["S"] for name in (":v1", ":v2")] == ["TASK#0001\0", "TASK#0004"]
    assert [task.number for task in found] == [3]
    assert all(map(is_straight, found))
    assert [problem.key["SK"]["S"] for problem in problems] == ["TASK#2"]


class Errand(Entity, table=APP, pk="ERRANDS#{owner:shard2}", sk="ERRAND#{number:03d}"):
    owner: Annotated[str, Attribute("owner", formerly=("holder",))]
    number: int


class Walk(Entity, table=APP, pk="WALKS#{place:shard2}", sk="WALK#{place}"):
    place: Annotated[str, InKey()]


@pytest.mark.parametrize(
    ("entity", "given", "stored"),
    [
        (Errand(owner="x", number=1), {"owner": "x"}, {"holder": {"S": "x"}, "number": {"N": "1"}}),
        (Walk(place="x"), {"place": "x"}, {}),
    ],
    ids=["under its former name", "in a key"],
)
def test_a_field_that_is_compared_is_found_wherever_it_is_stored(
    entity: Entity, given: dict[str, Any], stored: Item
) -> None:
    mapping = mapping_of(type(entity))
    found = {**mapping.primary_key.of(vars(entity)), **stored, "_type": {"S": mapping.name}}
    session, _ = asked(answer(found, {**found, "_type": {"S": "Other"}}))
    assert session.query(type(entity), **given).all() == [entity]
