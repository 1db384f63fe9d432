"""The classes that users hold: sessions, transactions and queries.

Their methods drive flows over a transport. Rules about what is read or written belong to the floors below.
"""

from dynaorm.late import late_names

late_names(globals())
