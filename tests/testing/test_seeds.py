"""Seeds from a file: entities in plain JSON and in DynamoDB JSON; a line that is wrong is named, with the remedy."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from dynaorm import Aggregate, Entity, Session, Table, Unique, item_of
from dynaorm.errors import UsageError
from dynaorm.item.json_body import encode_body
from dynaorm.testing import FaultyTransport, ScriptedTransport, assert_consistent, entities, load_seeds
from dynaorm.transport import Call

app, other = Table("seeded"), Table("seeded-other")


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    members: int = 0


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE", versioned=True):
    user_id: str
    email: Annotated[str, Unique()]
    group_id: str = "g"
    balance: Decimal = Decimal(0)
    joined: datetime | None = None
    pin: SecretStr = SecretStr("")
    in_group = Aggregate(Group, count="members")


class Item(Entity, table=app, pk="ITEM#{name}", sk="ITEM"):
    name: str


class Note(Entity, table=other, pk="NOTE#{text}", sk="NOTE"):
    text: str
    photo: bytes = b""


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes lines, which are text or JSON, to a file."""

    def write(*lines: Any) -> Path:
        path = tmp_path / "seeds.jsonl"
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines))
        return path

    return write


def test_entities_in_plain_json_are_saved_and_returned_in_order(session: Session, write: Write) -> None:
    path = write(
        {"User": {"user_id": "1", "email": "a@x", "joined": "2024-05-01T12:00:00Z"}},
        "",
        {"User": {"user_id": "2", "email": "b@x", "balance": "12345678901234567890.12345", "pin": "1234"}},
        {"Group": {"group_id": "g"}},
        {"Item": {"name": "hammer"}},
        {"Note": {"text": "hello"}},
        "",
    )
    seeds = load_seeds(session, path, app, other)
    assert seeds == [
        User(user_id="1", email="a@x", joined=datetime(2024, 5, 1, 12, tzinfo=UTC)),
        User(user_id="2", email="b@x", balance=Decimal("12345678901234567890.12345"), pin=SecretStr("1234")),
        Group(group_id="g", members=2),
        Item(name="hammer"),
        Note(text="hello"),
    ]
    assert session.get_by(User, email="b@x") == seeds[1]
    assert_consistent(session, app, other)


def test_an_export_of_a_table_is_saved_without_what_belongs_to_its_entities(
    session: Session, wire: FaultyTransport, write: Write
) -> None:
    user = session.save(User(user_id="1", email="a@x"))
    session.update(user, {"balance": Decimal(7)})
    session.delete(session.save(User(user_id="2", email="b@x")))
    session.save(Item(name="saw"))
    exported = wire.call(Call("Scan", {"TableName": "seeded"}))["Items"]
    session.delete_table(app, name="seeded")
    session.create_table(app)
    seeds = load_seeds(session, write(*({"Item": one} for one in exported)), app)
    again = User(user_id="1", email="a@x", balance=Decimal(7))
    assert sorted(map(repr, seeds)) == sorted(
        map(repr, [Group(group_id="g", members=1), again, Item(name="saw")])
    )
    assert len(exported) > len(seeds) + 3
    assert session.get_by(User, email="a@x") == again
    assert [version.number for version in session.history(again)] == [1]
    assert_consistent(session, app)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "it is no JSON: .*; write one object with one member on each line"),
        ("[1]", "it is not an object with one member; write one"),
        ('{"User": {}, "Note": {}}', "it is not an object with one member; write one"),
        ('{"User": {}, "User": {}}', "it is not an object with one member; write one"),
        ('{"User": 1}', "the value of 'User' is not an object; write one"),
        ('{"Usr": {}}', "'Usr' is not a class of seeded; did you mean 'User'"),
        ('{"Note": {}}', "'Note' is not a class of seeded; name one of Group, Item, User, Item"),
        ('{"User": {"user_id": "1", "e_mail": "x"}}', "User has no field 'e_mail'; did you mean 'email'"),
        (
            '{"User": {"user_id": "1", "email": "a", "pin": 77, "balance": "SECRET"}}',
            "no valid User: balance: .*; pin: Input should be a valid string; correct these values",
        ),
        ('{"Item": {"PK": {"S": "ITEM#1"}}}', "it has no SK of type S.*Give items of entities"),
        (
            '{"Group": {"group_id": "g", "members": 2}}',
            "Group.members = 2: is kept by User.in_group.*; leave it out",
        ),
        ('{"Item": {"name": "hammer"}}', "key of Item.* is taken|already|exists"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_what_to_do(
    session: Session, write: Write, line: str, said: str
) -> None:
    path = write({"Item": {"name": "hammer"}}, line)
    with pytest.raises(UsageError, match=rf"(?s)^{re.escape(str(path))}:2: .*{said}") as caught:
        load_seeds(session, path, app)
    assert "SECRET" not in str(caught.value)


def test_nothing_is_saved_if_a_line_is_not_valid(session: Session, write: Write) -> None:
    with pytest.raises(UsageError, match=":2: "):
        load_seeds(session, write({"Item": {"name": "hammer"}}, "?"), app)
    assert session.scan(Item).count() == 0


def test_a_file_and_a_table_are_needed(session: Session, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl cannot be read: No such file.*; give the path"):
        load_seeds(session, tmp_path / "none.jsonl", app)
    with pytest.raises(UsageError, match=r"no class and no table; give those"):
        load_seeds(session, tmp_path / "none.jsonl")


def test_a_name_of_two_classes_is_refused(session: Session, write: Write) -> None:
    declared = Table("seeded-twice")

    def declare() -> type[Entity]:
        class Note(Entity, table=declared, pk="N#{text}", sk="N"):
            text: str

        return Note

    same = declare()
    with pytest.raises(
        UsageError, match="Note is a class of seeded-other and seeded-twice; give one of these tables"
    ):
        load_seeds(session, write({"Note": {"text": "x"}}), other, same)


@settings(
    max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(notes=st.lists(entities(Note), max_size=3))
def test_every_entity_can_be_a_seed_in_both_forms(notes: list[Note], write: Write) -> None:
    sent = ScriptedTransport(*[{}] * 2 * len(notes))
    lines = [encode_body({"Item": item_of(note)}).decode() for note in notes]
    # Only texts are the same in plain JSON: bytes have no form of their own.
    lines += [json.dumps({"Note": {"text": note.text}}) for note in notes]
    found = load_seeds(Session(transport=sent), write(*lines), other)
    assert found == [*notes, *(Note(text=note.text) for note in notes)]
    assert [call.operation for call in sent.calls] == ["PutItem"] * 2 * len(notes)
