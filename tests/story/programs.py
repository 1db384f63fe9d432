"""Runs programs as ``python program.py`` does, each in a fork of one process that has imported the libraries.

Each line of the input names a program, a file for what it prints, and one for its errors; the answer is its exit code.
The tables of an example are verified before they are deleted.
"""

import gc
import os
import runpy
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import botocore.session
from botocore.loaders import create_loader

from dynaorm import Entity, Session, Table, tools
from dynaorm.testing import strict_moto

for name in ("asyncio", "rich", "dynaorm.transport.pynamodb"):
    import_module(name)

close = Session.close


anything = Table("anything")


class Anything(Entity, table=anything, pk="{name}", sk="A", versioned=True):
    name: str


def warm_up() -> None:
    """Import and read what almost every program comes to use, so that it is done once: AWS's models are megabytes."""
    loader: Any = create_loader()
    botocore.session.create_loader = lambda *_: loader
    with strict_moto(), Session(region="us-east-1") as session:
        session.create_table(anything)
        session.save(Anything(name="a"))
        assert session.query(Anything, name="a").count() == len(list(session.scan(Anything)))
        assert list(tools.verify(session, anything)) == []
    botocore.session.Session().create_client("dynamodb", region_name="us-east-1").close()


def closing(session: Session) -> None:
    """Verify the tables when the example closes its session: nothing may be wrong with them."""
    main: Any = sys.modules["__main__"]
    tables = [one for one in vars(main).values() if isinstance(one, Table)]
    findings = [str(one) for one in tools.verify(session, *tables)]
    assert not findings, "\n".join(findings)
    sys.stdout.write(f"verified: {', '.join(table.name for table in tables)}\n")
    close(session)


def run(path: str, output: str, errors: str) -> int:
    for file, descriptor in ((output, 1), (errors, 2)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    if Path(path).parent.name == "examples":
        Session.close = closing  # type: ignore[method-assign,assignment]  # the example is run unchanged
    sys.path.insert(0, str(Path(path).parent))
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception:  # noqa: BLE001 - whatever it is, it is printed
        traceback.print_exc()
        return 1
    gc.collect()  # what was not closed warns now
    return 0


def main() -> None:
    warm_up()
    gc.freeze()  # so that no collection of a program copies the pages of all that is imported
    for line in sys.stdin:
        child = os.fork()
        if not child:
            code = run(*line.rstrip("\n").split("\t"))
            sys.stdout.flush()
            os._exit(code)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
