"""``dynaorm.describe`` is a package and a function, in whatever order its names are imported."""

import subprocess
import sys

import pytest

IMPORTS = (
    "from dynaorm import describe",
    "from dynaorm.describe import classify",
    "import dynaorm.describe",
    "import dynaorm.describe.entry",
    "from dynaorm.describe.tables import describe as function",
)


@pytest.mark.parametrize("first", IMPORTS)
@pytest.mark.parametrize("second", IMPORTS)
def test_the_package_can_be_called_and_has_its_names_in_any_order_of_imports(first: str, second: str) -> None:
    program = f"""
{first}
{second}
import dynaorm
import dynaorm.describe as package
from dynaorm import Table, describe
from dynaorm.describe import Entry, classify
assert dynaorm.describe is package is describe
assert describe(Table("app")).name == package.describe(Table("app")).name == "app"
assert package.classify is classify
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_describing_loads_no_session() -> None:
    program = """
import sys
from dynaorm import Table, describe
from dynaorm.describe import classify
describe(Table("app"))
classify({"PK": {"S": "a"}, "SK": {"S": "b"}}, Table("app"))
heavy = {"moto", "click", "rich", "botocore", "pynamodb", "asyncio"}
above = ("dynaorm.session", "dynaorm.testing")
print(sorted(heavy & {*sys.modules}), [one for one in sys.modules if one.startswith(above)])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[] []\n"
