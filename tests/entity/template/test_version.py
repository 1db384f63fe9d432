"""Versions stand beside the latest copy: ``v0_`` is never padded, and every other key follows from it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.key_part import VersionTemplate, versioned
from dynaorm.entity.table import KeyKind
from dynaorm.entity.template import KeyTemplate, TemplateError, compile_template
from tests.entity.scalars import scalars_of

SCALARS = scalars_of({"part": str, "digest": bytes})
SK = "v{version}_{sk}"


def inner(text: str, kind: KeyKind = "S") -> KeyTemplate:
    return compile_template(text, SCALARS, kind=kind, sort=True)


CASES: list[tuple[VersionTemplate, dict[str, Any], str | bytes, str | bytes]] = [
    (versioned(SK, inner("Audit")), {}, "v0_Audit", "v12_Audit"),
    (versioned(SK, inner("Audit#{part}"), 4), {"part": "p#7"}, "v0_Audit#p%237", "v0012_Audit#p%237"),
    (versioned(SK, inner("{part}")), {"part": "v0_#"}, "v0_v0_#", "v12_v0_#"),
    (versioned("v_{version}", None), {}, "v_0", "v_12"),
    (versioned("v_{version}", None, kind="B"), {}, b"v_0", b"v_12"),
    (versioned("{sk}#v{version}.", inner("DOC#{part}")), {"part": "a"}, "DOC#a#v0.", "DOC#a#v12."),
    (versioned("ä{version}_{sk}", inner("{part}")), {"part": "ö"}, "ä0_ö", "ä12_ö"),
    (
        versioned("ä{version}_{sk}", inner("{digest}", "B")),
        {"digest": b"\xff"},
        b"\xc3\xa40_\xff",
        b"\xc3\xa412_\xff",
    ),
]


@pytest.mark.parametrize(("template", "values", "latest", "twelfth"), CASES)
def test_keys_are_these(
    template: VersionTemplate, values: dict[str, Any], latest: str | bytes, twelfth: str | bytes
) -> None:
    assert template.render(values) == latest
    assert template.rewrap(latest, 12) == twelfth
    assert template.match(latest) == values
    assert template.match(twelfth) is None
    assert (template.number_in(twelfth), template.latest_of(twelfth)) == (12, latest)
    assert (template.number_in(latest), template.latest_of(latest)) == (None, None)


@pytest.mark.parametrize("key", ["v12_Audit", "v012_Audit", "v00012_Audit", "V0012_Audit", b"v0012_Audit"])
def test_another_spelling_of_a_number_is_no_version(key: str | bytes) -> None:
    assert versioned(SK, inner("Audit"), 4).latest_of(key) is None


def test_a_key_that_is_not_a_latest_copys_cannot_become_a_versions() -> None:
    with pytest.raises(ValueError, match="is not the sort key of a latest copy"):
        versioned(SK, inner("Audit")).rewrap("v1_Audit", 2)


@given(
    st.text(st.characters(codec="utf-8"), min_size=1),
    st.text(min_size=1),
    st.integers(1, 10**12),
    st.integers(1, 10**12),
)
def test_different_versions_never_share_a_key(one: str, other: str, first: int, second: int) -> None:
    template = versioned(SK, inner("{part}"))
    latest = template.render({"part": one})
    keys = {template.rewrap(latest, first), template.rewrap(latest, second)}
    assert len(keys) == len({first, second})
    assert latest not in keys
    if one != other:
        assert template.rewrap(latest, first) != template.render({"part": other})


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 10**9), st.integers(0, 12))
def test_room_is_kept_for_the_longest_number(part: str, number: int, padding: int) -> None:
    template = versioned(SK, inner("Audit#{part}"), padding)
    latest = template.render({"part": part})
    version = template.rewrap(latest, number)
    assert len(version) <= len(latest) + template.reserve


ONCE = "must occur exactly once; write v{version}_{sk}"
BRACES = "write v{version}_{sk}, with version_padding= for zeros"
BESIDE = "must not be next to {sk} or other digits; write v{version}_{sk}"
PADDING = "is not between 0 and 38; choose a number of digits, such as 4"


@pytest.mark.parametrize(
    ("text", "sort_key", "padding", "remedy"),
    [
        ("v_{sk}", "Audit", 0, f"{{version}} {ONCE}"),
        ("v{version}_{version}_{sk}", "Audit", 0, f"{{version}} {ONCE}"),
        ("v{version}", "Audit", 0, ONCE),
        ("v{version}_{sk}{sk}", "Audit", 0, ONCE),
        ("v{version}_{sk}", None, 0, "which has no template; add sk=, or drop {sk}"),
        ("v{version:03d}_{sk}", "Audit", 0, BRACES),
        ("v{version}_{sk}_{part}", "Audit", 0, BRACES),
        ("v{version}{sk}", "Audit", 0, BESIDE),
        ("{sk}{version}", "Audit", 0, BESIDE),
        ("v1{version}_{sk}", "Audit", 0, BESIDE),
        ("v{version}0_{sk}", "Audit", 0, BESIDE),
        (SK, "Audit", -1, PADDING),
        (SK, "Audit", 39, PADDING),
    ],
)
def test_a_template_whose_versions_could_not_be_told_apart_is_refused(
    text: str, sort_key: str | None, padding: int, remedy: str
) -> None:
    with pytest.raises(TemplateError) as caught:
        versioned(text, None if sort_key is None else inner(sort_key), padding)
    assert any(problem.endswith(remedy) for problem in caught.value.problems)
