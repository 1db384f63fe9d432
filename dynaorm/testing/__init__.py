"""Tools for the tests of projects that use dynaorm: engines, faults, consistency checks, plan snapshots, a clock.

Nothing in the library imports this package. The engines are dynaorm's own, moto and ministack.
A name is imported when it is first used, so a test that only injects a fault does not load moto.
"""

from dynaorm.late import late_names

late_names(globals())
