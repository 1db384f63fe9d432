"""botocore's sessions find the same models as before, and look for those of one service alone."""

import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import UnknownServiceError
from botocore.loaders import Loader
from botocore.session import Session

from dynaorm.transport.botocore_models import find_models_by_name

TYPES = ("service-2", "endpoint-rule-set-1", "waiters-2")


def session() -> Any:
    made = Session()
    find_models_by_name(made)
    return made


def client_of(made: Any) -> Any:
    return made.create_client("dynamodb", region_name="eu-west-1")


@pytest.mark.parametrize("kind", TYPES)
def test_it_has_the_services_that_botocore_lists_and_no_others(kind: str) -> None:
    expected = Loader().list_available_services(kind)
    services = session().get_component("data_loader").list_available_services(kind)
    assert list(services) == expected
    assert len(services) == len(expected)
    assert all(name in services for name in expected)
    assert "dynamo" not in services


def test_a_client_reads_no_folder_of_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    listdir = os.listdir

    def recorded(path: Any) -> list[str]:
        listed.append(str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", recorded)
    client_of(session())
    assert {Path(one).name for one in listed} == {"dynamodb"}


def test_models_in_aws_data_path_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dynamodb" / "2099-01-01"
    folder.mkdir(parents=True)
    folder.joinpath("service-2.json").write_text(
        '{"metadata": {"apiVersion": "2099-01-01", "protocol": "json", "jsonVersion": "1.0", "serviceId": "DynamoDB",'
        ' "endpointPrefix": "dynamodb", "signatureVersion": "v4"}, "operations": {}, "shapes": {}}'
    )
    monkeypatch.setenv("AWS_DATA_PATH", str(tmp_path))
    assert client_of(session()).meta.service_model.api_version == "2099-01-01"


def test_an_unknown_service_is_refused_as_botocore_does() -> None:
    with pytest.raises(UnknownServiceError, match=r"Unknown service: 'dynamo'.*dynamodb, dynamodbstreams"):
        session().create_client("dynamo", region_name="eu-west-1")


def test_the_loader_that_another_library_put_into_botocore_stays() -> None:
    class Own(Loader):
        """A loader of its own."""

    made: Any = Session()
    own = Own()
    made.register_component("data_loader", own)
    find_models_by_name(made)
    assert made.get_component("data_loader") is own
