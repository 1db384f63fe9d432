"""Binary keys hold what their texts stand for, in the same order."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import SCALARS
from tests.entity.scalars import scalar

RAW = st.binary(min_size=20, max_size=20)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    bytes: st.binary(),
    str: st.text(st.characters(codec="utf-8")),
    UUID: st.uuids(),
    Ksuid: RAW.map(Ksuid.from_bytes),
    KsuidMs: RAW.map(KsuidMs.from_bytes),
}


def test_every_packing_is_tested() -> None:
    kinds = {*SCALARS, Ksuid, KsuidMs}
    assert {kind for kind in kinds if scalar(kind).packing is not None} == VALUES.keys()


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_packed_texts_come_back_and_keep_their_order(kind: type, data: st.DataObject) -> None:
    packing = scalar(kind).packing
    assert packing is not None
    one, other = (scalar(kind).to_text(data.draw(VALUES[kind])) for _ in range(2))
    assert packing.unpack(packing.pack(one)) == one
    assert (one < other) == (packing.pack(one) < packing.pack(other))


@pytest.mark.parametrize(
    ("kind", "key"), [(str, b"\xff"), (UUID, b"short"), (Ksuid, b"short"), (KsuidMs, b"")]
)
def test_bytes_that_stand_for_nothing_are_refused(kind: type, key: bytes) -> None:
    packing = scalar(kind).packing
    assert packing is not None
    with pytest.raises(ValueError, match=r"."):
        packing.unpack(key)
