"""Law: a number that every write raises loses no write, however two libraries and stale objects take turns."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pynamodb.attributes import NumberAttribute, UnicodeAttribute, VersionAttribute
from pynamodb.exceptions import DeleteError, PutError, UpdateError
from pynamodb.models import Model

from dynaorm import Entity, F, Key, NumberRevision, Session, Table
from dynaorm.errors import AlreadyExists, EntityNotFound, StaleEntity
from dynaorm.flow.call import Call, Transport
from dynaorm.testing import strict_moto
from dynaorm.testing.moto_engine import MotoTransport
from tests.raw_tables import REGION

table = Table(
    "numbered-turns", pk="id", sk=None, type_attribute=None, revision_attribute=NumberRevision("version")
)
REFUSED = (StaleEntity, AlreadyExists, EntityNotFound, PutError, UpdateError, DeleteError)


class Page(Entity, table=table):
    id: str
    words: int = 0
    title: str = ""


class PageModel(Model):
    class Meta:
        table_name = table.name
        region = REGION

    id = UnicodeAttribute(hash_key=True)
    words = NumberAttribute(default=0)
    title = UnicodeAttribute(default="")
    version = VersionAttribute()


@pytest.fixture(scope="module")
def engine() -> Iterator[Transport]:
    """Pynamodb and dynaorm see one table."""
    with strict_moto():
        yield MotoTransport(region=REGION)


@pytest.fixture(scope="module")
def session(engine: Transport) -> Iterator[Session]:
    with Session(transport=engine) as session:
        session.create_table(table)
        yield session


class Writers:
    """Two writers, each with an object that may be out of date, and what is stored if no write is lost."""

    def __init__(self, session: Session, engine: Transport) -> None:
        self.session, self.engine = session, engine
        self.ours: Page | None = None
        self.theirs: Any = None
        self.stored: dict[str, Any] | None = None
        for found in session.scan(Page):
            session.delete(found)

    def load_ours(self) -> None:
        self.ours = self.session.get(Page, id="p")

    def load_theirs(self) -> None:
        self.theirs = next(iter(PageModel.query("p")), None)

    def create(self) -> None:
        self.session.save(Page(id="p"))
        self.stored = {"words": 0, "title": "", "version": 1}

    def create_theirs(self) -> None:
        PageModel("p", title="theirs").save()
        self.stored = {"words": 0, "title": "theirs", "version": 1}

    def overwrite(self) -> None:
        self.session.save(Page(id="p", words=9), overwrite=True)
        version = 1 if self.stored is None else self.stored["version"] + 1
        self.stored = {"words": 9, "title": "", "version": version}

    def save_ours(self) -> None:
        if self.ours is None:
            return
        words = self.ours.words + 1
        self.session.save(self.ours.model_copy(update={"words": words}))
        self._changed(words=words)

    def update_ours(self) -> None:
        if self.ours is not None:
            self.session.update(self.ours.model_copy(), F.words.add(1))
            self._changed(words=self.ours.words + 1)

    def update_theirs(self) -> None:
        if self.theirs is not None:
            fresh = PageModel("p", version=self.theirs.version)
            fresh.update(actions=[PageModel.words.add(1)])
            assert self.stored is not None
            self._changed(words=self.stored["words"] + 1)

    def save_theirs(self) -> None:
        if self.theirs is None:
            return
        words, title = self.theirs.words + 1, self.theirs.title + "x"
        fresh = PageModel("p", words=words, title=title, version=self.theirs.version)
        fresh.save()
        self._changed(words=words, title=title)

    def add(self) -> None:
        self.session.update(Key(Page, id="p"), F.words.add(1))
        assert self.stored is not None
        self._changed(words=self.stored["words"] + 1)

    def delete_ours(self) -> None:
        if self.ours is not None:
            self.session.delete(self.ours.model_copy())
            self.stored = None

    def delete_theirs(self) -> None:
        if self.theirs is not None:
            PageModel("p", version=self.theirs.version).delete()
            self.stored = None

    def _changed(self, **values: Any) -> None:
        assert self.stored is not None, "a write of something that was deleted was accepted"
        self.stored = {**self.stored, **values, "version": self.stored["version"] + 1}

    def check(self) -> None:
        items = self.engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"]
        if self.stored is None:
            assert items == []
            return
        numbers = {name: {"N": str(self.stored[name])} for name in ("words", "version")}
        assert items == [{"id": {"S": "p"}, "title": {"S": self.stored["title"]}, **numbers}]


TURNS: dict[str, Callable[[Writers], None]] = {
    name: getattr(Writers, name)
    for name in (
        "load_ours", "load_theirs", "create", "create_theirs", "overwrite", "save_ours", "save_theirs", "update_ours",
        "update_theirs", "add", "delete_ours", "delete_theirs",
    )
}  # fmt: skip


@settings(max_examples=10)
@given(st.lists(st.sampled_from(sorted(TURNS)), max_size=14))
def test_no_accepted_write_is_lost_and_each_raises_the_number(
    session: Session, engine: Transport, turns: list[str]
) -> None:
    writers = Writers(session, engine)
    for name in ("create", "load_ours", "load_theirs", *turns):
        try:
            TURNS[name](writers)
        except REFUSED:
            continue
        writers.check()
