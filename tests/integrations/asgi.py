"""A client of an application in this process, which starts and stops the application for each request."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import httpx
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

Client: TypeAlias = Callable[..., httpx.Response]


def client_of(service: FastAPI) -> Client:
    """``ask("GET", "/users/u1", headers={...})``: one request, within the application's lifespan."""

    async def answered(method: str, path: str, **given: Any) -> httpx.Response:
        async with service.router.lifespan_context(service) as state:

            async def started(scope: Scope, receive: Receive, send: Send) -> None:
                await service({**scope, "state": dict(state or {})}, receive, send)

            transport = httpx.ASGITransport(started)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(method, path, **given)

    return lambda method, path, **given: asyncio.run(answered(method, path, **given))
