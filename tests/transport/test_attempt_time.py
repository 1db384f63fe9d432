"""The time of one attempt is kept over every transport, whatever the attempt waits for."""

import os
import re
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.httpsession import URLLib3Session

from dynaorm.record import replace
from dynaorm.transport import Call, NoAnswer
from dynaorm.transport.process import in_time
from tests.transport.both_ways import GET, Wrapped
from tests.transport.each_transport import Closable, Open
from tests.transport.unruly import Behaviour, Request, Unruly, response

pytestmark = pytest.mark.usefixtures("one_loader")

SECONDS = 0.5
FAR_LESS_THAN_THE_TRANSPORTS_OWN = 5.0
SHORT = replace(GET, timeout=SECONDS)


def silence_after(transport: Closable, call: Call = SHORT) -> NoAnswer:
    """Why a call had no answer, which takes about as long as it may."""
    began = time.monotonic()
    with pytest.raises(NoAnswer) as caught:
        transport.call(call)
    assert SECONDS * 0.9 <= time.monotonic() - began < FAR_LESS_THAN_THE_TRANSPORTS_OWN
    return caught.value


def trickling(server: Unruly) -> Behaviour:
    """Answer byte by byte: no wait for bytes is long."""

    def behave(peer: socket.socket, _: Request) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not server.released.wait(0.02):
            peer.sendall(b" ")
        return False

    return behave


def test_an_answer_that_does_not_come_ends_the_attempt_in_its_time(
    server: Unruly, open_transport: Open
) -> None:
    server.otherwise = server.stay_silent
    failure = silence_after(open_transport(endpoint=server.endpoint, timeout=20))
    assert failure.sent
    assert re.fullmatch(r"no answer within 0\.\d+ s", failure.reason)


def test_an_answer_that_trickles_in_ends_a_later_attempt_in_its_time(
    server: Unruly, open_transport: Open
) -> None:
    transport = open_transport(endpoint=server.endpoint, timeout=20)
    assert transport.call(GET) == {}
    server.will(trickling(server))
    assert silence_after(transport).sent


@pytest.mark.parametrize("behaviour", ["silence", "trickle"])
def test_an_attempt_that_botocore_sends_ends_in_its_time(
    behaviour: str, server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(URLLib3Session, "send", Wrapped(URLLib3Session.send))
    transport = open_transport(endpoint=server.endpoint, timeout=20)
    assert transport.call(GET) == {}
    server.otherwise = server.stay_silent if behaviour == "silence" else trickling(server)
    assert silence_after(transport).sent


def test_a_call_to_a_stream_ends_in_its_time(server: Unruly, open_transport: Open) -> None:
    transport = open_transport(endpoint=server.endpoint, timeout=20)
    server.otherwise = server.stay_silent
    describe = Call("DescribeStream", {"StreamArn": "arn:aws:dynamodb:::table/app/stream/1"}, SECONDS)
    assert silence_after(transport, describe).sent


# Over pynamodb, nobody knows how far the attempt came.
@pytest.mark.parametrize("open_transport", ["default", "async default", "direct", "async"], indirect=True)
def test_a_connection_that_is_never_open_was_not_sent_in_the_time_of_its_attempt(
    open_transport: Open,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        transport = open_transport(endpoint=f"https://127.0.0.1:{port}", timeout=20, connect_timeout=20)
        for _ in range(2):  # finding the destination is part of the first attempt
            assert not silence_after(transport).sent


@pytest.mark.parametrize("open_transport", ["default", "async default", "direct", "async"], indirect=True)
def test_a_resolver_that_is_silent_ends_each_attempt_in_its_time(
    server: Unruly, open_transport: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = threading.Event()

    def look_up(*_: object, **__: object) -> list[Any]:
        resolver.wait(30)
        return []

    transport = open_transport(endpoint=server.endpoint.replace("127.0.0.1", "localhost"))
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", look_up)
        for _ in range(2):
            assert not silence_after(transport).sent
    resolver.set()


def test_an_attempt_after_a_short_one_has_the_transports_own_time(
    server: Unruly, open_transport: Open
) -> None:
    transport = open_transport(endpoint=server.endpoint, timeout=20)
    transport.call(GET)
    assert transport.call(SHORT) == {}

    def late(peer: socket.socket, _: Request) -> bool:
        threading.Event().wait(SECONDS + 0.1)
        peer.sendall(response({}))
        return True

    server.will(late)
    assert transport.call(GET) == {}
    assert server.connections == 1


def test_a_program_that_gives_credentials_late_ends_the_attempt_in_its_time(
    server: Unruly, open_transport: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    program = f"{sys.executable} -c 'import time; time.sleep(0.8)'"
    config.write_text(f"[profile late]\ncredential_process = {program}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    transport = open_transport(endpoint=server.endpoint, profile="late")
    silence_after(transport)
    assert server.requests == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("open_transport", ["default", "async default", "direct", "async"], indirect=True)
def test_a_call_whose_time_is_over_before_there_are_credentials_is_never_sent(
    server: Unruly, open_transport: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when they come."""
    go_on, config, program = tmp_path / "go_on", tmp_path / "config", tmp_path / "credentials.py"
    os.mkfifo(go_on)
    program.write_text(
        f"open({str(go_on)!r}).close()\n"
        """print('{"Version": 1, "AccessKeyId": "K", "SecretAccessKey": "S"}')\n"""
    )
    config.write_text(f"[profile late]\ncredential_process = {sys.executable} {program}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    transport = open_transport(endpoint=server.endpoint, profile="late")
    failure = silence_after(transport)
    go_on.write_text("")
    transport.close()  # an event loop waits for its threads
    for thread in threading.enumerate():
        if thread.name == "dynaorm attempt":
            thread.join()
    assert (failure.sent, server.requests) == (False, [])


def test_what_an_attempt_returns_or_raises_in_its_thread_is_what_its_caller_gets() -> None:
    assert in_time(10, lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        in_time(10, lambda: 1 / 0)
