"""dynaorm in a FastAPI service: sessions, errors as problem details, ETags, pages, idempotent requests.

Everything here is a lifespan, a dependency, an exception handler or a response of FastAPI's own. Install it with
``pip install "dynaorm[fastapi]"``. The documentation has a page about it: "In a service".
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.requests import HTTPConnection
from fastapi.responses import JSONResponse
from pydantic import AliasChoices, BaseModel, Field

from dynaorm.argument import check_count, check_function, check_kind, check_plain_function
from dynaorm.errors import DynaormError, StaleEntity, UsageError
from dynaorm.failure import shown
from dynaorm.integrations.http import (
    BAD_ENTITY_TAG,
    BAD_IDEMPOTENCY_KEY,
    MEDIA_TYPE,
    NO_IDEMPOTENCY_KEY,
    NO_IF_MATCH,
    RETRY_AFTER,
    EntityTags,
    IdempotencyKey,
    Problem,
    digits_of,
    entity_tags,
    etag,
    key_in,
    problem_of,
)
from dynaorm.plan.inspection import inspect
from dynaorm.plan.intent import check_token
from dynaorm.record import record
from dynaorm.session._async.session import AsyncSession
from dynaorm.session.session import Session

__all__ = [
    "CurrentAsyncSession",
    "CurrentSession",
    "IdempotencyKey",
    "IfMatch",
    "IfNoneMatch",
    "OptionalIfMatch",
    "OptionalIfNoneMatch",
    "PageOf",
    "PageParams",
    "Problem",
    "RequiredIfMatch",
    "add_problem_handlers",
    "current_async_session",
    "current_session",
    "etag",
    "idempotency_key",
    "page_params",
    "problem_of",
    "problems",
    "session_lifespan",
]

E = TypeVar("E")
T = TypeVar("T")

_logger = logging.getLogger("dynaorm")


# -- sessions ----------------------------------------------------------------------------------------------------------

_SESSION: Final = "dynaorm_session"
_ASYNC_SESSION: Final = "dynaorm_async_session"


def session_lifespan(
    *openers: Callable[[], Session | AsyncSession],
) -> Callable[[Any], AbstractAsyncContextManager[dict[str, Any]]]:
    """The lifespan of an application whose requests share a session: ``FastAPI(lifespan=session_lifespan(Session))``.

    Args:
        *openers: a function that returns a new ``Session`` or ``AsyncSession``, or one for each. They are called when
            the application starts, and the sessions are closed when it stops.

    A lifespan of your own can enter it: ``async with session_lifespan(Session)(app) as state: yield state``.

    Examples:
        >>> from fastapi import FastAPI
        >>> service = FastAPI(lifespan=session_lifespan(lambda: Session(region="eu-west-1")))
    """
    for opener in openers:
        check_plain_function("session_lifespan({})", opener, takes=0)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[dict[str, Any], None]:
        state: dict[str, Any] = {}
        async with AsyncExitStack() as stack:
            for open_session in openers:
                session = open_session()
                if isinstance(session, AsyncSession):
                    state[_ASYNC_SESSION] = await stack.enter_async_context(session)
                else:
                    state[_SESSION] = stack.enter_context(session)
            yield state

    return lifespan


# Coroutine functions: FastAPI would call others in a thread for each request.
async def current_session(connection: HTTPConnection) -> Session:
    """The application's ``Session``. Tests replace it: ``app.dependency_overrides[current_session] = ...``.

    Args:
        connection: the request or the WebSocket.

    Examples:
        ```python
        @service.get("/users/{user_id}")
        def read(user_id: str, session: CurrentSession) -> User: ...
        ```
    """
    return _opened(connection, _SESSION, Session)


async def current_async_session(connection: HTTPConnection) -> AsyncSession:
    """The application's ``AsyncSession``.

    Args:
        connection: the request or the WebSocket.

    Examples:
        ```python
        @service.get("/users/{user_id}")
        def read(user_id: str, session: CurrentAsyncSession) -> User: ...
        ```
    """
    return _opened(connection, _ASYNC_SESSION, AsyncSession)


def _opened(connection: HTTPConnection, name: str, kind: type[T]) -> T:
    session = getattr(connection.state, name, None)
    if not isinstance(session, kind):
        raise UsageError(
            problem=f"the application has no {kind.__name__}",
            remedy=f"open one when it starts: FastAPI(lifespan=session_lifespan({kind.__name__}))",
        )
    return session


CurrentSession: TypeAlias = Annotated[Session, Depends(current_session)]
CurrentAsyncSession: TypeAlias = Annotated[AsyncSession, Depends(current_async_session)]


# -- errors ------------------------------------------------------------------------------------------------------------


class ProblemError(HTTPException):
    """A request is refused with problem details."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status, problem.detail)
        self.problem = problem


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error of dynaorm with problem details (RFC 9457). No answer has a stored value, a key or an owner.

    Errors of which the client can know nothing are logged by the logger ``dynaorm``, and answered with status 500.
    To answer an error in another way, add an exception handler for its class.

    Args:
        app: the application.

    Examples:
        >>> from fastapi import FastAPI
        >>> service = FastAPI()
        >>> add_problem_handlers(service)
    """
    check_kind("add_problem_handlers({})", app, FastAPI, "a FastAPI application", remedy="give FastAPI(...)")
    app.add_exception_handler(DynaormError, _answer_error)
    app.add_exception_handler(ProblemError, _answer_refusal)


async def _answer_error(request: Request, error: Exception) -> Response:
    # A websocket has no answer. So the error goes on, as one without a handler.
    if not isinstance(error, DynaormError) or request.scope["type"] != "http":
        raise error
    problem = problem_of(error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _logger.error("a request was answered with status 500", exc_info=error)
    return _answer(problem)


async def _answer_refusal(_: Request, error: Exception) -> Response:
    if not isinstance(error, ProblemError):
        raise error
    return _answer(error.problem)


def _answer(problem: Problem) -> Response:
    is_later = problem.status == HTTPStatus.SERVICE_UNAVAILABLE
    return JSONResponse(
        problem.model_dump(mode="json", exclude_none=True),
        status_code=problem.status,
        headers=RETRY_AFTER if is_later else None,
        media_type=MEDIA_TYPE,
    )


ProblemStatus: TypeAlias = Literal[400, 404, 409, 412, 413, 422, 428, 500, 503]

_MEANINGS: Final[Mapping[int, str]] = {
    400: "The cursor, entity tag or idempotency key is not valid.",
    404: "It does not exist.",
    409: "A value that must be unique is taken, or it is still in use.",
    412: "It was changed since it was read, or does not allow the change.",
    413: "It is too large to be stored.",
    422: "A value is not valid, or the idempotency key belongs to another request.",
    428: "The request needs If-Match.",
    500: "The service could not handle the request.",
    503: "The service is busy, or the outcome is unknown: repeat the request later.",
}
_RETRY_HEADER: Final = {"Retry-After": {"description": "In seconds.", "schema": {"type": "integer"}}}
# FastAPI declares its own 422 only for routes that declare none.
_REFUSED_BY_FASTAPI: Final = {
    "title": "HTTPValidationError",
    "type": "object",
    "properties": {"detail": {"type": "array", "items": {"type": "object"}}},
}


def problems(*statuses: ProblemStatus) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, a router or an application, for OpenAPI: ``responses=problems(404, 409)``.

    Args:
        *statuses: the statuses of the answers.

    Examples:
        >>> list(problems(404, 409))
        [404, 409]
    """
    for status in statuses:
        given: object = status
        if type(given) is not int or given not in _MEANINGS:
            raise UsageError(
                problem=f"problems({shown(status)}) is not a status of an answer",
                remedy=f"give some of {', '.join(map(str, _MEANINGS))}",
            )
    return {status: _declared(status) for status in statuses}


