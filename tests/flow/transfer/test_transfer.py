"""``dump`` and ``load``: whole tables to files and back."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import Event, get_ident
from typing import Annotated, Any, Final

import pytest

from dynaorm import Aggregate, AsyncSession, CreatedAt, Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.errors import DecodeError, TableNotFound, UnexpectedRefusal, UsageError
from dynaorm.flow.protocol.call import Call, NoAnswer, Refusal, Reply, Transport
from dynaorm.flow.table_definition import definition
from dynaorm.item.item_line import item_line
from dynaorm.testing import FakeClock, ScriptedTransport

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
    session.dump(table, file, **options)
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
    session.load(shop, BytesIO(item_line(item)))
    found = next(one for one in map(json.loads, lines_of(session, shop)) if "email" in one["Item"])["Item"]
    assert found["note"] == item["note"]
    assert not {"GSI1PK", "GSI1SK"} & found.keys()


def test_what_is_refused_is_in_a_file_that_can_be_loaded_once_the_cause_is_gone(
    moto: Transport, lines: list[bytes], tmp_path: Path
) -> None:
    session = opened(moto, shop)
    rival = session.save(Player(name="rival", email="ann@x"))
    bad = [
        b"no json\n",
        b'{"type":"Team","entity":{}}\n',
        item_line({"SK": {"S": "x"}}),
        item_line({"PK": {"S": "x"}, "SK": {"S": "x"}, "_type": {"S": "Nobody"}}),
        item_line(
            {"PK": {"S": "ZTEAM#blue"}, "SK": {"S": "TEAM"}, "_type": {"S": "Team"}, "team": {"S": "blue"}}
        ),
        b"\n",
    ]
    refusals = tmp_path / "refused"
    loaded = session.load(shop, BytesIO(b"".join([*lines, *bad])), refused=refusals)
    assert loaded.refused == {"DecodeError": 3, "UniqueViolation": 1, "ValueError": 2}
    assert not loaded.is_complete
    assert loaded.stored == 4
    said = [json.loads(line) for line in refusals.read_bytes().splitlines()]
    assert len(said) == 6
    assert all(one["reason"] for one in said)
    (taken,) = [one for one in said if one["error"] == "UniqueViolation"]
    assert json.loads(lines[taken["line"] - 1])["Item"] == taken["Item"]
    assert next(one for one in said if one["line"] == len(lines) + 1)["text"] == "no json"
    session.delete(rival)
    again = session.load(shop, refusals)
    assert (again.stored, again.refused) == (1, {"DecodeError": 3, "ValueError": 2})
    assert list(session.verify(shop)) == []


def test_an_entity_that_is_stored_otherwise_is_refused_and_stays(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    session.save(Player(name="ann", email="other@x"))
    loaded = session.load(shop, BytesIO(b"".join(lines)))
    assert loaded.refused == {"AlreadyExists": 1}
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
def test_a_load_that_is_interrupted_anywhere_goes_on_and_loses_nothing(
    moto: Transport, lines: list[bytes], tmp_path: Path, raw: bool
) -> None:
    files = tmp_path / "one.gz", tmp_path / "two"
    files[0].write_bytes(gzip.compress(b"".join([*lines[:2], b"broken\n", *lines[2:5]])))
    files[1].write_bytes(b"".join(lines[5:]))
    whole = opened(moto, shop)
    wanted = whole.load(shop, files, raw=raw, concurrency=1)
    session = opened(moto, shop)
    moment, ended = 1.0, None
    while ended is None:
        # Each process lives longer than the one before: it dies later in the work.
        deadly = Session(
            transport=Deadly(moto, moment), clock=FakeClock(), table_names=session._context.table_name
        )
        try:
            ended = deadly.load(
                shop, files, raw=raw, refused=tmp_path / "no", checkpoint=tmp_path / "at", concurrency=1
            )
        except Interrupted:
            assert moment < 60
        moment += 1.5
    assert (ended.lines, ended.refused, ended.left_out) == (wanted.lines, wanted.refused, wanted.left_out)
    assert ended.stored + ended.present == wanted.stored
    assert len((tmp_path / "no").read_bytes().splitlines()) == 1
    assert not (tmp_path / "at").exists()
    if raw:
        assert sorted(lines_of(session, shop)) == sorted(lines_of(whole, shop))
    else:
        assert list(session.verify(shop)) == []
        assert session.get_one(Team, team="red").members == 3


def test_a_checkpoint_of_another_load_is_refused(moto: Transport, lines: list[bytes], tmp_path: Path) -> None:
    session, at, file = opened(moto, shop), tmp_path / "at", tmp_path / "lines"
    file.write_bytes(b"".join(lines))
    deadly = Session(transport=Deadly(moto, 5), clock=FakeClock(), table_names=session._context.table_name)
    with pytest.raises(Interrupted):
        deadly.load(shop, file, checkpoint=at, concurrency=1)
    saved = at.read_bytes()
    for change in ({"raw": True}, {"source": tmp_path / "copy"}):
        (tmp_path / "copy").write_bytes(file.read_bytes())
        given: Any = {"source": file, "raw": False, **change}
        with pytest.raises(UsageError, match="that of another file or table"):
            session.load(shop, given["source"], raw=given["raw"], checkpoint=at)
    at.write_text("{}")
    with pytest.raises(UsageError, match="no checkpoint of a load"):
        session.load(shop, file, checkpoint=at)
    at.write_bytes(saved)
    assert session.load(shop, file, checkpoint=at).is_complete


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
        session.load(shop, stream)
    assert lines_of(session, shop) == []
    assert session.load(shop, stream, raw=True).stored == len(lines)


def test_the_table_itself_decides_what_ends_a_load(lines: list[bytes]) -> None:
    transport = ScriptedTransport(*[Refusal("ResourceNotFoundException", "no table")] * 9)
    with pytest.raises(TableNotFound):
        Session(transport=transport, clock=FakeClock()).load(shop, BytesIO(b"".join(lines)), concurrency=1)
    transport = ScriptedTransport(*[Refusal("AccessDeniedException", "no")] * 9)
    with pytest.raises(UnexpectedRefusal, match="may not do"):
        Session(transport=transport, clock=FakeClock()).load(shop, BytesIO(b"".join(lines)), concurrency=1)


# -- items as they are -------------------------------------------------------------------------------------------------


def test_items_left_out_or_unanswered_are_put_again_and_one_that_is_refused_alone(lines: list[bytes]) -> None:
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
    loaded = session.load(shop, BytesIO(b"".join(lines[:3])), raw=True)
    assert (loaded.stored, loaded.refused) == (2, {"UnexpectedRefusal": 1})
    sent = [call.request["RequestItems"]["transfer"] for call in transport.calls]
    assert [len(one) for one in sent] == [3, 3, 2, 1, 1]


def test_an_item_without_the_key_of_the_table_is_refused_before_it_is_sent() -> None:
    session = Session(transport=ScriptedTransport(), clock=FakeClock())
    loaded = session.load(shop, BytesIO(item_line({"PK": {"N": "1"}, "SK": {"S": "x"}})), raw=True)
    assert loaded.refused == {"DecodeError": 1}


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_dump_is_a_file_of_its_owner_and_replaces_none(
    moto: Transport, lines: list[bytes], tmp_path: Path
) -> None:
    session = opened(moto, shop)
    session.load(shop, BytesIO(b"".join(lines)), raw=True)
    plain, packed, again = tmp_path / "dump", tmp_path / "dump.gz", tmp_path / "again.gz"
    for path in (plain, packed, again):
        assert session.dump(shop, path).lines == len(lines)
        assert path.stat().st_mode & 0o777 == 0o600
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes() == again.read_bytes()
    assert sorted(plain.read_bytes().splitlines(keepends=True)) == sorted(lines)
    with pytest.raises(UsageError, match=r"there is a file .*dump' already"):
        session.dump(shop, plain)
    with pytest.raises(TableNotFound):
        session.dump(Table("transfer-none"), tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be used"):
        session.dump(shop, tmp_path / "no" / "folder")
    with pytest.raises(UsageError, match="cannot be used"):
        session.load(shop, tmp_path / "nothing")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["again.gz", "dump", "dump.gz"]


def test_a_compressed_file_that_is_cut_off_is_an_error(
    moto: Transport, lines: list[bytes], tmp_path: Path
) -> None:
    session, file = opened(moto, shop), tmp_path / "lines.gz"
    file.write_bytes(gzip.compress(b"".join(lines))[:-30])
    with pytest.raises(UsageError, match=r"cannot be read.*get the file again"):
        session.load(shop, file)


def test_entities_are_shown_as_the_application_does_and_are_not_loaded(
    moto: Transport, lines: list[bytes]
) -> None:
    session = opened(moto, shop)
    session.load(shop, BytesIO(b"".join(lines)))
    shown = [json.loads(line) for line in lines_of(session, shop, entities=True)]
    assert {"type": "Page", "entity": {"name": "p", "text": "two"}} in shown
    assert sorted(one["type"] for one in shown) == ["Page", "Player", "Player", "Player", "Team"]
    text = BytesIO(b"".join(lines_of(session, shop, entities=True)))
    assert session.load(shop, text).refused == {"ValueError": 5}


def test_an_item_that_cannot_be_read_is_told_where_entities_are_dumped(
    moto: Transport, lines: list[bytes]
) -> None:
    told: list[DecodeError] = []
    session = opened(moto, shop, on_decode_error=told.append)
    broken: Any = {"PK": {"S": "PAGE#x"}, "SK": {"S": "v0_PAGE"}, "_type": {"S": "Page"}, "name": {"S": "x"}}
    strange: Any = {"PK": {"S": "x"}, "SK": {"S": "x"}}
    put(moto, session, shop, [broken, strange])
    file = BytesIO()
    assert session.dump(shop, file, entities=True).left_out == {"unreadable": 2}
    assert len(told) == 2
    deaf = Session(transport=moto, clock=FakeClock(), table_names=session._context.table_name)
    with pytest.raises(DecodeError):
        deaf.dump(shop, BytesIO(), entities=True)


def test_processes_share_a_table(moto: Transport, lines: list[bytes]) -> None:
    session = opened(moto, shop)
    session.load(shop, BytesIO(b"".join(lines)), raw=True)
    parts = [lines_of(session, shop, segments=3, segment=one) for one in range(3)]
    assert sorted(line for part in parts for line in part) == sorted(lines)
    with pytest.raises(UsageError, match="segment=3 of segments=3"):
        session.dump(shop, BytesIO(), segments=3, segment=3)


def test_progress_is_told_and_a_rate_is_kept(moto: Transport, lines: list[bytes]) -> None:
    clock = FakeClock()
    session, told = opened(moto, shop, clock=clock), list[tuple[int, int | None]]()

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    session.load(shop, BytesIO(b"".join(lines)), raw=True, progress=tell)
    assert told == [(len(lines), None)]
    told.clear()
    session.dump(shop, BytesIO(), rate=0.5, progress=tell)
    assert [done for done, _ in told] == [5, len(lines)]
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


def test_files_of_an_asynchronous_session_are_not_used_in_the_thread_of_its_loop(
    moto: Transport, lines: list[bytes]
) -> None:
    name = opened(moto, shop)._context.table_name(shop.name)
    source, target = Watched(b"".join(lines)), Watched()

    async def work() -> None:
        async with AsyncSession(
            region="us-east-1", clock=FakeClock(), table_names={shop.name: name}
        ) as session:
            await session.load(shop, source, raw=True)
            await session.dump(shop, target)

    asyncio.run(work())
    assert target.threads
    assert source.threads
    assert get_ident() not in source.threads | target.threads
    assert sorted(target.getvalue().splitlines(keepends=True)) == sorted(lines)


def test_a_dump_that_is_cancelled_ends_when_nobody_uses_its_file_any_more(
    moto: Transport, lines: list[bytes]
) -> None:
    name = opened(moto, shop)._context.table_name(shop.name)
    begun, may_go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        may_go_on.wait()

    target = Watched(before=wait)

    async def work() -> None:
        async with AsyncSession(
            region="us-east-1", clock=FakeClock(), table_names={shop.name: name}
        ) as session:
            await session.load(shop, BytesIO(b"".join(lines)), raw=True)
            dumping = asyncio.ensure_future(session.dump(shop, target))
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
    ("method", "given", "options", "said"),
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
    method: str, given: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(Session(transport=ScriptedTransport()), method)(given, BytesIO(), **options)
    assert said in str(refused.value)


@pytest.mark.parametrize("file", ["refused", "checkpoint"])
def test_a_load_whose_position_or_refusals_cannot_be_written_stores_nothing(
    session: Session, tmp_path: Path, file: str
) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b'{"Item": {"PK": {"S": "a"}, "SK": {"S": "b"}}}\n')
    given: Any = {file: tmp_path / "no folder" / "at"}
    with pytest.raises(UsageError, match="cannot be used: No such file or directory; name another one"):
        session.load(shop, lines, raw=True, **given)
    assert session.dump(shop, tmp_path / "dump").lines == 0
