"""Late modules: what stands for them imports them once, and then makes way."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from threading import Barrier
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest

from dynaorm.late import late

SOURCE = "imported = []\nimported.append(__name__)\n\ndef answer():\n    return 42\n"


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that nobody has imported."""
    name = "dynaorm_test_late_other"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    # Set before it is deleted, so that it is deleted again at the end.
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    del sys.modules[name]
    return name


@pytest.fixture
def names(other: str) -> dict[str, Any]:
    """The globals of a module for which the other one is late."""
    found: dict[str, Any] = {}
    late(found, other=other)
    return found


def test_a_late_module_is_imported_when_it_is_used(other: str, names: dict[str, Any]) -> None:
    assert other not in sys.modules
    assert names["other"].answer() == 42
    assert other in sys.modules


def test_once_used_it_is_the_module_itself(other: str, names: dict[str, Any]) -> None:
    _ = names["other"].answer
    assert names["other"] is sys.modules[other]


def test_what_stood_for_it_goes_on_doing_so(names: dict[str, Any]) -> None:
    kept = names["other"]
    assert kept.answer() == kept.answer() == 42


def test_a_name_that_it_has_not_is_an_attribute_error_of_the_module(
    other: str, names: dict[str, Any]
) -> None:
    with pytest.raises(AttributeError, match=f"'{other}' has no attribute 'question'"):
        _ = names["other"].question


def test_a_module_that_is_not_there_is_missed_when_it_is_used() -> None:
    names: dict[str, Any] = {}
    late(names, nowhere="dynaorm.nowhere")
    with pytest.raises(ModuleNotFoundError, match=r"dynaorm\.nowhere"):
        _ = names["nowhere"].answer


def test_printing_it_imports_nothing(other: str, names: dict[str, Any]) -> None:
    assert repr(names["other"]) == f"<{other}, imported when it is used>"
    assert other not in sys.modules


def test_threads_that_meet_at_it_import_it_once(other: str, names: dict[str, Any]) -> None:
    kept, together = names["other"], Barrier(8)

    def use(_: int) -> list[str]:
        together.wait()
        imported: list[str] = kept.imported
        return imported

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(use, range(8)))
    assert all(one is found[0] for one in found)
    assert found[0] == [other]


def test_a_process_imports_what_it_uses() -> None:
    """Before the first class, nothing that declares one; before the first write, nothing that plans one."""
    program = """
import sys
from dynaorm import Entity, Key, Session, Table
from dynaorm.item.json_body import Body
from dynaorm.transport import DirectTransport
def imported(*wings):
    return sorted({wing for wing in wings for name in sys.modules if f"{name}.".startswith(f"dynaorm.{wing}.")})
Session(transport=DirectTransport(region="us-east-1"))
print(imported("entity.declare", "entity.mapping", "entity.codec", "flow.entity"), "logging" in sys.modules)
class User(Entity, table=Table("late-app"), pk="USER#{name}", sk="U"):
    name: str
print(Key(User, name="a"), User(name="b"))
class Nothing:
    def call(self, call):
        return Body(b"{}")
print(Session(transport=Nothing()).get(User, name="a"), imported("flow.write", "plan", "query"))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == ["[] False", "Key(User, name='a') name='b'", "None []"], run.stderr


@pytest.fixture
def package(other: str, tmp_path: Path) -> ModuleType:
    """A package whose stub imports a name from the other module."""
    name = "dynaorm_test_late_names"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(
        "from dynaorm.late import late_names\n\nlate_names(globals())\n"
    )
    (tmp_path / name / "__init__.pyi").write_text(f"# Names.\nfrom {other} import answer as answer\n")
    sys.modules.pop(name, None)
    return import_module(name)


def test_a_late_name_is_imported_from_its_home_when_it_is_used(package: ModuleType, other: str) -> None:
    assert package.__all__ == ["answer"]
    assert "answer" in dir(package)
    assert other not in sys.modules
    assert package.answer() == 42
    assert vars(package)["answer"] is sys.modules[other].answer


def test_a_name_without_a_home_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'dynaorm_test_late_names' has no attribute 'question'"):
        _ = package.question


def test_late_names_of_a_zip_file_are_found(tmp_path: Path) -> None:
    """As in a layer of AWS Lambda."""
    program = "import late_zipped; print(late_zipped.__all__, late_zipped.answer())"
    with ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr(
            "late_zipped/__init__.py", "from dynaorm.late import late_names\n\nlate_names(globals())\n"
        )
        archive.writestr("late_zipped/__init__.pyi", "from late_zipped.home import answer as answer\n")
        archive.writestr("late_zipped/home.py", SOURCE)
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "zipped.zip")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "['answer'] 42\n", run.stderr
