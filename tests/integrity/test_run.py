"""Files of a piece of work: interrupted work goes on where it was, tells all that is wrong, and is not mistaken."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynaorm import tools
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.integrity.run import RunOptions, backfill, repair, table_locations, verify
from tests.integrity.shop import User, now, store
from tests.integrity.zoo import Member, Raw, app, key_of, member, text


@pytest.fixture
def small(tmp_path: Path) -> RunOptions:
    """Small pages, and a checkpoint."""
    return RunOptions(rate=5, checkpoint=tmp_path / "checkpoint")


def test_a_dry_run_does_not_spare_anything_to_the_run_after_it(moto: Raw, small: RunOptions) -> None:
    """Were its checkpoint gone on with, what it passed would never be mended."""
    moto.fill()
    for name in ("ann", "bob", "dan"):
        moto.change(app, member(name), GSI1SK=text("old"))
    planned = repair(moto.session, app, options=RunOptions(rate=5, checkpoint=small.checkpoint, dry_run=True))
    assert [next(planned).outcome for _ in range(2)] == [Outcome.PLANNED] * 2
    del planned
    assert {one.outcome for one in repair(moto.session, app, options=small)} == {Outcome.REPAIRED}
    assert list(tools.verify(moto.session, app)) == []


def test_a_run_makes_no_more_repairs_than_it_may(moto: Raw, small: RunOptions) -> None:
    moto.fill()
    for name in ("ann", "bob", "dan"):
        moto.change(app, member(name), GSI1SK=text("old"))
    limited = replace(small, at_most=2)
    outcomes = [one.outcome for one in repair(moto.session, app, options=limited)]
    assert outcomes == [Outcome.REPAIRED, Outcome.REPAIRED, Outcome.LIMIT_REACHED]
    assert len(list(tools.verify(moto.session, app))) == 1
    assert small.checkpoint is not None
    assert small.checkpoint.exists(), "the run is not finished, and can be resumed"
    assert [one.outcome for one in repair(moto.session, app, options=limited)] == [Outcome.REPAIRED]
    assert not small.checkpoint.exists()


@pytest.mark.parametrize("rate", [None, 5])
def test_what_is_only_reported_counts_as_no_repair(moto: Raw, rate: float | None) -> None:
    moto.fill()
    moto.put(app, key_of("AAA", "AAA"))
    moto.delete(app, key_of("email#dan@x"))
    options = RunOptions(rate=rate, at_most=0)
    outcomes = [one.outcome for one in repair(moto.session, app, options=options)]
    assert outcomes == [Outcome.NEEDS_DECISION, Outcome.LIMIT_REACHED]


def test_its_files_can_be_read_by_their_owner_alone(moto: Raw, tmp_path: Path) -> None:
    store(moto.session)
    files = RunOptions(checkpoint=tmp_path / "checkpoint", dry_run=False)
    running: Any = backfill(moto.session, User, options=files)
    next(running)
    assert [oct(path.stat().st_mode & 0o777) for path in sorted(tmp_path.iterdir())][:1] == ["0o600"]
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    running.close()
    moto.client.delete_table(TableName=moto.name(now.name))


def test_a_run_knows_where_it_writes(moto: Raw) -> None:
    locations = {one.declared: one for one in table_locations(moto.session, Member, writes=True)}
    assert locations.keys() == {app.name}
    assert (locations[app.name].account, locations[app.name].region) == ("000000000000", "us-east-1")


def begun(raw: Raw, work: Any, *named: Any, options: RunOptions) -> None:
    """Begin, and stop in the middle."""
    running = work(raw.session, *named, options=options)
    next(running)
    running.close()
    assert options.checkpoint is not None
    assert options.checkpoint.exists()


def test_a_checkpoint_is_of_one_piece_of_work(moto: Raw, tmp_path: Path) -> None:
    moto.fill()
    moto.put(app, key_of("AAA", "AAA"))
    path = tmp_path / "checkpoint"
    begun(moto, verify, app, options=RunOptions(checkpoint=path))
    others: list[tuple[Any, RunOptions]] = [
        (repair, RunOptions(checkpoint=path)),
        (backfill, RunOptions(checkpoint=path)),
        (verify, RunOptions(checkpoint=path, segments=2)),
    ]
    for work, options in others:
        with pytest.raises(UsageError, match="is the checkpoint of another run"):
            list(work(moto.session, app, options=options))
    assert len(list(verify(moto.session, app, options=RunOptions(checkpoint=path)))) == 1


def test_a_checkpoint_is_of_one_table_whatever_its_name(ministack: Raw, tmp_path: Path) -> None:
    ministack.fill()
    ministack.put(app, key_of("AAA", "AAA"))
    path = tmp_path / "checkpoint"
    begun(ministack, verify, app, options=RunOptions(checkpoint=path))
    ministack.client.delete_table(TableName=ministack.name(app.name))
    ministack.create(app)
    with pytest.raises(UsageError, match="is the checkpoint of another run"):
        list(verify(ministack.session, app, options=RunOptions(checkpoint=path)))
