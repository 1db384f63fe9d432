"""A plan's actions in words."""

from collections.abc import Sequence

from dynaorm.failure import texts_of
from dynaorm.item.action import ConditionCheck, Delete, Put
from dynaorm.item.printable import printable
from dynaorm.plan.planned import Planned


def sentences(actions: Sequence[Planned]) -> list[str]:
    """One sentence per action: what is sent, to which item, and why."""
    # Stored text is part of it, and it is printed on terminals.
    return [printable(f"{verb_of(planned)} {_where(planned)}: {planned.reason}") for planned in actions]


def verb_of(planned: Planned) -> str:
    """The action of TransactWriteItems in one word: ``Put``, ``Update``, ``Delete`` or ``Check``."""
    action = planned.action
    if isinstance(action, ConditionCheck):
        return "Check"
    return "Put" if isinstance(action, Put) else "Delete" if isinstance(action, Delete) else "Update"


def _where(planned: Planned) -> str:
    texts = texts_of(planned.kind.shown_key(planned), lambda value: str(next(iter(value.values()))))
    return " ".join([planned.action.table, *(f"{name}={text}" for name, text in texts.items())])
