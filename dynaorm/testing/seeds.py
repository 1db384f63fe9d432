"""``load_seeds``: saves the entities of a JSON-lines file, in plain JSON or in DynamoDB JSON."""

from pathlib import Path
from typing import Any

from dynaorm.description.sample_items import at_line, in_order_of_saving, seeds_in
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError, UsageError
from dynaorm.session.session import Session
from dynaorm.testing.tables import Source, check_session, tables_of
from dynaorm.tools.line_file import path_of


def load_seeds(session: Session, path: str | Path, /, *sources: Source) -> list[Any]:
    """Save the entities of a JSON-lines file, and return them in the order of the file.

    Each line is an object with one member: a class with its fields, or ``Item`` with an item in DynamoDB JSON, as the
    lines of DynamoDB's exports have it::

        {"User": {"user_id": "bob", "email": "bob@x.com"}}
        {"Item": {"PK": {"S": "USER#liz"}, "SK": {"S": "PROFILE"}, "_type": {"S": "User"}, "user_id": {"S": "liz"}}}

    Every entity is saved as a new one, with its guard items and its first version. So items that belong to entities
    (guard items, version items, tombstones, remembered tokens) are left out, and totals are counted anew. Entities with
    totals are saved first.

    Args:
        session: a session on the tables, which exist.
        path: the file.
        *sources: the tables of the classes that the file may name, as for ``tables_of``.

    Raises:
        UsageError: a line is not valid, or its entity cannot be saved. The message names the file and the line. If a
            line is not valid, nothing is saved.

    Examples:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "users.jsonl")
        >>> written = path.write_text(json.dumps({"User": {"user_id": "9", "email": "ada@x.com"}}))
        >>> load_seeds(session, path, app)
        [User(user_id='9', email='ada@x.com', name='', visits=0)]
    """
    if not sources:
        raise UsageError(
            problem="load_seeds() got no class and no table",
            remedy="give those that the file may name: load_seeds(session, path, app)",
        )
    check_session("load_seeds", session, Session)
    file = path_of("load_seeds(path={})", path)
    # A name may have braces.
    place = f"{file}:".replace("{", "{{").replace("}", "}}") + "{}"
    seeds = list(seeds_in(_lines(file), tables_of(*sources), place=place))
    for seed in in_order_of_saving(seeds):
        try:
            session.save(seed.entity)
        except DynaormError as error:
            raise at_line(seed.place, error) from error
    return [_with_totals(session, seed.entity) for seed in seeds]


def _with_totals(session: Session, entity: Any) -> Any:
    return session.refresh(entity) if mapping_of(type(entity)).maintained else entity


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(
            problem=f"{file} cannot be read: {error.strerror}", remedy="give the path of a JSON-lines file"
        ) from error
