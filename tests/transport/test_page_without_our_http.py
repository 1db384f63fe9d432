"""The page "Without our HTTP": its program imports botocore's connections, and none of dynaorm's own."""

import re
import subprocess
import sys

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "without-our-http.md").read_text("utf-8")
CHECKED = """
import sys
from dynaorm.testing import strict_moto

with strict_moto():
    exec(sys.stdin.read())
own = {"connection", "async_connection", "exchange", "http_answer"}
print("botocore.httpsession" in sys.modules, own & {name.rpartition(".http.")[2] for name in sys.modules})
"""


def test_its_program_imports_none_of_our_connections() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-c", CHECKED],
        input=program,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "True set()\n", run.stdout + run.stderr
