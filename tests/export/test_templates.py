"""Templates for CloudFormation and Terraform create the tables as they are declared."""

import json
from typing import Any, Final

import pytest
from cfnlint.api import lint_all

from dynaorm import GlobalIndex, LocalIndex, NumberKey, Table
from dynaorm.description import TableDescription, describe
from dynaorm.errors import UsageError
from dynaorm.export import cloudformation, stages, terraform
from dynaorm.flow.table_definition import definition
from dynaorm.iam import iam_policy
from dynaorm.transport import Call, Transport
from tests.cast import documents, events, orders, others, people, tables, tickets

MODULES = (documents, events, orders, others, people, tickets)
CAST: Final = [describe(one) for one in vars(tables).values() if isinstance(one, Table)]
POLICY: Final = iam_policy(
    people.User, people.Guest, account="123456789012", region="eu-west-1", leading_keys=True
)

hostile = describe(
    Table(
        "9-a.b_${c}".replace("${c}", "c"),
        pk="${aws}",
        sk='%{for} "\\',
        indexes=[
            GlobalIndex("GSI.1", pk=("'''", "\n"), sk=NumberKey("é"), projection=["${x}"]),
            LocalIndex("LSI"),
        ],
    )
)


def findings(template: dict[str, Any]) -> list[str]:
    """The errors and warnings of cfn-lint; not its advice, which its command does not show either."""
    found = lint_all(json.dumps(template))
    return [str(one) for one in found if not one.rule.id.startswith("I")]


@pytest.mark.parametrize("is_global", [False, True])
def test_one_stack_of_every_table_of_the_cast_is_clean(is_global: bool) -> None:
    assert findings(cloudformation(CAST, policy=POLICY, global_tables=is_global)) == []


def test_a_stack_in_several_regions_and_a_sam_template_are_clean() -> None:
    regions = ["eu-west-1", "us-east-1"]
    streamed = [one for one in CAST if one.stream in (None, "NEW_AND_OLD_IMAGES")]
    template = cloudformation(streamed, global_tables=True, regions=regions)
    assert findings(template) == []


