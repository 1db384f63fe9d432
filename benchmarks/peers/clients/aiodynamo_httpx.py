"""aiodynamo over httpx."""

import httpx
from aiodynamo.http.httpx import HTTPX

from benchmarks.peers.clients.aiodynamo import Aiodynamo


class AiodynamoHttpx(Aiodynamo):
    name = "aiodynamo (httpx)"
    imports = "from aiodynamo.client import Client; from aiodynamo.http.httpx import HTTPX"
    distributions = ("aiodynamo", "httpx")

    async def setup(self, endpoint: str) -> None:
        self.http = httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=50))
        self.connect(HTTPX(self.http), endpoint)

    async def close(self) -> None:
        await self.http.aclose()


client = AiodynamoHttpx()
