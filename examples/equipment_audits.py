"""Version control of items: the audits of Equipment_1, with the data of DynamoDB's best practices for sort keys.

Run: python examples/equipment_audits.py
"""

import boto3
from raw import console, show, step, strict_moto

from dynaorm import Entity, Key, Session, Table, tools

equipment = Table("Equipment", type_attribute=None)


class Audit(Entity, table=equipment, pk="{equipment_id}", sk="Audit", versioned=True):
    equipment_id: str
    auditor: str
    result: str


class PartAudit(Entity, table=equipment, pk="{equipment_id}", sk="Audit#{part}", versioned=True):
    equipment_id: str
    part: str
    auditor: str
    result: str


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(equipment)

        step("The first audit: v1_Audit, and its copy v0_Audit")
        audit = session.save(Audit(equipment_id="Equipment_1", auditor="Liz", result="pass"))
        show(client, equipment)

        step("Two more, by other auditors: v0_Audit always holds the latest")
        audit.auditor, audit.result = "Sue", "fail: valve"
        session.save(audit)
        audit.auditor, audit.result = "Ann", "pass"
        session.save(audit)
        show(client, equipment)

        step("The latest audit is one read; the history lists all versions, newest first")
        console.print(session.get(Audit, equipment_id="Equipment_1"))
        for version in session.history(Key(Audit, equipment_id="Equipment_1")):
            console.print(version.number, version.at, version.values["auditor"], version.values["result"])

        step("The difference between two audits, and the second one as it was")
        console.print(session.diff(audit, 1, 2))
        console.print(session.get(Key(Audit, equipment_id="Equipment_1"), version=2))

        step("Audits of several parts: the part's id comes after the prefix")
        for part in ("part7", "part8"):
            session.save(PartAudit(equipment_id="Equipment_1", part=part, auditor="Liz", result="pass"))
        show(client, equipment)

        step("Restoring the first version writes a fourth")
        session.restore(audit, version=1)
        console.print(audit, [version.number for version in session.history(audit)])

        step("Deleting keeps the history, and leaves a tombstone with the version number")
        session.delete(audit)
        show(client, equipment)

        step("Pruning keeps the newest; purging removes the rest of a deleted audit")
        console.print(tools.prune(session, Key(Audit, equipment_id="Equipment_1"), keep=2), "versions pruned")
        console.print(tools.purge(session, Key(Audit, equipment_id="Equipment_1")), "versions purged")
        show(client, equipment)


if __name__ == "__main__":
    main()
