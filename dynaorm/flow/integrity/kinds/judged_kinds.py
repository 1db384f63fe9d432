"""Every kind of items that follow from entities, in the order in which they are judged."""

from typing import Final

from dynaorm.flow.integrity.kinds.guards import JUDGED_GUARDS
from dynaorm.flow.integrity.kinds.judged import JudgedKind
from dynaorm.flow.integrity.kinds.totals import JUDGED_TOTALS
from dynaorm.flow.integrity.kinds.versions import JUDGED_VERSIONS

KINDS: Final[tuple[JudgedKind, ...]] = (JUDGED_GUARDS, JUDGED_VERSIONS, JUDGED_TOTALS)
