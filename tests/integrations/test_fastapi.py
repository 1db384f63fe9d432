"""What dynaorm adds to FastAPI: sessions for the time of an application, problems, preconditions, pages."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Request, Response, WebSocket
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.types import Message

from dynaorm import AsyncSession, Entity, Session, Table, Unique
from dynaorm.errors import EntityNotFound, SessionClosed, Throttled
from dynaorm.integrations.fastapi import (
    CurrentAsyncSession,
    CurrentSession,
    OptionalIfMatch,
    OptionalIfNoneMatch,
    PageOf,
    PageParams,
    RequiredIfMatch,
    add_problem_handlers,
    current_session,
    etag,
    page_params,
    problem_of,
    problems,
    session_lifespan,
)
from dynaorm.session import Page
from dynaorm.testing import FaultyTransport
from dynaorm.transport.asynchronous import ThreadedTransport
from tests.integrations.asgi import Client, client_of
from tests.test_errors import SAMPLES

app = Table("service")


class User(Entity, table=app, pk="TEAM#{team}", sk="USER#{user_id}"):
    team: str
    user_id: str
    email: Annotated[str, Unique()]
    visits: int = 0


class UserOut(BaseModel):
    user_id: str
    visits: int


def service_of(*openers: Callable[[], Session | AsyncSession]) -> FastAPI:
    service = FastAPI(lifespan=session_lifespan(*openers))
    add_problem_handlers(service)
    return service


@pytest.fixture
def ask(session: Session, wire: FaultyTransport) -> Client:
    service = service_of(partial(Session, transport=wire))
    session.save(User(team="red", user_id="u1", email="u1@x"))

    @service.get("/users/{user_id}", response_model=UserOut)
    def show(user_id: str, if_none_match: OptionalIfNoneMatch, session: CurrentSession) -> User:
        return if_none_match.check(session.get_one(User, team="red", user_id=user_id))

    @service.patch("/users/{user_id}", response_model=UserOut)
    def change(user_id: str, visits: int, if_match: RequiredIfMatch, session: CurrentSession) -> User:
        user = if_match.check(session.get_one(User, team="red", user_id=user_id))
        return session.save(user.model_copy(update={"visits": visits}))

    @service.delete("/users/{user_id}")
    def remove(user_id: str, if_match: OptionalIfMatch, session: CurrentSession) -> None:
        session.delete(if_match.check(session.get_one(User, team="red", user_id=user_id)))

    @service.get("/users", response_model=PageOf[UserOut])
    def users(
        params: Annotated[PageParams, Depends(page_params(default=2, most=3))], session: CurrentSession
    ) -> Page[User]:
        return session.query(User, team="red").page(params.limit, after=params.cursor)

    return client_of(service)


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_a_session_is_opened_when_the_application_starts_and_closed_when_it_stops(
    wire: FaultyTransport,
) -> None:
    used: list[Session | AsyncSession] = []
    service = service_of(
        lambda: Session(transport=wire), lambda: AsyncSession(transport=ThreadedTransport(wire))
    )

    @service.get("/")
    async def both(one: CurrentSession, again: CurrentSession, other: CurrentAsyncSession) -> None:
        used.extend((one, again, other))

    ask = client_of(service)
    assert ask("GET", "/").status_code == 200
    first, second, other = used
    assert first is second
    assert isinstance(first, Session)
    assert isinstance(other, AsyncSession)
    with pytest.raises(SessionClosed):
        first.get(User, team="red", user_id="u1")
    with pytest.raises(SessionClosed):
        asyncio.run(other.get(User, team="red", user_id="u1"))
    ask("GET", "/")
    assert used[3] is not first


def test_an_application_without_a_session_says_so_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    service = service_of(Session)

    @service.get("/")
    def show(session: CurrentAsyncSession) -> None: ...

    with caplog.at_level(logging.ERROR, "dynaorm"):
        assert client_of(service)("GET", "/").status_code == 500
    assert "FastAPI(lifespan=session_lifespan(AsyncSession))" in str(caplog.records[0].exc_info)


def test_a_lifespan_of_your_own_enters_that_of_the_sessions(wire: FaultyTransport) -> None:
    @asynccontextmanager
    async def lifespan(service: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with session_lifespan(partial(Session, transport=wire))(service) as state:
            yield {**state, "greeting": "hello"}

    service = FastAPI(lifespan=lifespan)

    @service.get("/")
    def show(request: Request, session: CurrentSession) -> str:
        return f"{request.state.greeting} {type(session).__name__}"

    assert client_of(service)("GET", "/").json() == "hello Session"


def test_tests_replace_the_session(session: Session) -> None:
    service = service_of()
    service.dependency_overrides[current_session] = lambda: session

    @service.get("/")
    def show(found: CurrentSession) -> bool:
        return found is session

    assert client_of(service)("GET", "/").json() is True


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def failing() -> Client:
    service = service_of()

    @service.get("/{number}")
    def fail(number: int) -> None:
        raise SAMPLES[number]

    return client_of(service)


@pytest.mark.parametrize(
    "number", range(len(SAMPLES)), ids=[f"{n}-{type(error).__name__}" for n, error in enumerate(SAMPLES)]
)
def test_every_error_is_answered_with_its_problem(
    failing: Client, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "dynaorm"):
        answer = failing("GET", f"/{number}")
    problem = problem_of(SAMPLES[number])
    assert answer.status_code == problem.status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == problem.model_dump(mode="json", exclude_none=True)
    assert ("Retry-After" in answer.headers) == (problem.status == 503)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == (
        [SAMPLES[number]] if problem.status == 500 else []
    )


def test_a_handler_of_your_own_for_one_error_is_used(failing: Client) -> None:
    service = service_of()

    @service.exception_handler(EntityNotFound)
    async def gone(_: Request, error: EntityNotFound) -> Response:
        return JSONResponse({"gone": list(error.key.fields)}, status_code=410)

    @service.get("/{number}")
    def fail(number: int) -> None:
        raise SAMPLES[number]

    found, busy = (
        next(n for n, error in enumerate(SAMPLES) if type(error) is kind)
        for kind in (EntityNotFound, Throttled)
    )
    ask = client_of(service)
    assert ask("GET", f"/{found}").json() == {"gone": ["user_id"]}
    assert ask("GET", f"/{busy}").status_code == 503


def test_an_error_in_a_websocket_goes_on_to_the_server() -> None:
    service = service_of()

    @service.websocket("/")
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        raise SessionClosed

    async def connect() -> None:
        received: list[Message] = [{"type": "websocket.connect"}]
        sent: list[Message] = []

        async def receive() -> Message:
            return received.pop()

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "websocket",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [],
            "subprotocols": [],
        }
        with pytest.raises(SessionClosed):
            await service(scope, receive, send)
        assert [message["type"] for message in sent] == ["websocket.accept"]

    asyncio.run(connect())


def test_the_value_of_another_user_is_in_no_answer(session: Session, wire: FaultyTransport) -> None:
    service = service_of(partial(Session, transport=wire))
    session.save(User(team="red", user_id="u1", email="u1@x"))

    @service.post("/users")
    def sign_up(email: str, session: CurrentSession) -> None:
        session.save(User(team="blue", user_id="u2", email=email))

    answer = client_of(service)("POST", "/users", params={"email": "u1@x"})
    assert (answer.status_code, answer.json()["fields"]) == (409, ["email"])
    assert [text for text in ("u1", "red", "TEAM") if text in answer.text] == []


# -- preconditions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 428),
        (["{}"], 200),
        (["*"], 200),
        (['"other", {}'], 200),
        (['"other"', "{}"], 200),
        (["W/{}"], 412),
        (['"other"'], 412),
        (["other"], 400),
        ([""], 400),
    ],
)
def test_if_match_allows_the_revision_that_it_names(
    ask: Client, session: Session, headers: list[str], status: int
) -> None:
    tag = etag(session.get_one(User, team="red", user_id="u1"))
    lines = [("If-Match", header.format(tag)) for header in headers]
    answer = ask("PATCH", "/users/u1", params={"visits": 1}, headers=lines)
    assert answer.status_code == status
    assert session.get_one(User, team="red", user_id="u1").visits == (1 if status == 200 else 0)
    if status != 200:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert tag.strip('"') not in answer.text


@pytest.mark.parametrize(("headers", "status"), [({}, 200), ({"If-Match": '"other"'}, 412)])
def test_if_match_may_be_left_out_where_it_is_optional(
    ask: Client, headers: dict[str, str], status: int
) -> None:
    assert ask("DELETE", "/users/u1", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 200),
        ("{}", 304),
        ("W/{}", 304),
        ("*", 304),
        ('"other", {}', 304),
        ('"other"', 200),
        ("other", 400),
    ],
)
def test_if_none_match_spares_the_body_that_the_client_has(
    ask: Client, session: Session, header: str | None, status: int
) -> None:
    tag = etag(session.get_one(User, team="red", user_id="u1"))
    headers = {} if header is None else {"If-None-Match": header.format(tag)}
    answer = ask("GET", "/users/u1", headers=headers)
    assert answer.status_code == status
    if status == 304:
        assert (answer.headers["ETag"], answer.content) == (tag, b"")


# -- pages -------------------------------------------------------------------------------------------------------------


def test_the_pages_of_a_list_have_every_item_once(ask: Client, session: Session) -> None:
    session.save_many([User(team="red", user_id=f"u{n}", email=f"u{n}@x", visits=n) for n in range(2, 6)])
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for size in (2, 2, 1):
        page = ask("GET", "/users", params={} if cursor is None else {"cursor": cursor}).json()
        assert page.keys() == {"items", "cursor"}
        assert len(page["items"]) == size
        found += page["items"]
        cursor = page["cursor"]
    assert cursor is None
    assert found == [{"user_id": f"u{n}", "visits": n if n > 1 else 0} for n in range(1, 6)]


@pytest.mark.parametrize(
    ("params", "status", "media_type"),
    [
        ({"cursor": "x"}, 400, "application/problem+json"),
        ({"limit": 3}, 200, "application/json"),
        ({"limit": 4}, 422, "application/json"),
        ({"limit": 0}, 422, "application/json"),
    ],
)
def test_a_bad_cursor_or_limit_is_refused(
    ask: Client, params: dict[str, Any], status: int, media_type: str
) -> None:
    answer = ask("GET", "/users", params=params)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, media_type)


# -- OpenAPI -----------------------------------------------------------------------------------------------------------


def responses_of(service: FastAPI, path: str) -> dict[str, Any]:
    responses: dict[str, Any] = service.openapi()["paths"][path]["get"]["responses"]
    return responses


def test_the_errors_of_an_application_a_router_and_a_route_are_declared() -> None:
    service = FastAPI(responses=problems(503))
    router = APIRouter(responses=problems(404))

    @router.get("/{number}", responses=problems(409, 422))
    def show(number: int) -> None: ...

    service.include_router(router)
    responses = responses_of(service, "/{number}")
    assert responses.keys() == {"200", "503", "404", "409", "422"}
    schema = responses["404"]["content"]["application/problem+json"]["schema"]
    assert schema["required"] == ["type", "title", "status", "detail"]
    assert schema["properties"].keys() == {"type", "title", "status", "detail", "field", "fields"}
    assert [list(responses[code]["content"]) for code in ("404", "409", "503")] == [
        ["application/problem+json"]
    ] * 3
    assert responses["422"]["content"].keys() == {"application/problem+json", "application/json"}
    assert [code for code, one in responses.items() if "Retry-After" in one.get("headers", {})] == ["503"]


def test_the_headers_and_parameters_are_declared() -> None:
    service = FastAPI()

    @service.get("/")
    def show(
        if_match: RequiredIfMatch,
        if_none_match: OptionalIfNoneMatch,
        params: Annotated[PageParams, Depends(page_params())],
    ) -> None: ...

    named = service.openapi()["paths"]["/"]["get"]["parameters"]
    assert {(one["in"], one["name"]) for one in named} == {
        ("header", "If-Match"),
        ("header", "If-None-Match"),
        ("query", "limit"),
        ("query", "cursor"),
    }
