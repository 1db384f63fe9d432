"""Every kind of items that follow from entities, in the order in which a plan has their actions."""

from typing import Any, Final

from dynaorm.plan.kinds.derived import DerivedKind
from dynaorm.plan.kinds.guards import GUARDS
from dynaorm.plan.kinds.totals import TOTALS
from dynaorm.plan.kinds.versions import VERSIONS

DERIVED_KINDS: Final[tuple[DerivedKind[Any], ...]] = (VERSIONS, GUARDS, TOTALS)
