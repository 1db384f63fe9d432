"""``dump`` and ``load``: whole tables to files and back."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import Event, get_ident
from typing import Annotated, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, JsonValue, SecretStr

from dynaorm import (
    Aggregate,
    AsyncSession,
    CreatedAt,
    Entity,
    GlobalIndex,
    Index,
    Session,
    Table,
    Unique,
    item_of,
    tools,
)
from dynaorm.errors import DecodeError, TableNotFound, UnexpectedRefusal, UsageError
from dynaorm.flow.call import Call, NoAnswer, Refusal, Reply, Transport
from dynaorm.flow.table_definition import definition
from dynaorm.item.json_body import item_line
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.transport.asynchronous import ThreadedTransport

_NUMBERS: Final = count()


def opened(moto: Transport, *made: Table, **options: Any) -> Session:
    """A session on tables of its own."""
    number = next(_NUMBERS)
    session = Session(
        transport=moto,
        clock=options.pop("clock", FakeClock()),
        table_names=f"{{}}-t{number}".format,
        **options,
    )
    for table in made:
        for one in dict.fromkeys((table, table.guards)):
            moto.call(Call("CreateTable", definition(one, session._context.table_name(one.name))))
    return session


def lines_of(session: Session, table: Table, **options: Any) -> list[bytes]:
    file = BytesIO()
    tools.dump(session, table, file, **options)
    return file.getvalue().splitlines(keepends=True)


def put(moto: Transport, session: Session, table: Table, items: Any) -> None:
    for item in items:
        moto.call(Call("PutItem", {"TableName": session._context.table_name(table.name), "Item": item}))


# -- loading -----------------------------------------------------------------------------------------------------------

shop = Table("transfer", indexes=[GlobalIndex("GSI1")])


class Team(Entity, table=shop, pk="ZTEAM#{team}", sk="TEAM"):
    """Its key comes after that of its members, also in most scans."""

    team: str
    title: str
    members: int = 0


class Player(Entity, table=shop, pk="PLAYER#{name}", sk="PLAYER"):
    name: str
    email: Annotated[str, Unique()]
    team: str | None = None
    since: Annotated[datetime | None, CreatedAt()] = None
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{name}")
    in_team = Aggregate(Team, count="members")


class Page(Entity, table=shop, pk="PAGE#{name}", sk="PAGE", versioned=True):
    name: str
    text: str


@pytest.fixture
def lines(moto: Transport) -> list[bytes]:
    """A dump of a shop, players before their team."""
    session = opened(moto, shop, clock=FakeClock(datetime(2020, 1, 1, tzinfo=UTC).timestamp()))
    session.save(Team(team="red", title="The Reds"))
    for name in ("ann", "bob", "cyd"):
        session.save(Player(name=name, email=f"{name}@x", team="red"))
    page = session.save(Page(name="p", text="one"))
    page.text = "two"
    session.save(page)
    return sorted(lines_of(session, shop), key=lambda line: b"ZTEAM" in line)


def test_what_no_class_knows_is_kept_and_index_keys_are_made_anew(
    moto: Transport, lines: list[bytes]
) -> None:
    session = opened(moto, shop)
    item: Any = {
        "PK": {"S": "PLAYER#dan"},
        "SK": {"S": "PLAYER"},
        "_type": {"S": "Player"},
        "name": {"S": "dan"},
        "email": {"S": "dan@x"},
        "GSI1PK": {"S": "TEAM#gone"},
        "GSI1SK": {"S": "dan"},
        "note": {"M": {"by": {"S": "others"}}},
    }
    tools.load(session, shop, BytesIO(item_line(item)))
    found = next(one for one in map(json.loads, lines_of(session, shop)) if "email" in one["Item"])["Item"]
    assert found["note"] == item["note"]
    assert not {"GSI1PK", "GSI1SK"} & found.keys()


def test_refused_lines_are_told_with_their_place(moto: Transport, lines: list[bytes], tmp_path: Path) -> None:
    session = opened(moto, shop)
    rival = session.save(Player(name="rival", email="ann@x"))
    bad = [
        b"no json\n",
        b'{"Team":{"titel":"x"}}\n',
        item_line({"SK": {"S": "x"}}),
        item_line({"PK": {"S": "x"}, "SK": {"S": "x"}, "_type": {"S": "Nobody"}}),
        item_line(
            {"PK": {"S": "ZTEAM#blue"}, "SK": {"S": "TEAM"}, "_type": {"S": "Team"}, "team": {"S": "blue"}}
        ),
        b"\n",
    ]
    file = tmp_path / "lines"
    file.write_bytes(b"".join([*lines, *bad]))
    loaded = tools.load(session, shop, file)
    errors = Counter(one.error for one in loaded.refused)
    assert errors == {"DecodeError": 3, "UniqueViolation": 1, "ValueError": 1, "UsageError": 1}
    assert not loaded.is_complete
    assert (loaded.items, loaded.stored) == (len(lines) + 5, 4)
    assert str(loaded).startswith(
        f"{len(lines) + 5} items: 4 stored, 0 stored before, 6 refused\n{file}, line "
    )
    assert all(one.reason for one in loaded.refused)
    (taken,) = [one for one in loaded.refused if one.error == "UniqueViolation"]
    assert json.loads(lines[taken.place.line - 1])["Item"]["email"] == {"S": "ann@x"}
    assert "ann@x" in str(loaded)
    session.delete(rival)
    again = tools.load(session, shop, file)
    assert (again.stored, again.present, len(again.refused)) == (1, 4, 5)
    assert list(tools.verify(session, shop)) == []


def jsonl(items: list[Any]) -> str:
    return "".join(json.dumps({"Item": one}) + "\n" for one in items)


FORMS: Final[dict[str, Callable[[list[Any]], str]]] = {
    "lines": jsonl,
    "an answer": lambda items: json.dumps({"Items": items, "Count": len(items), "ConsumedCapacity": None}),
    "an array": lambda items: json.dumps([{"Item": one} for one in items]),
    "an array of items": json.dumps,
    "lines of items": lambda items: "".join(json.dumps(one) + "\n" for one in items),
    "requests": lambda items: json.dumps({"transfer": [{"PutRequest": {"Item": one}} for one in items]}),
    "a call": lambda items: json.dumps(
        {"RequestItems": {"transfer": [{"PutRequest": {"Item": one}} for one in items]}}
    ),
    "requests by their physical name": lambda items: json.dumps(
        {"physical": [{"PutRequest": {"Item": one}} for one in items]}
    ),
}


@given(
    st.lists(st.sampled_from(["team", "player", "page", "guard"]), min_size=1, max_size=5),
    st.sampled_from([None, 2]),
    st.data(),
)
def test_every_form_of_a_file_loads_what_lines_load(
    kinds: list[str], indent: int | None, data: st.DataObject
) -> None:
    entities: dict[str, Callable[[int], Entity]] = {
        "team": lambda n: Team(team=f"t{n}", title="x"),
        "player": lambda n: Player(name=f"p{n}", email=f"{n}@x"),
        "page": lambda n: Page(name=f"p{n}", text="é\n{"),
    }
    guard = {"PK": {"S": "email#g"}, "SK": {"S": "email#g"}, "owner": {"M": {}}, "_type": {"S": "_guard"}}
    items = [guard if one == "guard" else item_of(entities[one](n)) for n, one in enumerate(kinds)]
    for name in [data.draw(st.sampled_from(sorted(FORMS))), "lines"]:
        text = FORMS[name](items)
        if not name.startswith("lines"):
            text = json.dumps(json.loads(text), indent=indent)
        stored: dict[str, Any] = {}
        with Session(transport=_Keeper(stored), table_names={"transfer": "physical"}) as session:
            loaded = tools.load(session, shop, BytesIO(text.encode()), raw=True)
        assert (loaded.items, loaded.refused) == (len(items), ())
        assert sorted(map(str, stored.values())) == sorted({str(one) for one in items})


@pytest.mark.parametrize("member", [{"NextToken": "x"}, {"LastEvaluatedKey": {"PK": {"S": "a"}}}])
def test_a_part_of_a_scan_says_that_items_are_missing(member: dict[str, Any]) -> None:
    text = json.dumps({"Items": [item_of(Team(team="t", title="x"))], **member})
    with Session(transport=_Keeper({}), table_names={"transfer": "physical"}) as session:
        loaded = tools.load(session, shop, BytesIO(text.encode()), raw=True)
    (refused,) = loaded.refused
    assert "the answer goes on after these items" in str(refused)


class _Keeper:
    """A transport that keeps what BatchWriteItem puts."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self._stored = stored

    def call(self, call: Call, /) -> Reply:
        (puts,) = call.request["RequestItems"].values()
        for one in puts:
            item = one["PutRequest"]["Item"]
            self._stored[str(item["PK"])] = item
        return {}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense\n",
        "[1, 2]",
        '{"a": 1}\n{"b": 2}\n',
        '[\n {"Nobody": {"id": "1"}}\n]',
        '{"other": [{"PutRequest": {"Item": {"PK": {"S": "a"}, "SK": {"S": "b"}}}}]}',
        '{"transfer": [{"DeleteRequest": {"Key": {"PK": {"S": "a"}, "SK": {"S": "b"}}}}]}',
        '{"Items": [1]}',
        "[" * 100_000,
    ],
)
@pytest.mark.parametrize("raw", [True, False])
def test_a_file_without_a_usable_line_is_an_error_and_sends_nothing(
    tmp_path: Path, text: str, raw: bool
) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    with (
        Session(transport=ScriptedTransport(), clock=FakeClock()) as session,
        pytest.raises(UsageError, match=r"nothing in .*file\.json can be loaded: line 1: .*Item"),
    ):
        tools.load(session, shop, file, raw=raw)


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    with Session(transport=ScriptedTransport(), clock=FakeClock()) as session:
        assert tools.load(session, shop, BytesIO(b"\n\n")).items == 0


