"""The policy of classes whose guard items have keys that another library writes, too."""

import json
from typing import Annotated

import pytest

from dynaorm import Entity, Table, Unique
from dynaorm.errors import UsageError
from dynaorm.iam import iam_policy
from tests.iam_requests import WHERE


def test_guard_items_under_keys_of_another_library_are_leading_keys() -> None:
    class Member(Entity, table=Table("members"), pk="MEMBER#{name}", sk="M"):
        name: str
        email: Annotated[str, Unique(pk="_unique#Member#email#{email}", sk="_unique#")]

    policy = json.dumps(iam_policy(Member, **WHERE, actions="write", leading_keys=True))
    assert '["#token#*", "MEMBER#*", "_unique#Member#email#*"]' in policy

    class Open(Entity, table=Table("open-members"), pk="MEMBER#{name}", sk="M"):
        name: str
        email: Annotated[str, Unique(pk="{email}#mail", sk="mail")]

    with pytest.raises(UsageError, match="begin with a value"):
        iam_policy(Open, **WHERE, leading_keys=True)
