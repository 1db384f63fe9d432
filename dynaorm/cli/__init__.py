"""The command line: ``dynaorm verify``, ``dynaorm repair``, ``dynaorm backfill``.

Options, output and exit statuses belong here; the work itself is in ``dynaorm.integrity``. Only this package needs the
extra ``dynaorm[cli]``.
"""
