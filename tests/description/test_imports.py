"""``dynaorm.description`` is light to import."""

import subprocess
import sys


def test_describing_loads_no_session() -> None:
    program = """
import sys
from dynaorm import Table
from dynaorm.description import classify, describe
describe(Table("app"))
classify({"PK": {"S": "a"}, "SK": {"S": "b"}}, Table("app"))
heavy = {"moto", "click", "rich", "botocore", "pynamodb", "asyncio"}
above = ("dynaorm.session", "dynaorm.testing")
print(sorted(heavy & {*sys.modules}), [one for one in sys.modules if one.startswith(above)])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"
