"""Lets botocore look up the models of one service. By itself, it lists all 400 services twice for each client."""

from collections.abc import Collection, Iterator
from typing import Any

from botocore.exceptions import DataNotFoundError
from botocore.loaders import Loader
from botocore.session import Session


def find_models_by_name(session: Session) -> None:
    """Let a session look up the models of one service by its name, in the folders that it would list."""
    loader = session.get_component("data_loader")
    if type(loader) is Loader:
        found = _LoaderByName(loader.search_paths, include_default_search_paths=False)
        session.register_component("data_loader", found)


class _LoaderByName(Loader):
    """Loads the models that botocore's own loader would load."""

    def list_available_services(self, type_name: str) -> Any:  # botocore's stubs want a list
        """The services with models of this type. ``in`` looks up a single one."""
        return _Services(self, type_name)

    def has(self, service: str, type_name: str) -> bool:
        """Whether a service has a model of this type."""
        try:
            return bool(self.list_api_versions(service, type_name))
        except DataNotFoundError:
            return False

    def all(self, type_name: str) -> list[str]:
        """The services with models of this type, as botocore's own loader lists them."""
        return super().list_available_services(type_name)


class _Services(Collection[str]):
    """Some services of a loader."""

    def __init__(self, loader: _LoaderByName, type_name: str) -> None:
        self._loader = loader
        self._type_name = type_name

    def __contains__(self, service: object) -> bool:
        return isinstance(service, str) and self._loader.has(service, self._type_name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loader.all(self._type_name))

    def __len__(self) -> int:
        return len(self._loader.all(self._type_name))
