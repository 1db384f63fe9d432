"""The command line: ``dynaorm verify``, ``dynaorm repair``, ``dynaorm backfill``.

It needs the extra ``dynaorm[cli]``; nothing else in the library does.
"""
