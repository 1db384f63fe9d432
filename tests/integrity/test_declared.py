"""No run continues under declarations that give other keys, guards or totals."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Attribute, Entity, F, GlobalIndex, Index, Session, Table, Unique, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.integrity.run import RunOptions, declared_digest, repair


def declared(
    *,
    sk: str = "{number:06d}",
    template: str = "{owner}#{number:shard4}",
    normalize: Callable[[str], str] = str.casefold,
    counted: Any = F.owner == "liz",
    there: Any = F.owner != "joe",
    attribute: str = "owner",
    default: str = "joe",
) -> tuple[Table, type[Any], type[Any]]:
    """A table with a target and a source, and the two classes, as one release of an application has them."""
    app = Table("releases", indexes=[GlobalIndex("GSI1")])

    class Project(Entity, table=app, pk="PROJECT#{project}", sk="META"):
        project: str
        tickets: int = 0

    class Ticket(Entity, table=app, pk="PROJECT#{project}", sk=f"TICKET#{sk}"):
        project: str
        number: int
        code: Annotated[str, Unique(normalize=normalize)]
        owner: Annotated[str, Attribute(attribute)] = default
        by_owner = Index("GSI1", pk=template, sk="{number:06d}", when=there)
        count = Aggregate(Project, count="tickets", when=counted)

    return app, Project, Ticket


CHANGES: list[dict[str, Any]] = [
    {"sk": "{number:08d}"},
    {"template": "{owner}#{number:shard8}"},
    {"normalize": str.upper},
    {"normalize": lambda code: code + "a"},
    {"normalize": lambda code: code + "b"},
    {"counted": F.owner == "bob"},
    {"counted": lambda ticket: ticket.number > 3},
    {"counted": lambda ticket: ticket.number > 4},
    {"there": F.owner != "bob"},
    {"attribute": "o"},
    {"default": "ann"},
]


def test_every_change_gives_another_digest() -> None:
    digests = [declared_digest(mapping_of(declared(**change)[2])) for change in [{}, *CHANGES]]
    assert len(set(digests)) == 1 + len(CHANGES)
    assert declared_digest(mapping_of(declared()[2])) == digests[0]


def test_another_process_gives_the_same_digest() -> None:
    code = (
        "from tests.integrity.test_declared import CHANGES, declared, declared_digest, mapping_of\n"
        "print([declared_digest(mapping_of(declared(**one)[2])) for one in CHANGES])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{[declared_digest(mapping_of(declared(**one)[2])) for one in CHANGES]}\n"}


@pytest.mark.parametrize("change", [{"counted": F.owner == "bob"}, {"normalize": str.upper}])
def test_a_checkpoint_of_other_declarations_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    options = RunOptions(checkpoint=tmp_path / "checkpoint")
    app, project, ticket = declared()
    later = declared(**change)[0]
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        session.save(project(project="p"))
        for number in range(3):
            session.save(ticket(project="p", number=number, code=f"C{number}", owner="liz"))
        other = declared(template="{owner}")[0]
        running: Any = repair(session, other, options=options)  # every index key differs
        next(running)
        running.close()
        with pytest.raises(UsageError, match="is the checkpoint of another run"):
            list(repair(session, later, options=options))
        list(repair(session, other, options=options))
        assert list(tools.verify(session, other)) == []
