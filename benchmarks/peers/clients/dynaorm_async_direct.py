"""dynaorm in an event loop, with the direct transport."""

from benchmarks.peers import order
from benchmarks.peers.clients.dynaorm_async import DynaormAsync
from dynaorm import AsyncSession
from dynaorm.transport import AsyncDirectTransport


class DynaormAsyncDirect(DynaormAsync):
    name = "dynaorm-async-direct"
    imports = "from dynaorm import AsyncSession, Entity, Key, Table; from dynaorm.transport import AsyncDirectTransport"

    def open(self, endpoint: str) -> AsyncSession:
        self.transport = AsyncDirectTransport(region=order.REGION, endpoint=endpoint)
        return AsyncSession(transport=self.transport)

    async def close(self) -> None:
        await super().close()
        await self.transport.close()


client = DynaormAsyncDirect()
