from typing import Annotated

from dynaorm import Entity, GlobalIndex, Index, Session, Table, Unique

app = Table("app", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    name: str = ""
    visits: int = 0


class Order(Entity, table=app, pk="USER#{user_id}", sk="ORDER#{number:06d}"):
    user_id: str
    number: int


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str = "open"
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{project}#{number:06d}")


class Audit(Entity, table=app, pk="EQUIPMENT#{equipment_id}", sk="AUDIT", versioned=True):
    equipment_id: str
    result: str


session = Session(region="eu-west-1")
session.create_table(app)
session.save(User(user_id="1", email="liz@x.com", name="Liz"))
session.save(Order(user_id="1", number=1))
session.save(Ticket(project="p1", number=1))
session.save(Ticket(project="p1", number=2, status="closed"))
audit = session.save(Audit(equipment_id="e1", result="pass"))
audit.result = "fail"
session.save(audit)