def test_the_linter_finds_what_a_template_must_not_have() -> None:
    template = cloudformation(describe(tables.native))
    properties = template["Resources"]["NativeTable"]["Properties"]
    properties["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    properties["AttributeDefinitions"].append({"AttributeName": "stray", "AttributeType": "S"})
    assert len(findings(template)) >= 2


@pytest.mark.parametrize("description", CAST, ids=[one.name for one in CAST])
def test_the_properties_of_a_table_are_the_arguments_that_a_session_sends(
    description: TableDescription,
) -> None:
    (resource,) = cloudformation(description, table_names=lambda name: f"test-{name}")["Resources"].values()
    found = {**resource["Properties"]}
    del found["PointInTimeRecoverySpecification"], found["DeletionProtectionEnabled"]
    ttl = found.pop("TimeToLiveSpecification", {}).get("AttributeName")
    wanted = description.create_table()
    if description.stream is not None:
        wanted["StreamSpecification"].pop("StreamEnabled")
    assert found == {**wanted, "TableName": f"test-{description.name}"}
    assert ttl == description.ttl_attribute
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_a_policy_refers_to_the_tables_of_its_stack_and_names_the_others() -> None:
    template = cloudformation(describe(tables.app), policy=POLICY)
    statements = template["Resources"]["AccessPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    resources = [one["Fn::Sub"] for statement in statements for one in statement["Resource"]]
    assert "${AppTable.Arn}" in resources
    assert "${AppTable.Arn}/index/GSI1" in resources
    assert any(one.endswith(":${AWS::AccountId}:table/locks") for one in resources)
    assert not any("123456789012" in one for one in resources)


def test_ids_follow_from_declared_names_and_two_tables_with_one_id_are_refused() -> None:
    (one,) = cloudformation(describe(Table("my-app.v2")), table_names={"my-app.v2": "prod"})["Resources"]
    assert one == "MyAppV2Table"
    with pytest.raises(UsageError, match="one id"):
        cloudformation([describe(Table("my-app")), describe(Table("MyApp"))])
    with pytest.raises(UsageError, match="one physical name"):
        cloudformation([describe(Table("one")), describe(Table("two"))], table_names=lambda _: "same")
    with pytest.raises(UsageError, match="ARN"):
        cloudformation(describe(Table("arn:aws:dynamodb:eu-west-1:1:table/app")))
    not_described: Any = Table("app")
    with pytest.raises(UsageError, match="not the description"):
        cloudformation([not_described])


def test_a_global_table_in_several_regions_needs_whole_images() -> None:
    with pytest.raises(UsageError, match="NEW_AND_OLD_IMAGES"):
        cloudformation(
            describe(Table("streamed", stream="KEYS_ONLY")),
            global_tables=True,
            regions=["eu-west-1", "us-east-1"],
        )


# -- templates one after the other -------------------------------------------------------------------------------------


def test_each_stage_changes_one_index_and_the_last_one_is_the_declaration(moto: Transport) -> None:
    live = Table(
        "staged", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2"), GlobalIndex("Gone", pk="old", sk=None)]
    )
    declared = Table(
        "staged",
        indexes=[GlobalIndex("GSI1", projection="KEYS_ONLY"), GlobalIndex("GSI3"), GlobalIndex("GSI2")],
    )
    moto.call(Call("CreateTable", definition(live, "staged")))
    answer = moto.call(Call("DescribeTable", {"TableName": "staged"}))
    found = stages(describe(declared), answer)
    assert [findings(one) for one in found] == [[]] * len(found)
    before: set[str] = {json.dumps(one, sort_keys=True) for one in indexes_in(definition(live, "staged"))}
    for template in found:
        (resource,) = template["Resources"].values()
        after = {json.dumps(one, sort_keys=True) for one in indexes_in(resource["Properties"])}
        assert len(before ^ after) == 1
        before = after
    assert found[-1] == cloudformation(describe(declared))
    assert stages(describe(live), answer) == (cloudformation(describe(live)),)


def indexes_in(properties: dict[str, Any]) -> list[dict[str, Any]]:
    return [*properties.get("GlobalSecondaryIndexes", ())]


# -- Terraform ---------------------------------------------------------------------------------------------------------


def test_terraform_has_the_same_tables() -> None:
    found = terraform(CAST, policy=POLICY)
    json.dumps(found)
    resources = found["resource"]["aws_dynamodb_table"]
    assert resources["app"]["lifecycle"] == {"prevent_destroy": True}
    assert [one["name"] for one in resources["app"]["global_secondary_index"]] == ["GSI1", "GSI2", "Some"]
    assert resources["app"]["local_secondary_index"] == [
        {"name": "LSI1", "projection_type": "KEYS_ONLY", "range_key": "LSI1SK"}
    ]
    assert resources["fleeting"]["ttl"] == {"attribute_name": "until", "enabled": True}
    (regions,) = resources["native"]["global_secondary_index"]
    assert [(one["attribute_name"], one["key_type"]) for one in regions["key_schema"]] == [
        ("tenant", "HASH"),
        ("region", "HASH"),
        ("city", "RANGE"),
        ("number", "RANGE"),
    ]
    assert "hash_key" not in regions
    policy = json.loads(found["resource"]["aws_iam_policy"]["access"]["policy"])
    assert "${aws_dynamodb_table.app.arn}/index/GSI1" in json.dumps(policy)


def test_no_name_is_a_template_of_terraform() -> None:
    (table,) = terraform(hostile)["resource"]["aws_dynamodb_table"].values()
    assert table["hash_key"] == "$${aws}"
    assert table["range_key"] == '%%{for} "\\'
    (identifier,) = terraform(hostile)["resource"]["aws_dynamodb_table"]
    assert identifier == "table_9_a_b_c"