def _declared(status: int) -> dict[str, Any]:
    content: dict[str, Any] = {MEDIA_TYPE: {"schema": Problem.model_json_schema(mode="serialization")}}
    response: dict[str, Any] = {"description": _MEANINGS[status], "content": content}
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        content["application/json"] = {"schema": _REFUSED_BY_FASTAPI}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["headers"] = _RETRY_HEADER
    return response


# -- ETags -------------------------------------------------------------------------------------------------------------


@record
class IfMatch:
    """The revisions that the client of a request allows to be changed. ``tags``: None if it named none.

    Attributes:
        tags: the entity tags; None if the client named none.

    Examples:
        >>> IfMatch(None).check(session.get_one(User, user_id="1")).name
        'Liz'
    """

    tags: EntityTags | None

    def check(self, entity: E) -> E:
        """Return the loaded entity if the client allows this revision to be changed.

        Saving it afterwards fails if somebody changes it in between. So of two requests with one tag, one succeeds.

        Args:
            entity: the loaded entity.

        Raises:
            StaleEntity: the client knows another revision. The answer is 412.
            UsageError: the entity is new, or its table keeps no revisions.

        Examples:
            ```python
            user = if_match.check(session.get_one(User, user_id=user_id))
            ```
        """
        if self.tags is not None and not self.tags.match_strongly(etag(entity)):
            found = inspect(entity)
            assert found.key is not None
            raise StaleEntity(key=found.key, expected=None, found=found.revision)
        return entity


