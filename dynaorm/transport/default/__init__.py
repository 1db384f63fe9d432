"""The default transports of ``Session`` and ``AsyncSession``: own connections, or pynamodb where something needs it.

Own connections are in ``direct`` and ``http``, what carries calls through pynamodb is in ``transport`` itself.
"""
