"""Each form of a key that ElectroDB 3.9 writes, and the keys that it cuts.

What a table of ElectroDB needs else, the page docs/from-electrodb.md shows and asserts.
"""

from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table, tools
from tests.story.engine import Engine

electro = Table(
    "electro",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex("gsi1pk-gsi1sk-index", pk="gsi1pk", sk="gsi1sk")],
    type_attribute="__edb_e__",
    revision_attribute=None,
    escape=False,
)


class Office(
    Entity,
    table=electro,
    name="office",
    pk="$taskmanager#country_{country:lower}#state_{state:lower}",
    sk="$office_1#city_{city:lower}#zip_{zip:lower}#office_{office:lower}",
):
    office: str
    country: str
    state: str
    city: str
    zip: str
    address: str
    edb_version: Annotated[str, Attribute("__edb_v__")] = "1"
    by_name = Index("gsi1pk-gsi1sk-index", pk="$taskmanager#office_{office:lower}", sk="$workplaces#office_1")


HQ: dict[str, Any] = {
    name: {"S": text}
    for name, text in {
        "pk": "$taskmanager#country_usa#state_wa",
        "sk": "$office_1#city_seattle#zip_98101#office_hq",
        "gsi1pk": "$taskmanager#office_hq",
        "gsi1sk": "$workplaces#office_1",
        "office": "HQ",
        "country": "USA",
        "state": "WA",
        "city": "Seattle",
        "zip": "98101",
        "address": "123 Main St.",
        "__edb_e__": "office",
        "__edb_v__": "1",
    }.items()
}


def office(**values: str) -> Office:
    given = {"office": "HQ", "country": "USA", "state": "WA", "city": "Seattle", "zip": "98101"}
    return Office(**{**given, "address": "123 Main St.", **values})


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(electro)
    return engine.session()


tasks = Table(
    "tasks",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex(f"gsi{n}", pk=f"gsi{n}pk", sk=f"gsi{n}sk") for n in range(1, 9)],
    type_attribute="__edb_e__",
    revision_attribute=None,
    escape=False,
)


class Task(Entity, table=tasks, name="task", pk="$app#id_{id:lower}", sk="$task_1"):
    id: str
    team: str
    points: int
    done: bool
    clustered = Index("gsi1", pk="$app#team_{team:lower}", sk="$c#id_{id:lower}#points_{points!s}#task_1")
    nested = Index("gsi2", pk="$app#team_{team:lower}", sk="$c#d#task_1#id_{id:lower}")
    scoped = Index("gsi3", pk="$app_z#team_{team:lower}", sk="$task_1#done_{done}")
    upper = Index("gsi4", pk="$app#team_{team:lower}", sk="$TASK_1#ID_{id:upper}")
    as_it_is = Index("gsi5", pk="$app#team_{team:lower}", sk="$Task_1#id_{id}")
    template = Index("gsi6", pk="user#{team:lower}", sk="X#{id}#y")


def test_each_form_of_a_key_is_that_of_electrodb_3_9(engine: Engine) -> None:
    engine.create(tasks)
    session = engine.session()
    task = session.save(Task(id="T-1", team="Web", points=5, done=True))
    (item,) = engine.items(tasks)
    assert {name: value["S"] for name, value in item.items() if name.startswith("gsi")} == {
        "gsi1pk": "$app#team_web",
        "gsi1sk": "$c#id_t-1#points_5#task_1",
        "gsi2pk": "$app#team_web",
        "gsi2sk": "$c#d#task_1#id_t-1",
        "gsi3pk": "$app_z#team_web",
        "gsi3sk": "$task_1#done_true",
        "gsi4pk": "$app#team_web",
        "gsi4sk": "$TASK_1#ID_T-1",
        "gsi5pk": "$app#team_web",
        "gsi5sk": "$Task_1#id_T-1",
        "gsi6pk": "user#web",
        "gsi6sk": "X#T-1#y",
    }
    assert session.query(Task.clustered, team="web", id="t-1").all() == [task]
    assert session.query(Task.template, team="WEB").begins_with(id="T").all() == [task]


class Call(Entity, table=tasks, name="call", pk="$app#call_{call:lower}", sk="$call_1"):
    call: str
    agent: str | None = None
    due: str
    note: str = ""
    edb_version: Annotated[str, Attribute("__edb_v__")] = "1"
    by_agent = Index("gsi7", pk="$app#agent_{agent:lower}", sk="$call_1#due_{due:lower}")
    by_due = Index("gsi8", pk="$app#due_{due:lower}", sk="$call_1#note_{note:lower}")


CALL: dict[str, Any] = {
    name: {"S": text}
    for name, text in {
        "pk": "$app#call_1",
        "sk": "$call_1",
        "gsi7pk": "$app#agent_",
        "gsi7sk": "$call_1#due_2024",
        "gsi8pk": "$app#due_2024",
        "gsi8sk": "$call_1#note_",
        "call": "1",
        "due": "2024",
        "__edb_e__": "call",
        "__edb_v__": "1",
    }.items()
}


def test_a_key_that_electrodb_cut_is_that_of_an_empty_text(engine: Engine) -> None:
    engine.create(tasks)
    engine.put(tasks, **CALL)
    session = engine.session()
    assert session.query(Call.by_due, due="2024").one() == Call(call="1", due="2024")
    (found,) = tools.verify(session, tasks)
    assert found.detail == (
        "gsi7pk is '$app#agent_' and should be absent; gsi7sk is '$call_1#due_2024' and should be absent"
    )
    session.update(Key(Call, call="1"), F.note.set("Soon"))
    assert session.query(Call.by_due, due="2024", note="soon").one().note == "Soon"
    list(tools.repair(session, tasks))
    assert list(tools.verify(session, tasks)) == []
