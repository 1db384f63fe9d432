"""The command line: ``dynaorm layout``, ``get``, ``query``, ``show``, ``plan``, ``verify`` and others.

A module for each family of commands, and what they have in common: options, values, output and exit statuses. The work
itself is in the packages below. Only this package needs the extra ``dynaorm[cli]``.
"""