@record
class IfNoneMatch:
    """The revisions that the client of a GET has already. ``tags``: None if it named none.

    Attributes:
        tags: the entity tags; None if the client named none.

    Examples:
        >>> IfNoneMatch(None).check(session.get_one(User, user_id="1")).name
        'Liz'
    """

    tags: EntityTags | None

    def check(self, entity: E) -> E:
        """Return the loaded entity if the client does not have this revision.

        Args:
            entity: the loaded entity.

        Raises:
            HTTPException: the client has it. The answer is 304, with the ETag and without a body.
            UsageError: the entity is new, or its table keeps no revisions.

        Examples:
            ```python
            user = if_none_match.check(session.get_one(User, user_id=user_id))
            ```
        """
        if self.tags is not None and self.tags.match_weakly(tag := etag(entity)):
            raise HTTPException(HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
        return entity


async def _optional_if_match(
    request: Request,
    given: Annotated[str | None, Header(alias="If-Match", description="The ETag to be changed.")] = None,
) -> IfMatch:
    # ``given`` is for OpenAPI, and has only the first of several lines.
    return IfMatch(None if given is None else _tags(request, "If-Match"))


async def _required_if_match(given: Annotated[IfMatch, Depends(_optional_if_match)]) -> IfMatch:
    if given.tags is None:
        raise ProblemError(NO_IF_MATCH)
    return given


async def _optional_if_none_match(
    request: Request,
    given: Annotated[
        str | None, Header(alias="If-None-Match", description="The ETag that the client has.")
    ] = None,
) -> IfNoneMatch:
    return IfNoneMatch(None if given is None else _tags(request, "If-None-Match"))


def _tags(request: Request, header: str) -> EntityTags:
    """The tags of a header, which may come in several lines."""
    tags = entity_tags(", ".join(request.headers.getlist(header)))
    if tags is None:
        raise ProblemError(BAD_ENTITY_TAG)
    return tags


OptionalIfMatch: TypeAlias = Annotated[IfMatch, Depends(_optional_if_match)]
RequiredIfMatch: TypeAlias = Annotated[IfMatch, Depends(_required_if_match)]
"""Requests without If-Match are answered with 428."""
OptionalIfNoneMatch: TypeAlias = Annotated[IfNoneMatch, Depends(_optional_if_none_match)]


# -- pages -------------------------------------------------------------------------------------------------------------


@record
class PageParams:
    """What a client asks of a list: ``query.page(params.limit, after=params.cursor)``.

    Attributes:
        limit: how many entities the page has at most.
        cursor: the cursor of the page before; None for the first page.

    Examples:
        >>> params = PageParams(limit=1, cursor=None)
        >>> len(session.query(Ticket, project="p1").page(params.limit, after=params.cursor).entities)
        1
    """

    limit: int
    cursor: str | None


def page_params(*, default: int = 20, most: int = 100) -> Callable[..., Awaitable[PageParams]]:
    """A dependency that reads ``limit`` and ``cursor`` from the URL. A limit above ``most`` is refused with 422.

    Args:
        default: the limit of a request that gives none.
        most: the largest limit.

    Examples:
        ```python
        @service.get("/tickets")
        def tickets(params: Annotated[PageParams, Depends(page_params(most=50))]) -> PageOf[Ticket]: ...
        ```
    """
    check_count("most={}", most)
    check_count("default={}", default, most=most)

    async def params(
        limit: Annotated[int, Query(ge=1, le=most, description="The number of items.")] = default,
        cursor: Annotated[str | None, Query(description="That of the page before.")] = None,
    ) -> PageParams:
        return PageParams(limit, cursor)

    return params


class PageOf(BaseModel, Generic[T]):
    """A page in an answer. A route with ``response_model=PageOf[UserOut]`` returns the ``Page`` of its query.

    Attributes:
        items: the entities, each as ``T``.
        cursor: asks for the next page; None after the last one.

    Examples:
        ```python
        @service.get("/tickets", response_model=PageOf[Ticket])
        def tickets(params: Annotated[PageParams, Depends(page_params())], session: CurrentSession) -> Page[Ticket]: ...
        ```
    """

    items: list[T] = Field(validation_alias=AliasChoices("items", "entities"))
    cursor: str | None = None


# -- idempotent requests -----------------------------------------------------------------------------------------------


def idempotency_key(
    caller: Callable[..., str | Awaitable[str]], *, remember: timedelta = timedelta(days=1)
) -> Callable[..., Awaitable[IdempotencyKey]]:
    """A dependency that requires one header ``Idempotency-Key``, and answers 400 without it.

    A repeated request with the same key is applied once. With another content, it is refused with 422.

    Args:
        caller: a dependency that returns who sends the request, such as the id of the user. Two callers may use the
            same key.
        remember: for how long a repetition is recognised, at least ten minutes.

    Examples:
        ```python
        Once = Annotated[IdempotencyKey, Depends(idempotency_key(current_user))]

        @service.post("/orders")
        def order(key: Once, session: CurrentSession) -> Order:
            with session.transaction(token=key.token, remember=key.remember) as tx: ...
        ```
    """
    check_function("idempotency_key({})", caller)
    check_token("of a request", remember)

    async def key(
        request: Request,
        who: Annotated[str, Depends(caller)],
        given: Annotated[
            str | None,
            Header(alias="Idempotency-Key", description="A random text, the same for each repetition."),
        ] = None,
    ) -> IdempotencyKey:
        if given is None:
            raise ProblemError(NO_IDEMPOTENCY_KEY)
        # A request has one key. With several, nothing says which one its repetition will have.
        keys = request.headers.getlist("Idempotency-Key")
        if len(keys) != 1 or (text := key_in(keys[0])) is None:
            raise ProblemError(BAD_IDEMPOTENCY_KEY)
        return IdempotencyKey(digits_of("token", request.method, request.url.path, who, text), remember)

    return key
