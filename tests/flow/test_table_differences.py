"""The comparison of a declared table with a live one, and the steps that make the live one as declared."""

from datetime import datetime
from itertools import count
from typing import Annotated, Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynaorm import Attribute, Entity, ExpiresAt, GlobalIndex, LocalIndex, NumberKey, Session, Table, tools
from dynaorm.description import Difference, describe, differences, table_steps
from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Transport
from dynaorm.flow.table_definition import definition
from dynaorm.testing import FakeClock

_NUMBERS: Final = count()

_KEYS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"sk": None},
    {"sk": NumberKey("number")},
    {"pk": "other"},
    {"pk": ("a", "b"), "sk": ("c", "d")},
)
_PROJECTIONS: Final = ("ALL", "KEYS_ONLY", ("x",), ("x", "y"))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A table with up to three global indexes, and a stream or none."""
    indexes = [
        GlobalIndex(name, **draw(st.sampled_from(_KEYS)), projection=draw(st.sampled_from(_PROJECTIONS)))
        for name in ("one", "two", "three")
        if draw(st.booleans())
    ]
    # moto cannot change the view of a stream, or switch one off.
    return Table("compared", indexes=indexes, stream=draw(st.sampled_from([None, "KEYS_ONLY"])))


def described(engine: Transport, name: str) -> Any:
    return engine.call(Call("DescribeTable", {"TableName": name}))


@given(tables(), tables())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_steps_make_a_live_table_as_declared(moto: Transport, declared: Table, live: Table) -> None:
    name = f"live-{next(_NUMBERS)}"
    moto.call(Call("CreateTable", definition(live, name)))
    found = differences(describe(declared), described(moto, name), name=name)
    for step in table_steps(found, delete=True):
        assert len(step.request.get("GlobalSecondaryIndexUpdates", [None])) == 1
        moto.call(Call(step.operation, dict(step.request)))
    assert differences(describe(declared), described(moto, name), name=name) == ()
    with Session(transport=moto, clock=FakeClock(), table_names=lambda _: name) as session:
        assert tools.compare_table(session, declared) == ()
        session.create_table(declared)
    moto.call(Call("DeleteTable", {"TableName": name}))


@given(tables(), tables())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_create_table_accepts_harmless_differences(moto: Transport, declared: Table, live: Table) -> None:
    name = f"live-{next(_NUMBERS)}"
    moto.call(Call("CreateTable", definition(live, name)))
    found = differences(describe(declared), described(moto, name), name=name)
    # create_table switches a stream on itself, but not another one.
    wrong = [one for one in found if not one.is_harmless and not (one.kind == "stream" and one.live is None)]
    with Session(transport=moto, clock=FakeClock(), table_names=lambda _: name) as session:
        if wrong:
            with pytest.raises(UsageError) as raised:
                session.create_table(declared)
            assert any(one.problem in str(raised.value) or one.kind == "stream" for one in wrong)
        else:
            session.create_table(declared)
    moto.call(Call("DeleteTable", {"TableName": name}))


# -- one difference each -----------------------------------------------------------------------------------------------

plain = Table("plain")
fleeting = Table("differences-fleeting")
lasting = Table("differences-lasting")
local = Table("differences-local", indexes=[LocalIndex("LSI1"), GlobalIndex("GSI1")])


class Login(Entity, table=fleeting, pk="LOGIN#{token}", sk="L"):
    token: str
    until: Annotated[datetime, ExpiresAt()]


class Contract(Entity, table=lasting, pk="CONTRACT#{number}", sk="C"):
    number: str
    until: Annotated[int, Attribute("ends")]


def live(table: Table, **changes: Any) -> dict[str, Any]:
    return {"Table": {**definition(table, table.name), **changes}}


def only(found: tuple[Difference, ...]) -> Difference:
    (one,) = found
    return one


def test_ttl_is_switched_on_or_to_another_attribute() -> None:
    off, other = ({"TimeToLiveStatus": "DISABLED"}, {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"})
    found = only(differences(describe(fleeting), live(fleeting), {"TimeToLiveDescription": off}))
    assert (found.declared, found.live, len(found.steps)) == ("until", None, 1)
    found = only(differences(describe(fleeting), live(fleeting), other))
    assert (found.declared, found.live) == ("until", "ttl")
    assert [step.request["TimeToLiveSpecification"] for step in found.steps] == [
        {"Enabled": False, "AttributeName": "ttl"},
        {"Enabled": True, "AttributeName": "until"},
    ]
    assert table_steps([found]) == ()


def test_an_undeclared_ttl_is_harmless_where_no_field_is_stored() -> None:
    def by(attribute: str) -> Difference:
        live_ttl = {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}
        return only(differences(describe(lasting), live(lasting), live_ttl))

    assert by("elsewhere").is_harmless
    assert by("elsewhere").problem == "it expires items by 'elsewhere', which no class stores"
    found = by("ends")
    assert not found.is_harmless
    assert "Contract.until is declared without ExpiresAt(), so DynamoDB deletes entities" in found.problem
    assert found.remedy == "declare ExpiresAt() on Contract.until, or switch TTL off"
    assert [(step.text, step.deletes) for step in found.steps] == [
        ("switch off the expiry of items by 'ends'", True)
    ]


def test_an_index_of_another_kind_is_named() -> None:
    one = live(local)["Table"]["LocalSecondaryIndexes"][0]
    both = [*live(local)["Table"]["GlobalSecondaryIndexes"], one]
    found = only(
        differences(describe(local), live(local, GlobalSecondaryIndexes=both, LocalSecondaryIndexes=[]))
    )
    assert (found.kind, found.declared, found.live) == ("index kind", "local", "global")


def test_an_index_being_deleted_is_missing_and_not_yet_created() -> None:
    one = live(local)["Table"]["GlobalSecondaryIndexes"][0]
    found = only(
        differences(describe(local), live(local, GlobalSecondaryIndexes=[{**one, "IndexStatus": "DELETING"}]))
    )
    assert found.kind == "no index"
    assert found.remedy.startswith("wait")


def test_a_new_index_of_a_provisioned_table_has_its_throughput() -> None:
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 2, "NumberOfDecreasesToday": 0}
    found = only(
        differences(describe(local), live(local, GlobalSecondaryIndexes=[], ProvisionedThroughput=units))
    )
    created = found.steps[0].request["GlobalSecondaryIndexUpdates"][0]["Create"]
    assert created["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 2}


def test_an_index_with_a_key_of_another_type_cannot_be_created() -> None:
    types = [
        {**one, "AttributeType": "N"} if one["AttributeName"] == "GSI1SK" else one
        for one in definition(local, "x")["AttributeDefinitions"]
    ]
    changed = live(local, GlobalSecondaryIndexes=[], AttributeDefinitions=types)
    found = only(differences(describe(local), changed))
    assert found.steps == ()
    assert "GSI1SK" in found.remedy


@pytest.mark.parametrize("answer", [{}, {"Table": None}, {"Table": {"KeySchema": [{}]}}])
def test_what_is_no_description_of_a_table_is_refused(answer: Any) -> None:
    with pytest.raises(UsageError, match="DescribeTable"):
        differences(describe(plain), answer)
