"""An overwrite replaces whatever is stored under the key."""

from dynaorm import Session
from dynaorm.flow.protocol.call import Transport
from tests.cast.people import USER, Staff, User
from tests.cast.seen import items


def test_overwrite_replaces_whatever_is_stored(session: Session, moto: Transport) -> None:
    session.save(Staff(user_id="1", email="a", phone="5", desk="d"))
    new = User(user_id="1", email="b", phone="5")
    session.save(new, overwrite=True)
    assert items(moto).keys() == {"USER#1 U", "email#b email#b", "phone#5 phone#5"}
    assert session.get(USER) == new
    new.name = "loaded now"
    session.save(new)
