"""What the records of every view type say about entities, and what they cannot say."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import SecretStr

from dynaorm import Aggregate, Attribute, Entity, Key, NumberKey, Table, Unique, item_of
from dynaorm.errors import DecodeError, UsageError
from dynaorm.streams import Changed, Deleted, Inserted, Internal, Unreadable, changes
from tests.streams.events import AT, FORMS, VIEWS, in_kinesis, in_lambda, written

app = Table("app")


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    email: Annotated[str | None, Unique()] = None
    posts: int = 0
    size: float = 0.0


class Admin(User):
    rights: frozenset[str] = frozenset()


class Post(Entity, table=app, pk="USER#{name}", sk="POST#{number:03d}"):
    name: str
    number: int
    of_user = Aggregate(User, count="posts")


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    chip: Annotated[SecretStr | None, Unique()] = None


def item(entity: Entity, **others: Any) -> Any:
    return {**item_of(entity), "_rev": {"S": "r"}, **others}


def only(*records: Any, **options: Any) -> Any:
    (found,) = changes(in_lambda(*records), app, **options)
    return found


LIZ, BOB = item(User(name="liz", email="a@x")), item(User(name="liz", email="b@x"))
KEY = Key(User, name="liz")
AUDIT = item(Audit(name="a"), version={"N": "1"}, version_at={"S": "2024-01-01T00:00:00.000000Z"})
AUDIT_KEY = {"PK": AUDIT["PK"], "SK": AUDIT["SK"]}
TOMBSTONE: Any = {**AUDIT_KEY, "version": {"N": "1"}, "deleted": {"BOOL": True}, "_rev": {"S": "r"}}
VERSION: Any = {**{name: value for name, value in AUDIT.items() if name != "_type"}, "SK": {"S": "v1_A"}}
GUARD: Any = {"PK": {"S": "email#a@x"}, "SK": {"S": "email#a@x"}, "owner": {"M": {}}}


# -- plain entities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_of_inserts_changes_and_deletions(form: str) -> None:
    event = FORMS[form](written(None, LIZ), written(LIZ, BOB, sequence=222), written(BOB, None, sequence=333))
    liz, bob = User(name="liz", email="a@x"), User(name="liz", email="b@x")
    assert list(changes(event, app)) == [
        Inserted(liz, KEY, "111", AT),
        Changed(liz, bob, frozenset({"email"}), False, KEY, "222", AT),
        Deleted(bob, False, KEY, "333", AT),
    ]


def test_a_deletion_by_ttl_is_told_apart() -> None:
    assert only(written(LIZ, None, ttl=True)).expired is True
    assert only(written(LIZ, None)).expired is False


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_view_leaves_out_is_not_known(view: str) -> None:
    images = VIEWS[view]
    inserted, changed, deleted = changes(
        in_lambda(written(None, LIZ, view=view), written(LIZ, BOB, view=view), written(BOB, None, view=view)),
        app,
    )
    assert isinstance(inserted, Inserted)
    assert isinstance(changed, Changed)
    assert isinstance(deleted, Deleted)
    assert {one.key for one in (inserted, changed, deleted)} == {KEY}
    assert (inserted.new_or_none is not None) is (changed.new_or_none is not None) is ("NewImage" in images)
    assert (deleted.old_or_none is not None) is (changed.old_or_none is not None) is ("OldImage" in images)
    assert (changed.fields_or_none is None) is (changed.totals_only is None) is (len(images) < 2)
    for one, name in ((inserted, "new"), (changed, "new"), (changed, "old"), (deleted, "old")):
        if f"{name.title()}Image" in images:
            assert getattr(one, name).name == "liz"
        else:
            with pytest.raises(UsageError, match=rf"no {name} image of Key\(User, name='liz'\); switch"):
                getattr(one, name)
    if len(images) < 2:
        with pytest.raises(UsageError, match="NEW_AND_OLD_IMAGES"):
            _ = changed.fields


def test_values_that_are_spelled_in_another_way_did_not_change() -> None:
    one = only(written({**LIZ, "size": {"N": "0.0"}}, {**LIZ, "size": {"N": "0"}, "extra": {"S": "x"}}))
    assert (one.fields, one.totals_only) == (frozenset(), False)
    absent = {name: value for name, value in LIZ.items() if name != "size"}
    assert only(written(absent, LIZ)).fields == frozenset()


def test_a_write_of_totals_alone_is_marked() -> None:
    counted = {**LIZ, "posts": {"N": "1"}}
    assert only(written(LIZ, counted)).totals_only is True
    assert only(written(LIZ, {**counted, "email": {"S": "z"}})).totals_only is False


def test_another_class_in_the_same_place_is_a_deletion_and_an_insert() -> None:
    admin = item(Admin(name="liz", rights=frozenset({"all"})))
    deleted, inserted = changes(in_lambda(written(LIZ, admin)), app)
    assert isinstance(deleted, Deleted)
    assert isinstance(inserted, Inserted)
    assert (type(deleted.old), type(inserted.new)) == (User, Admin)
    assert inserted.key == Key(Admin, name="liz")


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("NEW_AND_OLD_IMAGES", [(Deleted, User), (Inserted, Admin)]),
        ("NEW_IMAGE", [(Changed, Admin)]),
        ("OLD_IMAGE", [(Changed, User)]),
        ("KEYS_ONLY", [(Changed, User)]),
    ],
)
def test_a_view_that_hides_an_image_hides_that_the_class_was_another(view: str, expected: Any) -> None:
    found = changes(in_lambda(written(LIZ, item(Admin(name="liz")), view=view)), app)
    assert [(type(one), one.key.entity) for one in found] == expected


def test_a_key_that_is_an_attribute_of_a_table_without_types() -> None:
    table = Table("plain", pk=NumberKey("Id"), sk=None, type_attribute=None, revision_attribute=None)

    class Thing(Entity, table=table, pk="{id}"):
        id: Annotated[int, Attribute("Id")]
        message: Annotated[str, Attribute("Message")]

    new: Any = {"Id": {"N": "101"}, "Message": {"S": "New item!"}}
    (found,) = changes(in_lambda(written(None, new, keys=("Id",))), table)
    assert isinstance(found, Inserted)
    assert found.new == Thing(id=101, message="New item!")
    assert found.key == Key(Thing, id=101)


# -- versions and internal items ---------------------------------------------------------------------------------------


def test_twelve_records_of_six_writes_are_six_changes() -> None:
    newer = {**AUDIT, "version": {"N": "2"}}
    freed = {**GUARD, "owner": {"M": {"PK": {"S": "USER#bob"}}}}
    records = [
        written(None, LIZ), written(None, GUARD),
        written(None, AUDIT), written(None, VERSION),
        written(AUDIT, newer), written(None, {**VERSION, "SK": {"S": "v2_A"}}),
        written(newer, TOMBSTONE), written(VERSION, None),
        written(TOMBSTONE, AUDIT), written(None, {**VERSION, "SK": {"S": "v3_A"}}),
        written(GUARD, freed), written(LIZ, None),
    ]  # fmt: skip
    kinds = [type(one) for one in changes(in_lambda(*records), app)]
    assert kinds == [Inserted, Inserted, Changed, Deleted, Inserted, Deleted]
    shown = [
        one.kind for one in changes(in_lambda(*records), app, internal=True) if isinstance(one, Internal)
    ]
    assert shown == ["guard", "version", "version", "version", "version", "guard"]


def test_a_token_item_is_internal() -> None:
    token: Any = {"PK": {"S": "#token#t1"}, "SK": {"S": "#token#t1"}, "_block": {"S": "x"}}
    assert list(changes(in_lambda(written(None, token), written(token, None, ttl=True)), app)) == []
    assert only(written(None, token), internal=True).kind == "token"
    assert only(written(None, token, view="KEYS_ONLY"), internal=True).kind == "token"


def test_the_end_of_a_tombstone_is_internal() -> None:
    assert list(changes(in_lambda(written(TOMBSTONE, None)), app)) == []
    one = only(written(TOMBSTONE, None), internal=True)
    assert (one.kind, one.old, one.new) == ("tombstone", TOMBSTONE, None)


def test_the_end_of_a_versioned_entity_without_a_tombstone_is_a_deletion() -> None:
    one = only(written(AUDIT, None))
    assert (one.key, one.old) == (Key(Audit, name="a"), Audit(name="a"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (None, AUDIT, {"KEYS_ONLY": Inserted, "NEW_IMAGE": Inserted, "OLD_IMAGE": Inserted}),
        (AUDIT, AUDIT, {"KEYS_ONLY": None, "NEW_IMAGE": Changed, "OLD_IMAGE": None}),
        (AUDIT, TOMBSTONE, {"KEYS_ONLY": None, "NEW_IMAGE": Deleted, "OLD_IMAGE": None}),
        (TOMBSTONE, AUDIT, {"KEYS_ONLY": None, "NEW_IMAGE": Changed, "OLD_IMAGE": Inserted}),
        (TOMBSTONE, None, {"KEYS_ONLY": None, "NEW_IMAGE": None, "OLD_IMAGE": Internal}),
        (AUDIT, None, {"KEYS_ONLY": None, "NEW_IMAGE": None, "OLD_IMAGE": Deleted}),
    ],
    ids=["insert", "change", "delete", "insert again", "purge", "remove"],
)
def test_a_view_that_may_hide_a_tombstone_is_not_guessed(
    old: Any, new: Any, said: dict[str, type | None]
) -> None:
    for view, kind in said.items():
        one = only(written(old, new, view=view), internal=True)
        if kind is None:
            assert isinstance(one, Unreadable)
            assert "whether it was deleted" in str(one.error)
            assert "NEW_AND_OLD_IMAGES" in str(one.error)
        else:
            assert type(one) is kind
        if kind is not Internal:
            assert one.key == Key(Audit, name="a")


def test_ttl_deletes_no_tombstone() -> None:
    assert only(written(AUDIT, None, view="KEYS_ONLY", ttl=True)).expired


# -- what cannot be read -----------------------------------------------------------------------------------------------


def test_an_item_that_is_not_valid_is_unreadable() -> None:
    broken = {**LIZ, "posts": {"S": "many"}}
    for old in (None, LIZ):
        one = only(written(old, broken))
        assert isinstance(one, Unreadable)
        assert (one.key, one.sequence, one.at) == (KEY, "111", AT)
        assert "posts" in str(one.error)


def test_an_entity_whose_old_image_is_not_valid_is_still_told_of() -> None:
    broken = {**LIZ, "posts": {"S": "many"}}
    changed, deleted = changes(in_lambda(written(broken, LIZ), written(broken, None)), app)
    assert isinstance(changed, Changed)
    assert isinstance(deleted, Deleted)
    assert changed.new == User(name="liz", email="a@x")
    assert changed.fields_or_none is None
    for one in (changed, deleted):
        assert one.old_or_none is None
        with pytest.raises(DecodeError, match="posts"):
            _ = one.old


def test_an_item_of_no_class_is_unreadable() -> None:
    stray: Any = {"PK": {"S": "X"}, "SK": {"S": "Y"}, "_type": {"S": "Invoice"}}
    for old, new in ((None, stray), (stray, None)):
        one = only(written(old, new))
        assert isinstance(one, Unreadable)
        assert one.key.entity is None
        assert "its _type is 'Invoice'" in str(one.error)


def test_an_item_of_a_new_class_under_a_known_key_has_that_class_in_its_key() -> None:
    one = only(written(None, {**LIZ, "_type": {"S": "Superuser"}}))
    assert isinstance(one, Unreadable)
    assert one.key == KEY


def test_an_entity_that_becomes_an_item_of_no_class_is_deleted_and_unreadable() -> None:
    found = list(changes(in_lambda(written(LIZ, {**LIZ, "_type": {"S": "Superuser"}})), app))
    assert [type(one) for one in found] == [Deleted, Unreadable]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"Keys": {"Id": {"N": "1"}}},
            r"its Keys have no PK of type S, which is in the key of Table\('app'\)",
        ),
        ({"Keys": None}, "no Keys"),
    ],
)
def test_a_record_that_is_none_of_the_table_is_unreadable(change: Any, words: str) -> None:
    record = written(None, LIZ)
    record["dynamodb"] |= change
    one = only(record)
    assert isinstance(one, Unreadable)
    assert one.key.primary_key == {}
    with pytest.raises(DecodeError, match=words):
        raise one.error


def test_no_change_shows_a_secret() -> None:
    secret = item(Audit(name="a", chip=SecretStr("4711")))
    guard = {"PK": {"S": "chip#4711"}, "SK": {"S": "chip#4711"}, "owner": {"M": {}}}
    broken = {**secret, "name": {"N": "4711"}}
    records = [written(None, secret), written(None, guard), written(None, broken), written(secret, None)]
    assert "4711" not in repr(list(changes(in_lambda(*records), app, internal=True)))


# -- tables ------------------------------------------------------------------------------------------------------------


def test_one_table_takes_every_record_as_its_own() -> None:
    assert only(written(None, LIZ, table="prod-app")).new.name == "liz"


def test_the_name_of_the_table_decides_between_tables() -> None:
    other = Table("other")

    class Song(Entity, table=other, pk="SONG#{name}", sk="S"):
        name: str

    records = [
        written(None, LIZ, table="prod-app"),
        written(None, item(Song(name="la")), table="prod-other"),
        written(None, LIZ, table="others"),
    ]

    def names(*tables: Table, **options: Any) -> Iterator[Any]:
        return (one.new.name for one in changes(in_kinesis(*records), *tables, **options))

    assert list(names(app, other, table_names=lambda name: f"prod-{name}")) == ["liz", "la"]
    assert list(names(app, table_names={"app": "prod-app"})) == ["liz"]
    assert list(names(other, table_names={"app": "prod-app"})) == []


@pytest.mark.parametrize("record", [None, {}, {**written(None, LIZ), "eventSourceARN": None}], ids=str)
def test_between_tables_a_record_that_names_none_is_unreadable(record: Any) -> None:
    event = {"Records": [record, written(None, LIZ)]}
    wrong, liz = changes(event, app, Table("other"))
    assert isinstance(wrong, Unreadable)
    assert wrong.record is record
    assert liz.key == KEY
    assert len(list(changes(event, app, table_names={"app": "app"}))) == 2


@pytest.mark.parametrize("tables", [(), (User,), ("app",)])
def test_only_tables_are_taken(tables: Any) -> None:
    with pytest.raises(UsageError, match="give the Table"):
        changes({"Records": []}, *tables)


def test_an_event_is_checked_before_the_first_change() -> None:
    with pytest.raises(UsageError, match="not an event"):
        changes({}, app)
