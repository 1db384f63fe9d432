"""The pages of the reference: which public names stand on which page.

A builder fills them from the docstrings. A test compares the names with those that the modules export.
"""

import importlib
from pathlib import Path
from typing import Final, NamedTuple

from dynaorm import Session


class Topic(NamedTuple):
    """A page of the reference.

    Attributes:
        title: its heading.
        text: a sentence that says what is on it.
        names: the public names, with their modules, in the order of the page.
    """

    title: str
    text: str
    names: tuple[str, ...]


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names.split())


def _all_of(package: str) -> tuple[str, ...]:
    """The names of a package. They are imported late, so no builder finds them by itself."""
    return _of(package, " ".join(importlib.import_module(package).__all__))


TOPICS: Final = {
    "session": Topic(
        "Session",
        "How a session is opened and closed. Its methods are on pages of their own: [reading](reading.md), "
        "[writing](writing.md), [transactions](transactions.md), [versions](versions.md), [tables](tables.md).",
        (*_of("dynaorm", "Session Transaction Retry Plan"), "dynaorm.session.Attempt"),
    ),
    "async": Topic(
        "AsyncSession",
        "An asynchronous session has the methods of `Session`. Await those that send requests, and iterate with "
        "`async for` over those that return an iterator.",
        ("dynaorm.AsyncSession", *_of("dynaorm.session", "AsyncQuery AsyncCollection AsyncSearch")),
    ),
    "tools": Topic(
        "Tools",
        "What operators do with whole tables. With an `AsyncSession`, await the functions that are `async` here, and "
        "iterate over the results of the others with `async for`. With a `Session`, none is asynchronous.",
        _all_of("dynaorm.tools"),
    ),
    "entity": Topic(
        "Entity and Table",
        "What you declare: a table with its indexes, and the classes in it.",
        _of(
            "dynaorm",
            "Table GlobalIndex LocalIndex VectorIndex NumberKey BinaryKey NumberRevision Entity Key Index Aggregate",
        ),
    ),
    "markers": Topic(
        "Markers of fields",
        "What you write into `Annotated[...]`, and types for fields.",
        _of(
            "dynaorm",
            "Unique Versioned Attribute InKey ExpiresAt CreatedAt UpdatedAt Computed OneOf Stored Vector AnyValue "
            "LOADING Ksuid KsuidMs new_ksuid ksuid_range",
        ),
    ),
    "queries": Topic(
        "Queries and conditions",
        "Expressions over fields, queries and their results.",
        (
            *_of("dynaorm", "F any_of Version"),
            *_of("dynaorm.session", "Query Collection Search Results Page Match Row"),
        ),
    ),
    "items": Topic(
        "Items and entities",
        "From an entity to its item and back, without a request.",
        (*_of("dynaorm", "item_of entity_of detached inspect"), "dynaorm.iam.iam_policy"),
    ),
    "streams": Topic(
        "Streams",
        "Changes of entities, from the stream of a table.",
        _of("dynaorm.streams", "changes handler StreamHandler Inserted Changed Deleted Internal Unreadable"),
    ),
    "transports": Topic(
        "Transports",
        "The ways to send a request, and what passes between a session and a transport.",
        _of(
            "dynaorm.transport",
            "DirectTransport AsyncDirectTransport PynamoTransport AsyncPynamoTransport Transport AsyncTransport Call "
            "Reply Refusal Reason NoAnswer Clock",
        ),
    ),
    "errors": Topic(
        "Errors",
        "Every way in which dynaorm can fail. [Errors](../errors.md) says what to do.",
        ("dynaorm.errors",),
    ),
    "codecs": Topic("Codecs", "How values of other programs are stored.", ("dynaorm.codecs",)),
    "testing": Topic(
        "Testing",
        "Tools for the tests of your own project.",
        (*_all_of("dynaorm.testing"), "dynaorm.cli.entry.main"),
    ),
    "integrations": Topic(
        "Integrations",
        "Other libraries that dynaorm works with.",
        (
            "dynaorm.integrations.fastapi",
            "dynaorm.integrations.opentelemetry",
        ),
    ),
    "description": Topic(
        "Description of a table",
        "What a table and its classes are, as plain values. Layouts, exports and the command line stand on it.",
        _all_of("dynaorm.description"),
    ),
    "layout": Topic(
        "Layout",
        "Pictures and texts of a table. [See your table](../see-your-table.md) shows them.",
        _all_of("dynaorm.layout"),
    ),
    "export": Topic(
        "Export",
        "A table for the tools that create it: CloudFormation and Terraform.",
        _all_of("dynaorm.export"),
    ),
    "integrity": Topic(
        "Checks of whole tables",
        "What the commands `verify`, `repair` and `backfill` stand on.",
        (
            "dynaorm.integrity.run",
            "dynaorm.integrity.verify_export",
            "dynaorm.integrity.tasks",
        ),
    ),
}


