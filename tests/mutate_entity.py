"""Mutates a sample of each module of entity/ with cosmic-ray, and names the mutants that no test noticed.

``python tests/mutate_entity.py [--sample N] [module ...]``. Every mutant is tested in its own process, first by the
tests named after its module or those of its folder, then by those of entity/ and requests/; it is written into a copy
of the tree.
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENTITY = Path("dynaorm/entity")
PYTEST = f"{sys.executable} -m pytest -q -x -p no:randomly -p no:cacheprovider -k 'not ministack'"
SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=12, help="mutants of each module")
    parser.add_argument("modules", nargs="*", help="as in: base template; default: all")
    given = parser.parse_args()
    entity = ROOT / ENTITY
    names = given.modules or sorted(
        path.relative_to(entity).with_suffix("").as_posix() for path in entity.rglob("[!_]*.py")
    )
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        for name in ("dynaorm", "tests", "examples"):
            shutil.copytree(ROOT / name, tree / name)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, tree)
        for name in names:
            sys.stdout.write(f"{name}: {mutate(tree, name, given.sample)}\n")
            sys.stdout.flush()


def mutate(tree: Path, name: str, sample: int) -> str:
    """Runs a sample of one module's mutants: how many were killed, and the others."""
    file = name.replace("/", ".")
    settings, session = tree.parent / f"{file}.toml", tree.parent / f"{file}.sqlite"
    folder, _, stem = f"tests/entity/{name}".rpartition("/")
    own = sorted((tree / folder).glob(f"test_{stem}*.py")) or [tree / folder]
    tests = " ".join(str(path.relative_to(tree)) for path in own)
    command = f'sh -c "{PYTEST} {tests} && {PYTEST} tests/entity tests/requests"'
    settings.write_text(
        f'[cosmic-ray]\nmodule-path = "{ENTITY / name}.py"\ntimeout = 300.0\nexcluded-modules = []\n'
        f'test-command = {json.dumps(command)}\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    tool = [str(Path(sys.executable).with_name("cosmic-ray"))]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    subprocess.run([*tool, "init", str(settings), str(session)], cwd=tree, env=environment, check=True)
    with closing(sqlite3.connect(session)) as database:
        _keep(database, sample)
    subprocess.run([*tool, "exec", str(settings), str(session)], cwd=tree, env=environment, check=True)
    with closing(sqlite3.connect(session)) as database:
        found = database.execute("SELECT test_outcome, diff FROM work_results").fetchall()
    survived = [diff for outcome, diff in found if outcome == "SURVIVED"]
    return f"{len(found) - len(survived)} of {len(found)} killed\n" + "\n".join(survived)


def _keep(database: sqlite3.Connection, sample: int) -> None:
    """Leaves a sample of the mutants, the same one each time."""
    # Jobs are named at random: what a mutant changes, and where, is the same each time.
    order = "SELECT job_id FROM mutation_specs ORDER BY operator_name, operator_args, occurrence"
    jobs = [job for (job,) in database.execute(order)]
    kept = {jobs[place] for place in random.Random(SEED).sample(range(len(jobs)), min(sample, len(jobs)))}
    for table in ("mutation_specs", "work_items"):
        statement = f"DELETE FROM {table} WHERE job_id = ?"  # noqa: S608 - one of the two names above
        database.executemany(statement, [(job,) for job in jobs if job not in kept])
    database.commit()


if __name__ == "__main__":
    main()
