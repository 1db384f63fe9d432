"""aiodynamo over aiohttp."""

import aiohttp
from aiodynamo.http.aiohttp import AIOHTTP

from benchmarks.peers.clients.aiodynamo import Aiodynamo


class AiodynamoAiohttp(Aiodynamo):
    name = "aiodynamo (aiohttp)"
    imports = "from aiodynamo.client import Client; from aiodynamo.http.aiohttp import AIOHTTP"
    distributions = ("aiodynamo", "aiohttp")

    async def setup(self, endpoint: str) -> None:
        self.http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=50))
        self.connect(AIOHTTP(self.http), endpoint)

    async def close(self) -> None:
        await self.http.close()


client = AiodynamoAiohttp()
