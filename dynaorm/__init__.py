"""dynaorm: declarative entities for single-table design on Amazon DynamoDB.

A ``Table`` says where items are stored, an ``Entity`` what they hold, a ``Plan`` what a save will send. A ``Session``
sends it.

Each name is imported on first use: a module that declares entities does not load sessions, and a synchronous program
does not load asyncio.
"""

from dynaorm.late import late_names

late_names(globals())
