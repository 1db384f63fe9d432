"""Plans of every kind that ends in a way of its own, for the worlds of ``worlds.py``."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from dynaorm import Entity, F, Key, NumberRevision, Plan, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import ident_of
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.commit import is_applied
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Intent, Reads, Save, UnitOfWork
from tests.faults.worlds import NOW, Case

E = TypeVar("E", bound=Entity)

app = Table("App")
bare = Table("Bare", revision_attribute=None, type_attribute=None)
counted = Table("Counted", revision_attribute=NumberRevision("changes"))
DAY = 86_400.0


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    email: Annotated[str, Unique()]


class Loose(Entity, table=bare, pk="LOOSE#{sku}", sk="L"):
    sku: str
    left: int = 0


class Counted(Entity, table=counted, pk="COUNTED#{sku}", sk="C"):
    sku: str
    left: int = 0


def plan(
    *intents: Intent, reads: Reads = NOTHING_READ, write_id: str = "ours", made_at: float = NOW, **unit: Any
) -> Plan:
    return compile_plan(merge_intents(intents, made_at), reads, UnitOfWork(made_at, write_id, str, **unit))


def stored(entity: Entity, write_id: str = "before") -> Plan:
    return plan(Save(type(entity)(**entity.model_dump())), write_id=write_id)


def loaded(entity: E, **changes: Any) -> E:
    """The entity as it was loaded, and then changed."""
    for effect in plan(Save(entity), write_id="before").effects:
        effect.apply()
    for name, value in changes.items():
        setattr(entity, name, value)
    return entity


def read(entity: Entity, write_id: str = "before") -> Reads:
    item = stored(entity, write_id).actions[0].after
    mapping = mapping_of(type(entity))
    assert item is not None
    return Reads({ident_of(mapping.table, mapping.key_of(item)): item})


def plain_cases() -> Iterator[tuple[str, Case]]:
    for kind in (Stock, Loose):
        name, key, there = kind.__name__, Key(kind, sku="a"), (stored(kind(sku="a")),)
        is_bound = kind is Stock
        yield f"{name} insert", Case(plan(Save(kind(sku="a"))))
        yield f"{name} save", Case(plan(Save(loaded(kind(sku="a"), left=1))), there, is_bound)
        yield f"{name} delete", Case(plan(Deletion(loaded(kind(sku="a")))), there, is_bound)
        yield f"{name} set by key", Case(plan(Edit(key, (F.left.set(4),))), there, is_repeatable=False)
        yield f"{name} add by key", Case(plan(Edit(key, (F.left.add(1),))), there, is_repeatable=False)
        yield f"{name} delete by key", Case(plan(Deletion(key)), there, is_repeatable=False)


def transactions() -> Iterator[tuple[str, Case]]:
    user, moved = User(name="a", email="a@x"), loaded(User(name="a", email="a@x"), email="b@x")
    yield "User insert", Case(plan(Save(User(name="a", email="a@x"))))
    yield "User save", Case(plan(Save(moved)), (stored(user),))
    yield "User delete", Case(plan(Deletion(loaded(User(name="a", email="a@x")))), (stored(user),))
    there, once = (stored(Stock(sku="a")),), Edit(Key(Stock, sku="a"), (F.left.add(1),), read_first=True)
    yield "add once", Case(plan(once, reads=read(Stock(sku="a")), exactly_once=True), there)
    yield "delete once", Case(plan(Deletion(Key(Stock, sku="a")), exactly_once=True), there)
    there, key = (stored(Loose(sku="a")),), Key(Loose, sku="a")
    once = Edit(key, (F.left.add(1),))
    yield "Loose add once", Case(plan(once, exactly_once=True), there, can_be_seen=False)
    yield "Loose set once", Case(plan(Edit(key, (F.left.set(1),)), exactly_once=True), there)
    yield from _without_revision()


def _without_revision() -> Iterator[tuple[str, Case]]:
    """What others may write as well proves nothing of the rest of a block; and a number says nothing at all."""
    for kind in (Loose, Counted):
        name, there, beside = kind.__name__, (stored(kind(sku="a")),), Save(kind(sku="b"))
        yield f"{name} block", Case(plan(Save(loaded(kind(sku="a"), left=1)), beside), there)
        removal = Deletion(loaded(kind(sku="a")))
        yield f"{name} block of two", Case(plan(removal, beside), there)
    there = (stored(Counted(sku="a")),)
    yield "Counted save", Case(plan(Save(loaded(Counted(sku="a"), left=1))), there, is_repeatable=False)
    touch = Edit(loaded(Counted(sku="a")), (), touches=True)
    yield "touch", Case(plan(touch), there, is_repeatable=False, can_be_seen=False)
    yield "touch once", Case(plan(touch, exactly_once=True), there, can_be_seen=False)
    yield "touch in a block", Case(plan(touch, Save(Counted(sku="b"))), there, can_be_seen=False)


def tokens() -> Iterator[tuple[str, Case]]:
    """Blocks under a token: it is new, or an equal block was applied before, or another one."""
    there, unit = stored(Stock(sku="a")), dict[str, Any](token="T", remember=DAY)
    yield "token check", Case(plan(Check(Key(Stock, sku="a")), **unit), (there,), can_be_seen=False)
    yield from _expired(there)
    for block, intents in _blocks().items():
        again, first = plan(*intents(1), **unit), plan(*intents(1), write_id="first", **unit)
        other = plan(*intents(2), write_id="other", **unit)
        before = () if block == "insert" else (there,)
        asks = _asking(partial(intents, 1), unit)
        yield f"token {block}", Case(again, before, again=asks)
        yield (
            f"token {block} again",
            Case(again, (*before, first), earlier="equal", can_be_told=True, again=asks),
        )
        # What a save of a loaded entity sets may follow from what was loaded.
        is_told = block != "save"
        yield (
            f"token {block} after another",
            Case(again, (*before, other), earlier="another", can_be_told=is_told, again=asks),
        )
    yield from _loaded_anew(unit, there)
    yield from _read_first(unit)


def _asking(intents: Callable[[], Sequence[Intent]], unit: Any) -> Callable[[Context], Flow[bool]]:
    """What asks the token item whether the block was applied before."""
    work = UnitOfWork(NOW, "ours", str, **unit)
    return lambda context: is_applied(merge_intents(intents(), NOW), NOTHING_READ, work, context)


def _expired(there: Plan) -> Iterator[tuple[str, Case]]:
    """The token item of another block has expired, or does so a moment later."""
    unit: dict[str, Any] = {"token": "T", "remember": DAY}
    add = _blocks()["add by key"]
    for label, until in (("until yesterday", -DAY), ("for a moment", 30.0)):
        other = plan(*add(2), made_at=NOW - DAY + until, write_id="other", **unit)
        asks = None if until > 0 else _asking(partial(add, 1), unit)
        case = Case(plan(*add(1), **unit), (there, other), is_forgotten=True, again=asks)
        yield f"token {label}", case


def _loaded_anew(unit: Any, there: Plan) -> Iterator[tuple[str, Case]]:
    """An equal block that adds one to what it loads: run again, it differs, as another block would."""
    first = plan(Save(loaded(Stock(sku="a"), left=1)), write_id="first", **unit)
    anew = (plan(Deletion(Key(Stock, sku="a"))), stored(Stock(sku="a", left=5)))

    def saving() -> tuple[Intent, ...]:
        return (Save(loaded(Stock(sku="a", left=5), left=6)),)

    case = Case(plan(*saving(), **unit), (there, first, *anew), earlier="equal", again=_asking(saving, unit))
    yield "token save again, loaded anew", case


def _blocks() -> dict[str, Any]:
    key = Key(Stock, sku="a")
    return {
        "insert": lambda left: (Save(Stock(sku="a", left=left)),),
        "add by key": lambda left: (Edit(key, (F.left.add(left),)),),
        "save": lambda left: (Save(loaded(Stock(sku="a"), left=left)),),
        "delete by key": lambda left: (Deletion(key, F.left != left),),
    }


def _read_first(unit: Any) -> Iterator[tuple[str, Case]]:
    """A deletion of a guarded entity depends on what was read: run again, it sends other bytes."""
    removal, user = Deletion(Key(User, name="a")), User(name="a", email="a@x")
    first = plan(removal, reads=read(user), write_id="first", **unit)
    there = stored(user)
    yield "token guarded", Case(plan(removal, reads=read(user), **unit), (there,))
    # It was deleted, and stored anew by others: the block reads that, and runs again.
    anew = stored(User(name="a", email="b@x"), "anew")
    again = plan(removal, reads=read(User(name="a", email="b@x"), "anew"), **unit)
    yield "token guarded again", Case(again, (there, first, anew), earlier="equal")


def cases() -> dict[str, Case]:
    return {**dict(plain_cases()), **dict(transactions()), **dict(tokens())}