METHODS: Final = {
    "reading": (
        "Reading",
        "One entity, many entities, queries and scans.",
        "get get_one get_by exists refresh get_many snapshot query collection scan search",
    ),
    "writing": (
        "Writing",
        "One entity, or many without a transaction.",
        "save update upsert touch next_number move delete save_many delete_many bulk_load",
    ),
    "transactions": (
        "Transactions and plans",
        "Several writes together, what they will send, and what became of them.",
        "transaction run plan plan_of resume",
    ),
    "versions": (
        "Versions",
        "What an entity was.",
        "history diff restore",
    ),
    "tables": (
        "Tables",
        "Methods that create and delete tables.",
        "",
    ),
}
"""The methods of ``Session``, on a page for each thing that one does. The last page has those that no other has."""


def methods() -> dict[str, list[str]]:
    """The names of the methods on each page."""
    listed = {page: names.split() for page, (_, _, names) in METHODS.items()}
    known = {name for names in listed.values() for name in names} | {"close"}
    listed["tables"] = [name for name in vars(Session) if not name.startswith("_") and name not in known]
    return listed


MADE_ELSEWHERE: Final = frozenset(
    (
        *_of("dynaorm", "Plan Version Transaction"),
        *_of(
            "dynaorm.session",
            "Query AsyncQuery Collection AsyncCollection Search AsyncSearch Results Page Row",
        ),
        "dynaorm.streams.StreamHandler",
    )
)
"""The classes whose objects a method or a function gives. What they are made of is no part of the interface."""

IN_SIGNATURES: Final = (
    *_of("dynaorm.flow.integrity.finding", "FindingKind Outcome"),
    *_of("dynaorm.flow.application", "PlannedChange OnProgress"),
    *_of("dynaorm.session.session", "Source"),
    *_of("dynaorm.session._async.session", "Source"),
    *_of("dynaorm.tools.line_file", "Target Source"),
    *_of("dynaorm.plan.inspection", "Inspection"),
    *_of("dynaorm.streams.event", "StreamChange AnyChange"),
    *_of("dynaorm.handler", "BatchResponse"),
    *_of("dynaorm.streams.interpret", "TableNames"),
    *_of("dynaorm.item.condition", "Condition"),
    *_of("dynaorm.item.update", "Change"),
    *_of("dynaorm.item.value", "Item AttributeValue"),
    *_of("dynaorm.entity.table", "IndexOf"),
    *_of("dynaorm.entity.table", "StreamView"),
    *_of("dynaorm.entity.table", "KeySpec AnyIndex Distance"),
    *_of("dynaorm.entity.marker", "GivenWhen"),
    *_of("dynaorm.entity.marker", "StoredForm"),
    *_of("dynaorm.flow.bulk_write", "Progress"),
    *_of("dynaorm.session.deadline", "OnAttempt"),
    *_of("dynaorm.session.transaction", "Work AsyncWork"),
    *_of("dynaorm.transport.http.credentials", "GivenCredentials"),
    *_of("dynaorm.iam", "Purpose"),
)
"""Types in the signatures of public functions, which you need not import."""

_WITHOUT_SIGNATURE: Final = "\n    options:\n      merge_init_into_class: false"

_SIGNATURES: Final = (
    "# In signatures\n\nWhat methods take and give, such as the `Finding` of `verify`. "
    "You need no import for any of them."
)


_OF_SESSIONS: Final = "\n    options:\n      members: [close]"


def _shown(name: str) -> str:
    if name in ("dynaorm.Session", "dynaorm.AsyncSession"):
        return f"::: {name}{_OF_SESSIONS}"
    made_elsewhere = name in MADE_ELSEWHERE or name in IN_SIGNATURES
    return f"::: {name}{_WITHOUT_SIGNATURE if made_elsewhere else ''}"


def reference_pages() -> dict[str, str]:
    """The pages of the reference, by their path."""
    found = {
        f"reference/{name}.md": "\n\n".join([f"# {one.title}", one.text, *map(_shown, one.names)]) + "\n"
        for name, one in TOPICS.items()
    }
    for page, names in methods().items():
        title, text, _ = METHODS[page]
        shown = (f"::: dynaorm.Session.{name}" for name in names)
        found[f"reference/{page}.md"] = "\n\n".join([f"# {title}", text, *shown]) + "\n"
    found["reference/signatures.md"] = "\n\n".join([_SIGNATURES, *map(_shown, IN_SIGNATURES)]) + "\n"
    topics = [(name, one.title, one.text) for name, one in TOPICS.items()]
    topics[1:1] = [(page, title, text) for page, (title, text, _) in METHODS.items()]
    listed = "".join(f"| [{title}]({name}.md) | {text} |\n" for name, title, text in topics)
    declarations = Path(__file__).with_name("declarations.py").read_text(encoding="utf-8")
    found["reference/index.md"] = (
        "# Reference\n\nMade from the docstrings of the code. "
        "The pages under *Guide* explain how the parts work together.\n\n"
        f"| page | about |\n|---|---|\n{listed}"
        "| [In signatures](signatures.md) | Types of arguments and results that you need not import. |\n\n"
        "## What the examples use\n\nThe examples in the reference know these classes and entities, "
        "and every name of `dynaorm` and of its packages with a page here:\n\n"
        f"```python\n{declarations}```\n"
    )
    return found
