"""An engine finds in an export exactly what verify finds in the live table."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dynaorm import Table
from dynaorm.cli.entry import main
from dynaorm.errors import UsageError
from dynaorm.integrity.keyed import (
    Answer,
    FactKind,
    KeyedScope,
    ShuffleRecord,
    facts_of,
    findings_of,
    folded,
    name_of,
)
from dynaorm.integrity.run import verify
from dynaorm.integrity.serialize import as_json
from dynaorm.integrity.verify_export import open_export, verify_export
from dynaorm.tools import Finding
from tests.conftest import ROOT
from tests.integrity.damages import portions
from tests.integrity.exports import write_export
from tests.integrity.zoo import TABLES, TODAY, Damage, Device, Raw, key_of, plain

NOW = TODAY.timestamp()
PATIENCE = 60.0


def lines(findings: Iterator[Finding]) -> list[str]:
    return sorted(as_json(one, with_secrets=True) for one in findings)


def exported(raw: Raw, folder: Path) -> dict[str, str]:
    """An export of each table of the zoo."""
    stored = raw.items(*TABLES)
    return {name: write_export(folder / name, items, now=NOW) for name, items in stored.items()}


@pytest.mark.parametrize("damages", portions(), ids=lambda some: some[0].name.replace(" ", "-"))
def test_an_export_has_the_findings_of_its_table(moto: Raw, damages: list[Damage], tmp_path: Path) -> None:
    moto.fill()
    for damage in damages:
        damage.do(moto)
    found = lines(verify_export(exported(moto, tmp_path), *TABLES, workers=1))
    assert found == lines(verify(moto.session, *TABLES))
    assert len(found) >= len(damages)


def test_processes_leave_nothing_in_their_folder(moto: Raw, tmp_path: Path) -> None:
    moto.fill()
    for damage in portions()[0]:
        damage.do(moto)
    paths = exported(moto, tmp_path)
    found = verify_export(paths, *TABLES, workers=2, temp_directory=str(tmp_path))
    assert lines(found) == lines(verify(moto.session, *TABLES))
    assert {one.name for one in tmp_path.iterdir()} == set(paths)


def test_a_folder_without_room_is_said_with_the_way_to_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_export(tmp_path / "export", [key_of("a")] * 3, now=NOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    # Python imports it at the start of each process, which may then write files of one kilobyte.
    (tmp_path / "sitecustomize.py").write_text(
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
    )
    with pytest.raises(UsageError, match=r"cannot be used .*give a folder with more room .* --temp"):
        list(verify_export(path, plain, workers=2, temp_directory=str(tmp_path)))


def test_the_processes_end_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export", [key_of("a")] * 3, now=NOW)
    program = (
        "from dynaorm.integrity.verify_export import verify_export\n"
        f"found = verify_export({path!r}, 'tests.integrity.zoo:plain', workers=2, temp_directory={str(tmp_path)!r})\n"
        "print(next(found).kind.value, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "unknown item\n"
        run.kill()
        # Its processes write to the same pipe, which has an end when all of them are gone.
        assert run.communicate(timeout=PATIENCE)[0] == ""


def test_facts_in_any_order_and_folded_as_often_as_one_likes_say_the_same(moto: Raw) -> None:
    moto.fill()
    for damage in portions()[0]:
        damage.do(moto)
    chance = Random(7)
    expected = lines(verify(moto.session, *TABLES))
    for _ in range(3):
        assert in_memory(moto.items(*TABLES), chance) == expected


def in_memory(tables: dict[str, list[dict[str, Any]]], chance: Random) -> list[str]:
    """The findings of the smallest engine there can be, which loses the order of everything."""
    declared = KeyedScope(tuple(map(name_of, TABLES)), NOW)
    facts = [
        fact for table, items in tables.items() for item in items for fact in facts_of(item, table, declared)
    ]
    stored = grouped(facts, FactKind.STORED)
    done: list[ShuffleRecord] = []

    def settle(some: list[ShuffleRecord]) -> None:
        while some:
            done.extend(some)
            asked = grouped(some, FactKind.ASKED)
            some = [
                fact
                for key, texts in chance.sample(list(asked.items()), len(asked))
                for fact in findings_of(
                    key, shuffled([answer for text in texts for answer in answers(text)]), declared
                )
            ]

    def answers(text: str) -> list[Answer]:
        return [Answer(text, item) for item in stored.get(text) or [None]]

    def shuffled(some: list[Any]) -> list[Any]:
        return chance.sample(some, len(some))

    settle(facts)
    doubts = {key: min(texts) for key, texts in grouped(done, FactKind.DOUBT).items()}
    declared = KeyedScope(declared.targets, NOW, doubts=tuple(doubts.items()))
    concerns = grouped(done, FactKind.CONCERNS)
    settle(
        [
            fact
            for key, texts in concerns.items()
            for fact in findings_of(key, folded(shuffled(texts), declared), declared)
        ]
    )
    return sorted(one.text for one in done if one.kind == FactKind.FINDING)


def grouped(facts: list[ShuffleRecord], kind: FactKind) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for one in facts:
        if one.kind == kind:
            found.setdefault(one.key, []).append(one.text)
    return found


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        (
            {"exportType": "INCREMENTAL_EXPORT", "exportFromTime": "2099-01-01T00:00:00Z"},
            "incremental export",
        ),
        ({"outputFormat": "ION"}, "format ION"),
        ({"exportTime": "soon"}, "manifests"),
    ],
)
def test_what_is_no_full_export_is_refused(summary: dict[str, Any], problem: str, tmp_path: Path) -> None:
    path = write_export(tmp_path / "export", [], now=NOW, **summary)
    with pytest.raises(UsageError, match=problem):
        open_export(path)


def test_a_dump_is_no_export(tmp_path: Path) -> None:
    (dump := tmp_path / "app.json.gz").touch()
    with pytest.raises(
        UsageError, match=r"is a file, and an export is a folder; .* verify its table instead"
    ):
        open_export(str(dump))


def test_a_folder_without_manifests_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        open_export(str(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path} is no export: it lacks manifest-summary.json or manifest-files.json; "
        "name the folder that has both: AWSDynamoDB/ and the name of the export"
    )


def test_an_export_with_an_item_too_few_is_refused_by_every_process(tmp_path: Path) -> None:
    path = Path(write_export(tmp_path / "export", [key_of("a")] * 3, now=NOW))
    manifest = path / "manifest-files.json"
    manifest.write_text(manifest.read_text().replace('"itemCount": 2', '"itemCount": 3'))
    with pytest.raises(UsageError, match="has 2 items, and its manifest says 3"):
        list(verify_export(str(path), plain, workers=2))


def test_every_table_that_is_judged_needs_its_export(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export", [], now=NOW)
    with pytest.raises(
        UsageError, match=r"needs an export of 'zoo-far' and 'zoo-guards'.*none of 'zoo-guards'"
    ):
        verify_export({"zoo-far": path}, Device)
    with pytest.raises(UsageError, match="nothing depends on 'orders'"):
        verify_export({"zoo-plain": path, "orders": path}, plain)


def test_what_other_processes_cannot_find_is_refused(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export", [], now=NOW)
    with pytest.raises(UsageError, match="cannot find the table 'nowhere'"):
        verify_export(path, Table("nowhere"))
    with pytest.raises(UsageError, match=r"'tests.integrity.zoo:nothing' cannot be found"):
        verify_export(path, "tests.integrity.zoo:nothing")


def test_a_command_verifies_an_export(moto: Raw, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moto.fill()
    moto.delete(plain, key_of("door#h#1"))
    path = write_export(tmp_path / "export", moto.items(plain)[plain.name], now=NOW)
    given = ["verify", "tests.integrity.zoo:plain", "--export", path]
    assert main(given) == 1
    told = capsys.readouterr()
    assert told.out == (
        "missing guard of Room in zoo-plain, PK=door#h#1 SK=door#h#1: no guard item\n    protects the value\n"
    )
    assert "3 items, missing guard: 1" in told.err
    assert main([*given, "--rate", "5"]) == 2
    assert "--rate is about requests, and --export makes none" in capsys.readouterr().err
