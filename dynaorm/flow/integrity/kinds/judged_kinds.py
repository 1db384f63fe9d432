"""Every kind of items that follow from entities, in the order in which they are judged."""

from typing import Final

from dynaorm.flow.integrity.kinds.guards import GuardChecker
from dynaorm.flow.integrity.kinds.judged import Checker
from dynaorm.flow.integrity.kinds.totals import JUDGED_TOTALS
from dynaorm.flow.integrity.kinds.versions import JUDGED_VERSIONS

_OTHERS: Final[tuple[Checker, ...]] = (JUDGED_VERSIONS, JUDGED_TOTALS)

KINDS: Final[tuple[Checker, ...]] = (GuardChecker(_OTHERS), *_OTHERS)
