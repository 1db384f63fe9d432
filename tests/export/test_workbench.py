"""Models of NoSQL Workbench: exported with sample data, and imported as a module of entity classes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import Field, SecretStr

from dynaorm import (
    Entity,
    GlobalIndex,
    Index,
    InKey,
    LocalIndex,
    NumberRevision,
    Session,
    Table,
    Unique,
    entity_of,
)
from dynaorm.description import Entry, classify, describe
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.export import module_of_workbench, workbench
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing import FakeClock

ROOT = Path(__file__).parents[2]

library = Table("library", indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1", projection=["title"])])
plain = Table("plain-log", pk="device", sk="at", type_attribute=None, revision_attribute=None)


class Reader(Entity, table=library, pk="READER#{reader_id}", sk="READER", name="reader"):
    reader_id: Annotated[str, InKey()]
    email: Annotated[str, Unique()]
    pin: SecretStr
    photo: bytes = b""


class Loan(Entity, table=library, pk="READER#{reader_id}", sk="LOAN#{book}", versioned=True):
    reader_id: str
    book: str
    title: str
    days: int = 14
    by_book = Index("GSI1", pk="BOOK#{book}", sk="{reader_id}")
    by_title = Index("LSI1", sk="{title}")


class Reading(Entity, table=plain, pk="{device}", sk="{at}"):
    device: str
    at: str
    value: int | None = None


def sample(moto: Transport) -> dict[str, list[Entry]]:
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(library)
        session.save(Reader(reader_id="r1", email="liz@x", pin=SecretStr("hunter2"), photo=b"\x00\xff"))
        session.save(Loan(reader_id="r1", book="b1", title="Dune"))
    items = moto.call(Call("Scan", {"TableName": "library"}))["Items"]
    return {"library": [classify(item, library) for item in items]}


def facets_of(model: dict[str, Any]) -> dict[str, Any]:
    return {one["FacetName"]: one for one in model["DataModel"][0]["TableFacets"]}


def test_a_model_has_a_facet_for_each_class_and_its_data_once(moto: Transport) -> None:
    entries = sample(moto)
    model = workbench([describe(library)], entries)
    facets = facets_of(json.loads(json.dumps(model)))
    assert [*facets] == ["reader", "Loan", "(guard)", "(version)"]
    assert facets["reader"]["KeyAttributeAlias"] == {
        "PartitionKeyAlias": "READER#{reader_id}",
        "SortKeyAlias": "READER",
    }
    assert facets["Loan"]["KeyAttributeAlias"]["SortKeyAlias"] == "v{version}_LOAN#{book}"
    assert {"GSI1PK", "GSI1SK", "LSI1SK", "_type", "_rev", "title"} <= {*facets["Loan"]["NonKeyAttributes"]}
    assert model["DataModel"][0]["TableData"] == []
    assert sum(len(one["TableData"]) for one in facets.values()) == len(entries["library"])
    (reader,) = facets["reader"]["TableData"]
    assert (reader["pin"], reader["photo"]) == ({"S": "**********"}, {"B": "AP8="})
    assert "hunter2" not in json.dumps(model)


def test_a_table_without_classes_has_its_data_itself() -> None:
    table = Table("raw")
    entries = [classify({"PK": {"S": "a"}, "SK": {"S": "b"}, "n": {"N": "1"}}, table)]
    (found,) = workbench(describe(table), {"raw": entries})["DataModel"]
    assert (found["TableFacets"], len(found["TableData"])) == ([], 1)
    # Nobody knows what is secret in it, so its values are masked, and a masked value is a text.
    assert found["NonKeyAttributes"] == [{"AttributeName": "n", "AttributeType": "S"}]


hidden = Table("hidden")


class Hidden(Entity, table=hidden, pk="SSN#{ssn}", sk="H"):
    ssn: Annotated[str, Field(repr=False)]


def test_an_item_whose_key_is_secret_is_left_out() -> None:
    item = {"PK": {"S": "SSN#123"}, "SK": {"S": "H"}, "_type": {"S": "Hidden"}, "ssn": {"S": "123"}}
    model = workbench(describe(hidden), {"hidden": [classify(item, hidden)]})
    assert "123" not in json.dumps(model)


@pytest.mark.parametrize(
    ("revision", "attribute", "kind"),
    [
        ("written", "written", "S"),
        (NumberRevision("version"), "version", "N"),
        (NumberRevision("info.version"), "info", "M"),
    ],
    ids=str,
)
def test_a_revision_has_its_own_type(
    revision: str | NumberRevision, attribute: str, kind: str, moto: Transport
) -> None:
    counted = Table("counted", revision_attribute=revision)

    class Counted(Entity, table=counted, pk="COUNTED#{code}", sk="COUNTED"):
        code: str

    session = Session(transport=moto)
    session.create_table(counted)
    session.save(Counted(code="a"))
    (stored,) = moto.call(Call("Scan", {"TableName": "counted"}))["Items"]
    (model,) = workbench(describe(counted))["DataModel"]
    assert {"AttributeName": attribute, "AttributeType": kind} in model["NonKeyAttributes"]
    assert [*stored[attribute]] == [kind]


def test_an_index_with_several_key_attributes_is_refused() -> None:
    native = Table("native", indexes=[GlobalIndex("Many", pk=("a", "b"))])
    with pytest.raises(UsageError, match="several attributes"):
        workbench(describe(native))


# -- import ------------------------------------------------------------------------------------------------------------


def imported(text: str, tmp_path: Path, name: str = "imported_model") -> ModuleType:
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def table_in(module: ModuleType) -> Table:
    (found,) = (one for one in vars(module).values() if isinstance(one, Table))
    return found


def without_kept(model: dict[str, Any]) -> dict[str, Any]:
    """The parts of a model that an import can know."""
    (table,) = model["DataModel"]
    names = ("KeyAttributes", "GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    found = {name: table[name] for name in names if name in table}
    for one in table["TableFacets"]:
        if not one["FacetName"].startswith("("):
            parts = one["KeyAttributeAlias"], sorted(one["NonKeyAttributes"])
            found[one["FacetName"]] = parts
    return found


def test_an_exported_model_is_imported_with_its_keys_indexes_and_facets(
    moto: Transport, tmp_path: Path
) -> None:
    del moto  # nothing is stored
    table = Table("shelves", indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1", projection=["title"])])

    class Shelf(Entity, table=table, pk="SHELF#{shelf_id}", sk="SHELF", name="shelf"):
        shelf_id: Annotated[str, InKey()]
        room: str

    class Book(Entity, table=table, pk="SHELF#{shelf_id}", sk="BOOK#{book:upper}"):
        shelf_id: str
        book: str
        title: str
        by_book = Index("GSI1", pk="BOOK#{book}", sk="{title}")

    before = workbench(describe(table))
    again = table_in(imported(module_of_workbench(before), tmp_path))
    assert without_kept(workbench(describe(again))) == without_kept(before)
    assert [one.partition.text for one in describe(again).classes] == [
        mapping_of(one).partition.text for one in (Shelf, Book)
    ]


MODELS: dict[str, dict[str, Any]] = {
    "typed": {
        "TableName": "My-shop",
        "KeyAttributes": {
            "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
            "SortKey": {"AttributeName": "SK", "AttributeType": "N"},
        },
        "NonKeyAttributes": [
            {"AttributeName": "Entity_Type", "AttributeType": "S"},
            {"AttributeName": "class", "AttributeType": "S"},
            {"AttributeName": "model_config", "AttributeType": "S"},
            {"AttributeName": "2nd", "AttributeType": "N"},
            {"AttributeName": "a b", "AttributeType": "M"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "By.Kind",
                "KeyAttributes": {"PartitionKey": {"AttributeName": "class", "AttributeType": "S"}},
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["2nd"]},
            }
        ],
        "TableData": [
            {"PK": {"S": "1"}, "SK": {"N": "1"}, "Entity_Type": {"S": "Table"}, "class": {"S": "x"}},
            {"PK": {"S": "1"}, "SK": {"N": "2"}, "Entity_Type": {"S": 'or"der'}, "2nd": {"N": "1.5"}},
            {
                "PK": {"S": "2"},
                "SK": {"N": "2"},
                "Entity_Type": {"S": 'or"der'},
                "a b": {"M": {"x": {"S": "y"}}},
            },
        ],
    },
    "untold": {
        "TableName": "untold",
        "KeyAttributes": {"PartitionKey": {"AttributeName": "id", "AttributeType": "B"}},
        "NonKeyAttributes": [{"AttributeName": "x", "AttributeType": "SS"}],
        "TableFacets": [
            {
                "FacetName": "one",
                "NonKeyAttributes": ["x"],
                "TableData": [{"id": {"B": "AA=="}, "x": {"SS": ["a"]}}],
            },
            {"FacetName": "two", "NonKeyAttributes": [], "TableData": [{"id": {"B": "AQ=="}}]},
        ],
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_the_items_of_a_model_are_entities_of_the_imported_classes(name: str, tmp_path: Path) -> None:
    text = module_of_workbench({"ModelName": name, "DataModel": [MODELS[name]]})
    table = table_in(imported(text, tmp_path))
    items = MODELS[name].get("TableData") or [
        item for facet in MODELS[name]["TableFacets"] for item in facet["TableData"]
    ]
    for item in items:
        assert classify(item, table).kind == "entity"
        entity_of(item, table)
    assert json.dumps(describe(table).create_table()["KeySchema"]).count("AttributeName") == len(
        MODELS[name]["KeyAttributes"]
    )


def test_an_imported_module_is_clean_for_ruff_and_mypy(tmp_path: Path) -> None:
    paths = []
    models = {**MODELS, "library": workbench(describe(library))["DataModel"][0]}
    for name, one in models.items():
        paths.append(tmp_path / f"model_{name}.py")
        paths[-1].write_text(module_of_workbench({"ModelName": f'"""{name}\\', "DataModel": [one]}))
    python = str(Path(sys.executable))
    config = str(ROOT / "pyproject.toml")
    for command in (
        ["ruff", "check", "--no-cache", "--config", config],
        ["ruff", "format", "--no-cache", "--check", "--config", config],
        ["mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"],
    ):
        run = subprocess.run(
            [python, "-m", *command, *map(str, paths)], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_no_name_of_a_model_hides_a_type(tmp_path: Path) -> None:
    names = ("set", "str", "list", "int", "items")
    attributes = [{"AttributeName": name, "AttributeType": "SS"} for name in names]
    keys = {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}}
    model = {
        "ModelName": "types",
        "DataModel": [
            {"TableName": name, "KeyAttributes": keys, "NonKeyAttributes": attributes} for name in names
        ],
    }
    (described,) = describe(imported(module_of_workbench(model), tmp_path).items).classes
    assert {one.attribute: one.type for one in described.fields} == {
        "PK": "str",
        **dict.fromkeys(names, "set[str] | None"),
    }


@pytest.mark.parametrize(
    "model", [{}, {"DataModel": 1}, {"DataModel": [{}]}, {"DataModel": [{"TableName": "x"}]}]
)
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(UsageError, match="no model of NoSQL Workbench"):
        module_of_workbench(model)
