"""``import``: the module of a NoSQL Workbench model."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Command


def test_the_module_of_an_exported_model_is_clean_and_declares_its_classes(
    dynaorm: Command, tmp_path: Path
) -> None:
    model, module = tmp_path / "model.json", tmp_path / "imported.py"
    exported = dynaorm("export", "tests.cast.people:Guest", "--format", "workbench", "-o", str(model))
    assert exported.returncode == 0, exported.stderr
    run = dynaorm("import", str(model), "-o", str(module))
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert dynaorm("import", str(model)).stdout == module.read_text()
    ruff = [str(Path(sys.executable).parent / "ruff"), "check", "--isolated", str(module)]
    assert subprocess.run(ruff, capture_output=True, check=False).returncode == 0
    names: dict[str, object] = {}
    exec(compile(module.read_text(), "imported", "exec"), names)
    assert "Guest" in names


def test_a_module_that_was_written_before_is_not_overwritten(dynaorm: Command, tmp_path: Path) -> None:
    model, module = tmp_path / "model.json", tmp_path / "imported.py"
    model.write_text(json.dumps({"ModelName": "m", "DataModel": []}))
    module.write_text("mine")
    run = dynaorm("import", str(model), "-o", str(module))
    assert (run.returncode, module.read_text()) == (2, "mine")
    assert "give the name of a new file" in run.stderr


def test_what_is_no_model_is_refused_with_the_remedy(dynaorm: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for text, words in (("{", "is no JSON"), ("[]", "no model of NoSQL Workbench"), ('{"a": 1}', "no model")):
        path.write_text(text)
        run = dynaorm("import", str(path))
        assert (run.returncode, run.stdout) == (2, "")
        assert words in run.stderr
        assert "Workbench" in run.stderr
    assert dynaorm("import", str(tmp_path / "none.json")).returncode == 2
