"""Whether something in this process needs botocore to send the requests: a mock, a tracer, a recorder, a signal.

Rule 1. Nothing is imported to find out: who mocks or replaces a part of botocore has imported it. Only where something
        waits for the import of a module, as Datadog's and New Relic's agents do, botocore is imported, so that they
        get their chance.
Rule 2. It may begin and end at any time, so it is asked before every request. What was found last is remembered: the
        functions and handlers are looked at again, but judged only if there are others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from types import FunctionType
from typing import Any, Final

FUNCTIONS: Final = {
    "botocore.session": ("Session.__init__", "Session.create_client", "Session.get_credentials"),
    "botocore.client": (
        "ClientCreator.create_client",
        "BaseClient.__init__",
        "BaseClient._make_api_call",
        "BaseClient._make_request",
    ),
    "botocore.endpoint": (
        "Endpoint.make_request",
        "Endpoint.create_request",
        "Endpoint.prepare_request",
        "Endpoint._send",
    ),
    "botocore.httpsession": ("URLLib3Session.__init__", "URLLib3Session.send"),
    "botocore.signers": ("RequestSigner.handler", "RequestSigner.sign"),
    "botocore.auth": ("SigV4Auth.add_auth", "SigV4Auth.signature"),
    # Not functions but classes, which recorders replace.
    "botocore.awsrequest": ("AWSHTTPConnectionPool.ConnectionCls", "AWSHTTPSConnectionPool.ConnectionCls"),
    "pynamodb.connection.base": ("Connection.__init__", "Connection.dispatch", "Connection._make_api_call"),
}
"""By module: what a call over pynamodb goes through, and tracers, recorders and mocks replace."""

_LOOKS: Final[dict[str, Callable[[Any], Any]]] = {
    module: attrgetter(*functions) for module, functions in FUNCTIONS.items()
}
_OWN: Final = ("botocore", "pynamodb")

# Finders of modules that let nobody know of an import.
_UNINTERESTED: Final = (
    "__editable__",
    "_distutils_hack",
    "_frozen_importlib",
    "_pytest",
    "_virtualenv",
    "six",
)


def need_of_botocore() -> str:
    """What needs botocore to send the requests now, as the end of a sentence; "" if nothing does."""
    _finders.on(sys.meta_path)
    # Nearly always: moto imports botocore, too.
    if "botocore" not in sys.modules and "pynamodb" not in sys.modules:
        return ""
    if moto_is_active():
        return "moto's mock_aws is active"
    handlers = getattr(sys.modules.get("botocore.handlers"), "BUILTIN_HANDLERS", [])
    return _functions.on(_found_functions()) or _handlers.on(handlers) or _receivers()


def moto_is_active() -> bool:
    """Whether moto's ``mock_aws`` answers requests to AWS in this process."""
    moto = sys.modules.get("moto.core.models")
    return moto is not None and bool(getattr(getattr(moto, "botocore_stubber", None), "enabled", False))


class _Verdict:
    """What a list means that is looked at before every request, and is nearly always the same."""

    def __init__(self, judge: Callable[[list[Any]], str]) -> None:
        self._judge = judge
        self._last: tuple[list[Any], str] = ([], "")

    def on(self, found: list[Any]) -> str:
        """What the list means. It is judged if it is another than the last time."""
        known, reason = self._last
        if found != known:
            known = [*found]
            reason = self._judge(known)
            self._last = (known, reason)
        return reason


def _let_in(finders: list[Any]) -> str:
    """Import botocore and pynamodb if somebody may wait for it."""
    if any(_waits(finder) for finder in finders):
        with suppress(ImportError):  # what is not installed, nobody waits for
            import_module("dynaorm.transport.pynamodb")
    return ""


def _found_functions() -> list[Any]:
    modules = sys.modules
    try:
        return [look(modules[name]) if name in modules else () for name, look in _LOOKS.items()]
    except AttributeError:  # another thread is importing it
        return []


def _receivers() -> str:
    signals = sys.modules.get("pynamodb.signals")
    for name in ("pre_dynamodb_send", "post_dynamodb_send"):
        # Without the package blinker, a signal has no receivers.
        if getattr(getattr(signals, name, None), "receivers", None):
            return f"pynamodb's signal {name} has receivers"
    return ""


def _first_replaced(found: list[Any]) -> str:
    for (module, names), functions in zip(FUNCTIONS.items(), found, strict=False):
        for name, function in zip(names, functions, strict=False):
            if not _is_own(function):
                return f"{module}.{name} has been replaced"
    return ""


def _is_own(found: object) -> bool:
    """Whether a function or class is botocore's or pynamodb's."""
    if isinstance(found, FunctionType):
        # A wrapper may copy the name of what it wraps, but not the module that it reads its globals from.
        return _package(found.__globals__.get("__name__")) in _OWN
    return isinstance(found, type) and _package(found.__module__) in _OWN


def _first_added(handlers: Iterable[Any]) -> str:
    for event, handler, *_ in handlers:
        name = _name_of(handler)
        service = event.split(".")[1:2]
        # moto's is there from its import on, and does something only while a mock is active.
        if _package(name) not in (*_OWN, "moto") and service in ([], ["*"], ["dynamodb"]):
            return f"{name} handles botocore's event {event}"
    return ""


def _name_of(handler: Any) -> str:
    """The full name of a function, a method, or the class of another callable."""
    function = getattr(handler, "func", handler)
    if not hasattr(function, "__qualname__"):
        function = type(function)
    return f"{function.__module__}.{function.__qualname__}"


def _waits(finder: Any) -> bool:
    """Whether somebody else's finder may want to know of an import."""
    kind = finder if isinstance(finder, type) else type(finder)
    name: str = kind.__module__
    return not name.startswith(_UNINTERESTED) and not name.endswith(".six")


def _package(name: Any) -> str:
    return str(name).partition(".")[0]


_finders, _functions, _handlers = _Verdict(_let_in), _Verdict(_first_replaced), _Verdict(_first_added)
