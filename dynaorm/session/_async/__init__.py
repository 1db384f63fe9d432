"""The asynchronous session and its queries. ``make async`` generates these modules from the synchronous ones.

Nothing is written by hand here. Code that differs by more than ``await`` is in ``drive_async`` and ``settings_async``.
"""
