"""Law: everything that shows or exports tells the same of a dict of attributes as of a plain dict.

Two classes differ only in that. What is told of the first is put into the words of the second: the members are
gathered, and the names of attributes, tables and plans follow.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, SecretStr

from dynaorm import (
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Unique,
    Versioned,
    item_of,
    tools,
)
from dynaorm.cli.values import EntityFormatter
from dynaorm.description import Entry, classify, describe, samples
from dynaorm.description.entry import entity_in
from dynaorm.errors import UsageError
from dynaorm.export import cloudformation, terraform
from dynaorm.failure import MASK
from dynaorm.iam import Purpose, iam_policy
from dynaorm.integrations.duckdb import verify_export
from dynaorm.layout import render_markdown, render_mermaid, to_json, view_of
from dynaorm.layout.page_data import page_data
from dynaorm.layout.view import ItemRow
from dynaorm.layout.without_values import anonymize
from dynaorm.record import record
from dynaorm.streams import Internal, changes, handler
from dynaorm.testing import FakeClock, Store, factory, stream_events
from dynaorm.transport import Call, Transport
from tests.integrity.exports import write_export
from tests.laws.drawn_values import KINDS, Drawn, dict_of

PREFIX: Final = "p."
NOW: Final = 1_700_000_000.0


@record
class Spec:
    """What the two classes have in common.

    Attributes:
        held: the type of the dict.
        required: it has no default.
        versioned: the class keeps versions.
        by_field: only a change of the dict makes a version.
        when: only entities with a member ``1`` are in the index, and claim their code.
    """

    held: Any
    required: bool
    versioned: bool
    by_field: bool
    when: bool


SECRETS: Final = Drawn(
    dict[str, SecretStr], st.dictionaries(st.sampled_from(["1", "2"]), st.just("hush")), st.nothing(), "dict"
)
SPECS: Final = st.builds(
    Spec,
    held=KINDS.map(dict_of) | st.just(SECRETS),
    required=st.booleans(),
    versioned=st.booleans(),
    by_field=st.booleans(),
    when=st.booleans(),
)
_numbers = count()


class Twin:
    """One of the two classes, and what is told of it.

    Attributes:
        entity: the class.
        table: its table.
    """

    def __init__(self, spec: Spec, prefix: str | None) -> None:
        # Prices depend on the length of names.
        name = f"twin-{next(_numbers):09d}"
        self.is_secret = spec.held is SECRETS
        self.prefix, self.attribute = prefix, "held" if prefix is None else f"{prefix}*"
        self.table = Table(name, indexes=[GlobalIndex("GSI1")])
        self.entity = self._declared(spec)
        self.description = describe(self.table)

    def _declared(self, spec: Spec) -> Any:
        marks: list[Any] = [Attribute(prefix=self.prefix) if self.prefix is not None else Attribute("held")]
        marks += [Versioned()] if spec.versioned and spec.by_field else []
        kind: Any = spec.held.annotation
        for mark in marks:
            kind = Annotated[kind, mark]
        when = F.held["1"].exists() if spec.when else None

        class Twin(Entity, table=self.table, pk="TWIN#{name}", sk="T#{number:03d}", versioned=spec.versioned):
            name: str
            number: int
            code: Annotated[str, Unique(when=when)]
            size: int = 0
            held: kind = ... if spec.required else {}
            by_size = Index("GSI1", pk="SIZE#{size}", sk="{name}", when=when)

        return Twin

    def is_held(self, attribute: str) -> bool:
        """Whether an attribute is the dict, or a member of it."""
        return attribute.startswith("held" if self.prefix is None else self.prefix)

    # -- in the words of a plain dict ----------------------------------------------------------------------------------

    def plain(self, told: Any) -> Any:
        """What is told, with maps in place of attributes and without the names of the attributes and tables."""
        if isinstance(told, str):
            named = re.sub(r"(?i)twin[-_]?\d{9}", "twin", told).replace("p.*", "held")
            return re.sub(r' "prefix"|, prefix', "", named)
        if isinstance(told, Mapping):
            return {self.plain(name): self.plain(one) for name, one in self._gathered(told).items()}
        return [self.plain(one) for one in told] if isinstance(told, list | tuple) else told

    def _gathered(self, item: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """An item, or any dict like it, with a map in place of attributes; a secret map is left out."""
        if "PK" not in item:
            return item
        prefix = "held" if self.prefix is None else self.prefix
        members = {name: one for name, one in item.items() if name.startswith(prefix)}
        found = {name: one for name, one in item.items() if name not in members}
        if self.is_secret:
            assert all(one == {"S": MASK} for one in members.values())
            return found
        if self.prefix is not None and members:
            members = {"held": {"M": {name[len(prefix) :]: one for name, one in members.items()}}}
        # No attribute is an empty dict.
        return found if members == {"held": {"M": {}}} else {**found, **members}


def twins(spec: Spec) -> tuple[Twin, Twin]:
    return Twin(spec, None), Twin(spec, PREFIX)


def same(both: tuple[Twin, Twin], tell: Callable[[Twin], Any]) -> None:
    """Both tell the same, or refuse alike."""
    left, right = (one.plain(outcome_of(partial(tell, one))) for one in both)
    assert left == right


def outcome_of(tell: Callable[[], Any]) -> Any:
    try:
        return tell()
    except UsageError as error:
        return f"{type(error).__name__}: {error}"


# -- the declarations --------------------------------------------------------------------------------------------------


def declared(one: Twin) -> Any:
    found = one.description.to_json()
    for field in found["classes"][0]["fields"]:
        if field["name"] == "held":
            assert field.pop("attribute") == one.attribute
            assert ("prefix" in field["marks"]) is (one.prefix is not None)
            field["marks"] = [mark for mark in field["marks"] if mark != "prefix"]
    return found


def policies(one: Twin) -> Any:
    return {
        str(purpose): iam_policy(
            one.entity, account="123456789012", region="eu-west-1", actions=purpose, leading_keys=True
        )
        for purpose in get_args(Purpose)
    }


DECLARATIONS: Final[tuple[Callable[[Twin], Any], ...]] = (
    declared,
    policies,
    lambda one: render_markdown(one.description),
    lambda one: render_mermaid(one.description),
    lambda one: cloudformation(one.description),
    lambda one: terraform(one.description),
)


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10")))
@given(spec=SPECS)
def test_the_declarations_of_both_are_told_alike(spec: Spec) -> None:
    both = twins(spec)
    for tell in DECLARATIONS:
        same(both, tell)


# -- items -------------------------------------------------------------------------------------------------------------


def entry_facts(entry: Entry) -> Any:
    return (
        entry.kind,
        entry.visible,
        entry.places,
        entry.owner,
        entry.constraint,
        entry.number,
        repr(entry.cls),
    )


def built(one: Twin) -> Any:
    make = factory(one.entity)
    return [{name: repr(value) for name, value in vars(make()).items()} for _ in range(3)]


def rows(one: Twin, entries: Sequence[Entry]) -> Any:
    """What the views of a table and its index show."""
    views = [view_of(one.description, entries, index) for index in (None, "GSI1")]
    return [
        [view.summary, view.entities, view.absent, [row_facts(one, row) for row in view.rows]]
        for view in views
    ]


def row_facts(one: Twin, row: ItemRow) -> Any:
    facts = [row.kind, row.cls, row.name, row.said, row.sort_text, row.places, row.owner, row.number]
    others = [
        (each.name, each.text, each.role, each.is_extra) for each in row.attributes if each.field != "held"
    ]
    return [*facts, others, *held_facts(one, row)]


def held_facts(one: Twin, row: ItemRow) -> tuple[Any, Any]:
    """How the attributes of the dict are shown, and the texts of its members."""
    own = [each for each in row.attributes if each.field == "held"]
    looks = {(each.role, frozenset(each.marks) - {"prefix"}, each.is_secret, each.is_extra) for each in own}
    if one.is_secret:
        assert all(each.text == MASK for each in own)
        return None, MASK
    if one.prefix is None:
        (text,) = [each.text for each in own] or ["{}"]
    elif [each.name for each in own] == [one.attribute]:
        (text,) = [each.text for each in own]
    else:
        text = f"{{{', '.join(f'{each.name.removeprefix(one.prefix)}: {each.text}' for each in own)}}}"
    return looks if text != "{}" else None, text


def page_facts(one: Twin, entries: Sequence[Entry], *, has_values: bool = True) -> Any:
    """What the page of a table has besides the rows: questions, answers and writes."""
    found = page_data(one.description, entries, NOW, has_values=has_values)
    for item in found["items"]:
        # How long an item is depends on the names of its attributes, and how it looks is that of its row.
        del item["size"], item["attributes"], item["item"]
    for write in writes_in(found):
        del write["units"]
    return {name: found[name] for name in ("items", "like", "keys", "calls", "answers", "costs")}


def writes_in(page: Any) -> Iterator[Any]:
    likes = page["like"].values()
    for each in (*page["items"], *(one for one in likes if isinstance(one, dict))):
        yield from each.get("writes", ())


def without_empty_dicts(one: Twin) -> Any:
    """The rows without values of those samples that have members."""
    entries = [entry for entry in samples(one.table) if has_members(one, entry)]
    return rows(one, anonymize(one.table, entries))


def has_members(one: Twin, entry: Entry) -> bool:
    """Whether the dict of an entity or version has a member; of other items, that they are there."""
    held = [value for name, value in entry.item.items() if one.is_held(name) and value != {"M": {}}]
    return entry.kind == "guard" or bool(held)


ITEMS: Final[tuple[Callable[[Twin], Any], ...]] = (
    lambda one: [entry_facts(entry) for entry in samples(one.table)],
    built,
    lambda one: rows(one, samples(one.table)),
    lambda one: page_facts(one, samples(one.table)),
    lambda one: page_facts(one, samples(one.table), has_values=False),
    without_empty_dicts,
    lambda one: [each["kind"] for each in to_json(one.description, samples(one.table))["entries"]],
)


# What is shown of some entries.
SHOWN: Final[tuple[Callable[[Twin, Sequence[Entry]], Any], ...]] = (
    rows,
    page_facts,
    lambda _, entries: [entry_facts(entry) for entry in entries],
    lambda one, entries: [each["item"] for each in to_json(one.description, entries)["entries"]],
    lambda _, entries: [EntityFormatter().line(entity_in(entry)) for entry in entries],
    lambda _, entries: [EntityFormatter().entity(entity_in(entry)) for entry in entries],
)


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10")))
@given(data=st.data())
def test_items_of_both_are_shown_alike(data: st.DataObject) -> None:
    spec = data.draw(SPECS)
    both, trees = twins(spec), data.draw(st.lists(spec.held.right, min_size=1, max_size=3))
    for show in SHOWN:
        same(both, partial(shown_of, show, trees))


def shown_of(show: Callable[[Twin, Sequence[Entry]], Any], trees: Sequence[Any], one: Twin) -> Any:
    entities = [
        # Attributes are shown in the order of their names.
        one.entity(name="a", number=number, code=f"c{number}", held=dict(sorted(tree.items())))
        for number, tree in enumerate(trees)
    ]
    return show(one, [classify(item_of(entity), one.table) for entity in entities])


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10")))
@given(spec=SPECS)
def test_samples_of_both_are_alike(spec: Spec) -> None:
    both = twins(spec)
    for tell in ITEMS:
        same(both, tell)


# -- tables ------------------------------------------------------------------------------------------------------------


@record
class Stored:
    """A table of one of the classes, after the same writes.

    Attributes:
        one: the class.
        session: a session on the table.
        event: the records of its stream.
    """

    one: Twin
    session: Session
    event: Any


def streamed(stored: Stored) -> Any:
    return [told_of(change) for change in changes(stored.event, stored.one.table, internal=True)]


def told_of(change: Any) -> Any:
    names = ("key", "fields_or_none", "totals_only", "old_error", "error", "kind")
    facts = {name: repr(getattr(change, name, None)) for name in names}
    if isinstance(change, Internal):
        return [facts, change.old, change.new]
    entities = [getattr(change, name, None) for name in ("old_or_none", "new_or_none")]
    return [type(change).__name__, facts, [each and values_of(each) for each in entities]]


def values_of(entity: Any) -> Any:
    """The values of fields as text. Attributes have no order, so the members have none here."""
    found = {**vars(entity), "held": sorted(entity.held.items())}
    return {name: repr(value) for name, value in found.items()}


def handled(stored: Stored) -> Any:
    """What a function of AWS Lambda is given by the class of what changed."""
    on, found = handler(stored.one.table), []

    @on.any(stored.one.entity)
    def take(change: Any) -> None:
        found.append([type(change).__name__, repr(change.key)])

    return [on(stored.event, None), found]


def dumped(stored: Stored) -> Any:
    """The entities in a dump, and the items of a table into which one was loaded."""
    told, lines = BytesIO(), BytesIO()
    tools.dump(stored.session, stored.one.table, told, entities=True)
    tools.dump(stored.session, stored.one.table, lines)
    before = items_of(stored)
    for item in before:
        key = {name: item[name] for name in stored.one.table.key_names}
        call_of(stored, "DeleteItem", Key=key)
    lines.seek(0)
    result = tools.load(stored.session, stored.one.table, lines)
    entities = [json.loads(line)["Twin"] for line in told.getvalue().splitlines()]
    return sorted(entities, key=lambda entity: entity["number"]), repr(result), items_of(stored)


def items_of(stored: Stored) -> list[Any]:
    found = call_of(stored, "Scan", ConsistentRead=True)["Items"]
    return sorted(found, key=lambda item: repr((item["PK"], item["SK"])))


def call_of(stored: Stored, operation: str, **arguments: Any) -> Any:
    return stored.session._transport.call(Call(operation, {"TableName": stored.one.table.name, **arguments}))


def verified(stored: Stored) -> Any:
    """What is wrong with damaged items, in the table and in an export of it."""
    for number, item in enumerate(items_of(stored)):
        held = [name for name in item if stored.one.is_held(name)]
        damaged = {**item, "GSI1SK": {"S": "other"}} if number % 2 and "GSI1SK" in item else item
        if number % 3 == 0 and held:
            damaged = {
                **damaged,
                held[0]: {"BOOL": True} if stored.one.prefix else {"M": {"1": {"BOOL": True}}},
            }
        call_of(stored, "PutItem", Item=damaged)
    found = [*tools.verify(stored.session, stored.one.table)]
    with TemporaryDirectory() as folder:
        path = write_export(Path(folder) / "export", items_of(stored), now=NOW)
        exported = [*verify_export(path, stored.one.table, workers=1)]
    assert sorted(map(str, found)) == sorted(map(str, exported))
    return sorted(str(each) for each in found)


TABLES: Final[tuple[Callable[[Stored], Any], ...]] = (streamed, handled, dumped, verified)


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "6")))
@given(data=st.data())
def test_tables_of_both_are_told_alike(engine: Transport, data: st.DataObject) -> None:
    # Items have secrets as they are.
    spec = data.draw(SPECS.filter(lambda one: one.held is not SECRETS))
    trees = data.draw(st.lists(spec.held.right, min_size=1, max_size=4))
    both = [written(one, engine, trees) for one in twins(spec)]
    try:
        for tell in TABLES:
            left, right = (each.one.plain(outcome_of(partial(tell, each))) for each in both)
            assert left == right
    finally:
        for each in both:
            call_of(each, "DeleteTable")


def written(one: Twin, engine: Transport, trees: Sequence[Any]) -> Stored:
    """A table in which entities got one tree after the other."""
    store = Store(engine, clock=FakeClock(NOW, ids=f"{one.table.name}."))
    store.create(one.table)
    session = store.session()
    with stream_events(store) as event:
        for number, tree in enumerate(trees):
            session.save(one.entity(name="a", number=number, code=f"c{number}", held=tree))
            changed: Any = session.get_one(Key(one.entity, name="a", number=number))
            changed.held = trees[number - 1]
            session.save(changed)
        session.delete(Key(one.entity, name="a", number=0))
    return Stored(one, session, event)


# -- without values ----------------------------------------------------------------------------------------------------

filled = Table("filled-dicts")


class Filled(Entity, table=filled, pk="FILLED#{name}", sk="{number:03d:desc}"):
    name: str
    number: int
    code: Annotated[str, Unique(when=F.held["kind"] == "a")]
    held: Annotated[dict[str, str], Attribute(prefix=PREFIX)] = Field(default_factory=dict)


def test_a_picture_without_values_shows_the_writes_of_a_whole_sample() -> None:
    # The second sample has the member that decides, and comes first.
    found = page_data(describe(filled), samples(filled), NOW, has_values=False)
    insert, *_ = found["like"]["Filled"]["writes"]
    assert [action["verb"] for action in insert["actions"]] == ["Put", "Put"]
