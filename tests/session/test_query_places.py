"""Several places of a class in one index: a query of one of them finds no entity that is in another."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Session, Table

app = Table("app", indexes=[GlobalIndex("Native", pk=("team_key",), sk=("day_key", "job_key"))])


class Job(Entity, table=app, pk="JOB#{id}", sk="J"):
    id: str
    team: str
    state: str
    day: str
    open_jobs = Index("Native", pk=("T#{team}",), sk=("{day}", "OPEN#{id}"), when=F.state == "open")
    done_jobs = Index("Native", pk=("T#{team}",), sk=("{day}", "DONE#{id}"), when=F.state == "done")


@pytest.mark.parametrize("state", ["open", "done"])
def test_places_that_only_a_later_sort_key_tells_apart_are_told_apart(session: Session, state: str) -> None:
    for number, one in enumerate(["open", "done", "open"]):
        session.save(Job(id=f"{number}", team="a", state=one, day="mon"))
    place = Job.open_jobs if state == "open" else Job.done_jobs
    whole = session.query(place, team="a")
    for query in (whole, whole.ge(day="a"), session.query(place, team="a", day="mon")):
        assert {one.state for one in query.all()} == {state}
        assert query.count() == len(query.keys().all()) == len(query.all())
