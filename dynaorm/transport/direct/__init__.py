"""The direct transports, for threads and for asyncio: calls over connections of our own and nothing else.

The connections are in ``http``; transports over another library do not belong here.
"""
