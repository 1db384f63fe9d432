"""Runs an example as ``python examples/x.py`` does, and verifies its tables before they are deleted."""

import runpy
import sys
from pathlib import Path
from typing import Any

from dynaorm import Session, Table

close = Session.close


def closing(session: Session) -> None:
    """Verify the tables when the example closes its session: nothing may be wrong with them."""
    main: Any = sys.modules["__main__"]
    tables = [one for one in vars(main).values() if isinstance(one, Table)]
    findings = [str(one) for one in session.verify(*tables)]
    assert not findings, "\n".join(findings)
    sys.stdout.write(f"verified: {', '.join(table.name for table in tables)}\n")
    close(session)


def main(path: str) -> None:
    Session.close = closing  # type: ignore[method-assign,assignment]  # the example is run unchanged
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
