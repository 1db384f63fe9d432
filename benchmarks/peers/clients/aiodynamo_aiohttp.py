"""aiodynamo over aiohttp."""

import aiohttp
from aiodynamo.http.aiohttp import AIOHTTP

from benchmarks.peers.clients.aiodynamo import Aiodynamo


class AiodynamoAiohttp(Aiodynamo):
    name = "aiodynamo (aiohttp)"
    imports = "import aiodynamo.client, aiodynamo.http.aiohttp"
    distributions = ("aiodynamo", "aiohttp")

    async def setup(self, endpoint: str) -> None:
        self.http = aiohttp.ClientSession()
        self.connect(AIOHTTP(self.http), endpoint)

    async def close(self) -> None:
        await self.http.close()


client = AiodynamoAiohttp()