def test_an_entity_that_is_stored_otherwise_is_refused_and_stays(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    session.save(Player(name="ann", email="other@x"))
    loaded = tools.load(session, shop, BytesIO(b"".join(lines)))
    assert [one.error for one in loaded.refused] == ["AlreadyExists"]
    assert session.get_one(Player, name="ann").email == "other@x"


class Interrupted(BaseException):
    """The process ends."""


class Deadly:
    """A transport that ends the process at a call: before it is sent, or after it was answered."""

    def __init__(self, inner: Transport, calls: float) -> None:
        self._inner, self._moments = inner, int(2 * calls)

    def call(self, call: Call, /) -> Reply:
        self._count()
        reply = self._inner.call(call)
        self._count()
        return reply

    def _count(self) -> None:
        self._moments -= 1
        if self._moments == 0:
            raise Interrupted


@pytest.mark.parametrize("raw", [False, True])
def test_an_interrupted_load_can_be_repeated_without_loss(
    moto: Transport, lines: list[bytes], tmp_path: Path, raw: bool
) -> None:
    files = tmp_path / "one.gz", tmp_path / "two"
    files[0].write_bytes(gzip.compress(b"".join([*lines[:2], b"broken\n", *lines[2:5]])))
    files[1].write_bytes(b"".join(lines[5:]))
    whole = opened(moto, shop)
    wanted = tools.load(whole, shop, files, raw=raw, concurrency=1)
    session = opened(moto, shop)
    moment, ended = 1.0, None
    while ended is None:
        # Each process lives longer than the one before: it dies later in the work.
        deadly = Session(
            transport=Deadly(moto, moment), clock=FakeClock(), table_names=session._context.table_name
        )
        try:
            ended = tools.load(deadly, shop, files, raw=raw, concurrency=1)
        except Interrupted:
            assert moment < 60
        moment += 1.5
    assert (ended.items, ended.refused, ended.left_out) == (wanted.items, wanted.refused, wanted.left_out)
    assert ended.stored + ended.present == wanted.stored
    assert [(one.place.file, one.place.line) for one in ended.refused] == [(str(files[0]), 3)]
    if raw:
        assert sorted(lines_of(session, shop)) == sorted(lines_of(whole, shop))
    else:
        assert list(tools.verify(session, shop)) == []
        assert session.get_one(Team, team="red").members == 3


class Stream:
    """A file that can be read once."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines)

    def seekable(self) -> bool:
        return False


def test_lines_that_come_once_are_loaded_where_once_is_enough(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    stream: Any = Stream(lines)
    with pytest.raises(UsageError, match="read twice, because totals"):
        tools.load(session, shop, stream)
    assert lines_of(session, shop) == []
    assert tools.load(session, shop, stream, raw=True).stored == len(lines)


def test_the_table_itself_decides_what_ends_a_load(lines: list[bytes]) -> None:
    transport = ScriptedTransport(*[Refusal("ResourceNotFoundException", "no table")] * 9)
    with pytest.raises(TableNotFound):
        tools.load(
            Session(transport=transport, clock=FakeClock()), shop, BytesIO(b"".join(lines)), concurrency=1
        )
    transport = ScriptedTransport(*[Refusal("AccessDeniedException", "no")] * 9)
    with pytest.raises(UnexpectedRefusal, match="may not do"):
        tools.load(
            Session(transport=transport, clock=FakeClock()), shop, BytesIO(b"".join(lines)), concurrency=1
        )


# -- items as they are -------------------------------------------------------------------------------------------------


def test_unprocessed_items_are_put_again_and_a_refused_one_alone(lines: list[bytes]) -> None:
    items = [json.loads(line)["Item"] for line in lines[:3]]
    puts = [{"PutRequest": {"Item": item}} for item in items]
    transport = ScriptedTransport(
        NoAnswer("timeout"),
        {"UnprocessedItems": {"transfer": puts[1:]}},
        Refusal("ValidationException", "one is too large"),
        Refusal("ValidationException", "too large"),
        {},
    )
    session = Session(transport=transport, clock=FakeClock())
    loaded = tools.load(session, shop, BytesIO(b"".join(lines[:3])), raw=True)
    assert (loaded.stored, [one.error for one in loaded.refused]) == (2, ["UnexpectedRefusal"])
    sent = [call.request["RequestItems"]["transfer"] for call in transport.calls]
    assert [len(one) for one in sent] == [3, 3, 2, 1, 1]


def test_an_item_without_the_tables_key_is_refused_unsent() -> None:
    session = Session(transport=ScriptedTransport(), clock=FakeClock())
    loaded = tools.load(session, shop, BytesIO(item_line({"PK": {"N": "1"}, "SK": {"S": "x"}})), raw=True)
    assert [one.error for one in loaded.refused] == ["DecodeError"]


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_dump_is_a_file_of_its_owner_and_replaces_none(
    moto: Transport, lines: list[bytes], tmp_path: Path
) -> None:
    session = opened(moto, shop)
    tools.load(session, shop, BytesIO(b"".join(lines)), raw=True)
    plain, packed, again = tmp_path / "dump", tmp_path / "dump.gz", tmp_path / "again.gz"
    for path in (plain, packed, again):
        assert tools.dump(session, shop, path).lines == len(lines)
        assert path.stat().st_mode & 0o777 == 0o600
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes() == again.read_bytes()
    assert sorted(plain.read_bytes().splitlines(keepends=True)) == sorted(lines)
    with pytest.raises(UsageError, match=r"there is a file .*dump' already"):
        tools.dump(session, shop, plain)
    with pytest.raises(TableNotFound):
        tools.dump(session, Table("transfer-none"), tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be used"):
        tools.dump(session, shop, tmp_path / "no" / "folder")
    with pytest.raises(UsageError, match="cannot be used"):
        tools.load(session, shop, tmp_path / "nothing")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again.gz", "dump", "dump.gz"]


def test_a_compressed_file_that_is_cut_off_is_an_error(
    moto: Transport, lines: list[bytes], tmp_path: Path
) -> None:
    session, file = opened(moto, shop), tmp_path / "lines.gz"
    file.write_bytes(gzip.compress(b"".join(lines))[:-30])
    with pytest.raises(UsageError, match=r"cannot be read.*get the file again"):
        tools.load(session, shop, file)


class Odd(Entity, table=shop, pk="ODD#{odd}", sk="ODD"):
    """What its fields are in JSON is not always what they were."""

    odd: str
    secret: SecretStr | None = None
    data: bytes = b""
    hidden: str = Field("", exclude=True)
    ratio: float = 0.0
    wait: timedelta = timedelta(0)
    tags: frozenset[int] = frozenset()
    nick: str = Field("", alias="nickName")
    any: JsonValue = None


def test_what_is_dumped_as_entities_is_loaded_as_it_was(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    tools.load(session, shop, BytesIO(b"".join(lines)))
    odd: list[dict[str, Any]] = [
        {},
        {"secret": SecretStr("x")},
        {"data": b"\xff"},
        {"data": b"text"},
        {"hidden": "x"},
        {"tags": frozenset({1, 2}), "nickName": "n", "wait": timedelta(seconds=1.5), "ratio": 0.1},
        {"any": {"a": [1, None]}},
    ]
    session.save_many([Odd(odd=str(number), **given) for number, given in enumerate(odd)])
    dumped = lines_of(session, shop, entities=True)
    shown = [json.loads(line) for line in dumped]
    assert {"Page": {"name": "p", "text": "two"}} in shown
    assert (
        sum("Item" in one for one in shown) == 3
    )  # a secret, bytes that are no text, a field that is left out
    other = opened(moto, shop)
    assert tools.load(other, shop, BytesIO(b"".join(dumped))).is_complete
    assert list(tools.verify(other, shop)) == []
    of_both = [
        sorted(repr(vars(one)) for kind in (Team, Player, Page, Odd) for one in each.scan(kind))
        for each in (session, other)
    ]
    assert of_both[0] == of_both[1]


def test_an_unreadable_item_is_told_where_entities_are_dumped(moto: Transport, lines: list[bytes]) -> None:
    told: list[DecodeError] = []
    session = opened(moto, shop, on_decode_error=told.append)
    broken: Any = {"PK": {"S": "PAGE#x"}, "SK": {"S": "v0_PAGE"}, "_type": {"S": "Page"}, "name": {"S": "x"}}
    strange: Any = {"PK": {"S": "x"}, "SK": {"S": "x"}}
    put(moto, session, shop, [broken, strange])
    file = BytesIO()
    assert tools.dump(session, shop, file, entities=True).left_out == {"unreadable": 2}
    assert len(told) == 2
    deaf = Session(transport=moto, clock=FakeClock(), table_names=session._context.table_name)
    with pytest.raises(DecodeError):
        tools.dump(deaf, shop, BytesIO(), entities=True)


def test_processes_share_a_table(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    tools.load(session, shop, BytesIO(b"".join(lines)), raw=True)
    parts = [lines_of(session, shop, segments=3, segment=one) for one in range(3)]
    assert sorted(line for part in parts for line in part) == sorted(lines)
    with pytest.raises(UsageError, match="segment=3 of segments=3"):
        tools.dump(session, shop, BytesIO(), segments=3, segment=3)


def test_progress_is_told_and_a_rate_is_kept(moto: Transport, lines: list[bytes]) -> None:
    clock = FakeClock()
    session, told = opened(moto, shop, clock=clock), list[tuple[int, int | None]]()

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    tools.load(session, shop, BytesIO(b"".join(lines)), raw=True, progress=tell)
    assert told == [(len(lines), None)]
    told.clear()
    tools.dump(session, shop, BytesIO(), rate=0.5, progress=tell)
    assert [done for done, _ in told] == [5, len(lines), len(lines)]  # the last page is empty
    assert sum(clock.pauses) > 0


class Watched(BytesIO):
    """A file that knows which threads use it, and calls somebody before it is written."""

    def __init__(self, data: bytes = b"", before: Callable[[], object] = bool) -> None:
        super().__init__(data)
        self.threads: set[int] = set()
        self._before = before

    def writelines(self, lines: Iterable[Any], /) -> None:
        self.threads.add(get_ident())
        self._before()
        super().writelines(lines)

    def __next__(self) -> bytes:
        self.threads.add(get_ident())
        return super().__next__()


def test_an_asynchronous_session_uses_files_outside_of_its_loop(moto: Transport, lines: list[bytes]) -> None:
    name = opened(moto, shop)._context.table_name(shop.name)
    source, target = Watched(b"".join(lines)), Watched()

    async def work() -> None:
        async with AsyncSession(
            transport=ThreadedTransport(moto), clock=FakeClock(), table_names={shop.name: name}
        ) as session:
            await tools.load(session, shop, source, raw=True)
            await tools.dump(session, shop, target)

    asyncio.run(work())
    assert target.threads
    assert source.threads
    assert get_ident() not in source.threads | target.threads
    assert sorted(target.getvalue().splitlines(keepends=True)) == sorted(lines)


def test_a_cancelled_dump_ends_when_its_file_is_closed(moto: Transport, lines: list[bytes]) -> None:
    name = opened(moto, shop)._context.table_name(shop.name)
    begun, may_go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        may_go_on.wait()

    target = Watched(before=wait)

    async def work() -> None:
        async with AsyncSession(
            transport=ThreadedTransport(moto), clock=FakeClock(), table_names={shop.name: name}
        ) as session:
            await tools.load(session, shop, BytesIO(b"".join(lines)), raw=True)
            dumping = asyncio.ensure_future(tools.dump(session, shop, target))
            await asyncio.to_thread(begun.wait)
            for _ in range(2):
                dumping.cancel()
                await asyncio.wait([dumping], timeout=0.01)
                assert not dumping.done()
            may_go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await dumping

    asyncio.run(work())
    assert len(target.getvalue().splitlines()) == len(lines)


@pytest.mark.parametrize(
    ("method", "table", "options", "said"),
    [
        ("dump", Player, {}, "dump() takes a Table"),
        ("load", Player, {}, "load() takes a Table"),
        ("dump", shop, {"entities": 1}, "entities=1"),
        ("dump", shop, {"segments": 0}, "segments=0"),
        ("dump", shop, {"rate": 0}, "rate=0"),
        ("dump", shop, {"progress": 1}, "progress=1"),
        ("load", shop, {"raw": "no"}, "raw='no'"),
        ("load", shop, {"concurrency": 0}, "concurrency=0"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_sent(
    method: str, table: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(tools, method)(Session(transport=ScriptedTransport()), table, BytesIO(), **options)
    assert said in str(refused.value)
