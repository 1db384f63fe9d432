"""Every public name of dynaorm, with the module that defines it: what users import stays importable."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dynaorm
import dynaorm.description
import dynaorm.export
import dynaorm.integrations.fastapi
import dynaorm.integrations.opentelemetry
import dynaorm.layout
import dynaorm.testing

ROOT = Path(__file__).parents[1]

NAMES = {
    "LOADING": "dynaorm.entity.state",
    "Aggregate": "dynaorm.entity.mapping.aggregate",
    "AnyValue": "dynaorm.entity.codec.json",
    "AsyncCollection": "dynaorm.session._async.query",
    "AsyncDirectTransport": "dynaorm.transport.direct.async_transport",
    "AsyncPynamoTransport": "dynaorm.transport.async_pynamodb",
    "AsyncQuery": "dynaorm.session._async.query",
    "AsyncSearch": "dynaorm.session._async.search",
    "AsyncSession": "dynaorm.session._async.session",
    "AsyncTransport": "dynaorm.flow.call",
    "Attempt": "dynaorm.session.attempt",
    "Attribute": "dynaorm.entity.marker",
    "BinaryKey": "dynaorm.entity.table",
    "Call": "dynaorm.flow.call",
    "Changed": "dynaorm.streams.change",
    "Clock": "dynaorm.flow.call",
    "Collection": "dynaorm.session.query",
    "Computed": "dynaorm.entity.marker",
    "CreatedAt": "dynaorm.entity.marker",
    "Deleted": "dynaorm.streams.change",
    "DirectTransport": "dynaorm.transport.direct.transport",
    "Entity": "dynaorm.entity.base",
    "ExpiresAt": "dynaorm.entity.marker",
    "F": "dynaorm.item.field",
    "GlobalIndex": "dynaorm.entity.table",
    "InKey": "dynaorm.entity.marker",
    "Index": "dynaorm.entity.table",
    "Inserted": "dynaorm.streams.change",
    "Internal": "dynaorm.streams.change",
    "Key": "dynaorm.entity.key",
    "Ksuid": "dynaorm.entity.text.ksuid",
    "KsuidMs": "dynaorm.entity.text.ksuid",
    "LocalIndex": "dynaorm.entity.table",
    "Match": "dynaorm.query.results",
    "NoAnswer": "dynaorm.flow.call",
    "NumberKey": "dynaorm.entity.table",
    "NumberRevision": "dynaorm.entity.revision",
    "OneOf": "dynaorm.entity.marker",
    "Page": "dynaorm.query.results",
    "Plan": "dynaorm.plan.plan",
    "PynamoTransport": "dynaorm.transport.pynamodb",
    "Query": "dynaorm.session.query",
    "Reason": "dynaorm.flow.call",
    "Refusal": "dynaorm.flow.call",
    "Reply": "dynaorm.flow.call",
    "Results": "dynaorm.query.results",
    "Retry": "dynaorm.flow.call",
    "Row": "dynaorm.query.results",
    "Search": "dynaorm.session.search",
    "Session": "dynaorm.session.session",
    "Stored": "dynaorm.entity.marker",
    "StreamHandler": "dynaorm.session.handler",
    "Table": "dynaorm.entity.table",
    "Transaction": "dynaorm.session.transaction",
    "Transport": "dynaorm.flow.call",
    "Unique": "dynaorm.entity.marker",
    "Unreadable": "dynaorm.streams.change",
    "UpdatedAt": "dynaorm.entity.marker",
    "Vector": "dynaorm.entity.marker",
    "VectorIndex": "dynaorm.entity.table",
    "Version": "dynaorm.entity.version",
    "Versioned": "dynaorm.entity.marker",
    "any_of": "dynaorm.query.query_spec",
    "changes": "dynaorm.streams.interpret",
    "detached": "dynaorm.entity.base",
    "entity_of": "dynaorm.entity.stored_entity",
    "handler": "dynaorm.session.handler",
    "iam_policy": "dynaorm.iam",
    "inspect": "dynaorm.plan.inspection",
    "item_of": "dynaorm.plan.inspection",
    "ksuid_range": "dynaorm.entity.text.ksuid",
    "new_ksuid": "dynaorm.entity.text.ksuid",
}
"""A name in this table is never removed. The module that defines it may change."""

TESTING_NAMES = {
    "Broken": "dynaorm.flow.integrity.finding",
    "Factory": "dynaorm.description.factory",
    "FakeClock": "dynaorm.testing.clock",
    "Fault": "dynaorm.testing.faults",
    "FaultyTransport": "dynaorm.testing.faults",
    "Inconsistency": "dynaorm.flow.integrity.finding",
    "Ministack": "dynaorm.testing.ministack",
    "ScriptedTransport": "dynaorm.testing.transports",
    "Store": "dynaorm.testing.store",
    "assert_consistent": "dynaorm.testing.consistency",
    "assert_consistent_async": "dynaorm.testing.consistency",
    "conflict": "dynaorm.testing.faults",
    "crash_after": "dynaorm.testing.faults",
    "crash_before": "dynaorm.testing.faults",
    "entities": "dynaorm.testing.strategies",
    "factory": "dynaorm.description.factory",
    "in_progress": "dynaorm.testing.faults",
    "inconsistencies": "dynaorm.testing.consistency",
    "load_seeds": "dynaorm.testing.seeds",
    "lost_answer": "dynaorm.testing.faults",
    "lost_request": "dynaorm.testing.faults",
    "snapshot": "dynaorm.testing.snapshots",
    "stream_events": "dynaorm.testing.recorded_stream",
    "strict_moto": "dynaorm.testing.moto_engine",
    "tables_of": "dynaorm.testing.tables",
    "throttle": "dynaorm.testing.faults",
}
"""The same for ``dynaorm.testing``."""

DESCRIBE_NAMES = {
    "FORMAT": "dynaorm.description.description",
    "ClassDescription": "dynaorm.description.description",
    "Difference": "dynaorm.flow.tables",
    "Entry": "dynaorm.description.entry",
    "FieldDescription": "dynaorm.description.description",
    "IndexDescription": "dynaorm.description.description",
    "KeyAttributeDescription": "dynaorm.description.description",
    "Literals": "dynaorm.description.description",
    "PlaceDescription": "dynaorm.description.description",
    "Question": "dynaorm.description.description",
    "Slot": "dynaorm.description.description",
    "TableDescription": "dynaorm.description.description",
    "TableStep": "dynaorm.flow.tables",
    "TemplateDescription": "dynaorm.description.description",
    "TotalDescription": "dynaorm.description.description",
    "UniqueDescription": "dynaorm.description.description",
    "VectorDescription": "dynaorm.description.description",
    "answer_of": "dynaorm.description.answer",
    "call_of": "dynaorm.description.answer",
    "classify": "dynaorm.description.entry",
    "describe": "dynaorm.description.tables",
    "differences": "dynaorm.description.tables",
    "table_steps": "dynaorm.flow.tables",
    "samples": "dynaorm.description.sample_items",
    "values_of": "dynaorm.description.answer",
}
"""The same for ``dynaorm.description``."""

LAYOUT_NAMES = {
    "ItemSource": "dynaorm.layout.html_page",
    "TableView": "dynaorm.layout.view",
    "document_of": "dynaorm.layout.document",
    "markdown_of": "dynaorm.layout.markdown",
    "mermaid_of": "dynaorm.layout.markdown",
    "page": "dynaorm.layout.html_page",
    "svg_of": "dynaorm.layout.svg",
    "text_of": "dynaorm.layout.text",
    "view_of": "dynaorm.layout.view",
}
"""The same for ``dynaorm.layout``."""

EXPORT_NAMES = {
    "cloudformation": "dynaorm.export.cloud_formation",
    "stages": "dynaorm.export.cloud_formation",
    "terraform": "dynaorm.export.terraform_json",
}
"""The same for ``dynaorm.export``."""

FASTAPI_NAMES = {
    "CurrentAsyncSession": "dynaorm.integrations.fastapi",
    "CurrentSession": "dynaorm.integrations.fastapi",
    "IdempotencyKey": "dynaorm.integrations.idempotency",
    "IfMatch": "dynaorm.integrations.fastapi",
    "IfNoneMatch": "dynaorm.integrations.fastapi",
    "OptionalIfMatch": "dynaorm.integrations.fastapi",
    "OptionalIfNoneMatch": "dynaorm.integrations.fastapi",
    "PageOf": "dynaorm.integrations.fastapi",
    "PageParams": "dynaorm.integrations.fastapi",
    "Problem": "dynaorm.integrations.problem",
    "RequiredIfMatch": "dynaorm.integrations.fastapi",
    "add_problem_handlers": "dynaorm.integrations.fastapi",
    "current_async_session": "dynaorm.integrations.fastapi",
    "current_session": "dynaorm.integrations.fastapi",
    "etag": "dynaorm.integrations.entity_tag",
    "idempotency_key": "dynaorm.integrations.fastapi",
    "page_params": "dynaorm.integrations.fastapi",
    "problem_of": "dynaorm.integrations.problem",
    "problems": "dynaorm.integrations.fastapi",
    "session_lifespan": "dynaorm.integrations.fastapi",
}
"""The same for ``dynaorm.integrations.fastapi``."""
OPENTELEMETRY_NAMES = {"instrument": "dynaorm.integrations.opentelemetry"}
"""The same for ``dynaorm.integrations.opentelemetry``."""

PUBLIC_MODULES = {
    "dynaorm",
    "dynaorm.cli.entry",
    "dynaorm.codecs",
    "dynaorm.description",
    "dynaorm.errors",
    "dynaorm.export",
    "dynaorm.integrations.duckdb",
    "dynaorm.integrations.fastapi",
    "dynaorm.integrations.opentelemetry",
    "dynaorm.integrity.processes",
    "dynaorm.integrity.run",
    "dynaorm.integrity.tasks",
    "dynaorm.layout",
    "dynaorm.testing",
}
"""The modules that users import from."""

DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]


@pytest.mark.parametrize(
    ("package", "names"),
    [
        (dynaorm, NAMES),
        (dynaorm.testing, TESTING_NAMES),
        (dynaorm.description, DESCRIBE_NAMES),
        (dynaorm.layout, LAYOUT_NAMES),
        (dynaorm.export, EXPORT_NAMES),
        (dynaorm.integrations.fastapi, FASTAPI_NAMES),
        (dynaorm.integrations.opentelemetry, OPENTELEMETRY_NAMES),
    ],
    ids=["dynaorm", "testing", "description", "layout", "export", "fastapi", "opentelemetry"],
)
def test_every_public_name_is_defined_where_the_table_says(
    package: ModuleType, names: dict[str, str]
) -> None:
    values = {name: getattr(package, name) for name in package.__all__}
    assert values.keys() == names.keys()
    for name, value in values.items():
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__ == names[name]
        else:
            assert getattr(import_module(names[name]), name) is value


def test_documents_import_from_public_modules_only() -> None:
    found = {
        (document.name, module)
        for document in DOCUMENTS
        for code in _programs(document)
        for module in _imported(code)
    }
    private = {(name, module) for name, module in found if module not in PUBLIC_MODULES}
    assert not private
    assert {module for _, module in found} == PUBLIC_MODULES


def _programs(document: Path) -> list[str]:
    text = document.read_text()
    return (
        [text]
        if document.suffix == ".py"
        else re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )


def _imported(code: str) -> Iterator[str]:
    """The modules of dynaorm that a program imports from."""
    for node in ast.walk(ast.parse(code)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
        yield from (module for module in modules if module.partition(".")[0] == "dynaorm")
