"""aiodynamo over httpx."""

import httpx
from aiodynamo.http.httpx import HTTPX

from benchmarks.peers.clients.aiodynamo import Aiodynamo


class AiodynamoHttpx(Aiodynamo):
    name = "aiodynamo (httpx)"
    imports = "import aiodynamo.client, aiodynamo.http.httpx"
    distributions = ("aiodynamo", "httpx")

    async def setup(self, endpoint: str) -> None:
        self.http = httpx.AsyncClient(trust_env=False)
        self.connect(HTTPX(self.http), endpoint)

    async def close(self) -> None:
        await self.http.aclose()


client = AiodynamoHttpx()
