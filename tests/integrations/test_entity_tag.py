"""The revision of an entity as an entity tag, and the lists of tags in headers, as RFC 9110 writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Session
from dynaorm.errors import UsageError
from dynaorm.integrations.http import EntityTags, entity_tags, etag
from dynaorm.transport import Transport
from tests.cast.others import Loose
from tests.cast.people import User
from tests.cast.seen import items, put


def test_an_etag_is_the_stored_revision_in_quotes(session: Session, moto: Transport) -> None:
    user = session.save(User(user_id="u1"))
    assert etag(user) == f'"{items(moto)["USER#u1 U"]["_rev"]["S"]}"'
    assert etag(session.get_one(User, user_id="u1")) == etag(user)


def test_a_write_changes_the_etag_and_an_unchanged_save_does_not(session: Session) -> None:
    user = session.save(User(user_id="u1"))
    first = etag(user)
    assert etag(session.save(user)) == first
    user.visits = 1
    assert etag(user) == first  # what is not saved makes no difference
    assert etag(session.save(user)) != first


def test_what_has_no_revision_has_no_etag(session: Session) -> None:
    with pytest.raises(UsageError, match=r"a User that was not loaded or saved.* save or load it first"):
        etag(User(user_id="u1"))
    with pytest.raises(UsageError, match=r"a Loose that is stored without a revision.*revision_attribute"):
        etag(session.save(Loose(name="b")))


def test_the_revision_of_another_program_makes_one_valid_tag(session: Session, moto: Transport) -> None:
    item = {"PK": {"S": "USER#u1"}, "SK": {"S": "U"}, "_type": {"S": "User"}, "user_id": {"S": "u1"}}
    put(moto, {**item, "_rev": {"S": 'a", "b% é'}})
    tag = etag(session.get_one(User, user_id="u1"))
    assert entity_tags(tag) == EntityTags(frozenset({tag}))
    assert tag.isascii()


@pytest.mark.parametrize(
    ("header", "strong", "weak"),
    [
        ('"a"', {'"a"'}, set()),
        ('W/"a"', set(), {'"a"'}),
        ('"a", W/"b" ,"c"', {'"a"', '"c"'}, {'"b"'}),
        ('\t"a,b" , "c"', {'"a,b"', '"c"'}, set()),
        (', "a",, "b",', {'"a"', '"b"'}, set()),
        ('""', {'""'}, set()),
        ('"é"', {'"é"'}, set()),
    ],
)
def test_a_header_lists_tags(header: str, strong: set[str], weak: set[str]) -> None:
    assert entity_tags(header) == EntityTags(frozenset(strong), frozenset(weak))


@pytest.mark.parametrize(
    "header",
    ["", " ", ",", "a", '"a', 'a"', '"a" "b"', 'w/"a"', 'W / "a"', '"a b"', "*, *", '"a", *', '"a\x7f"'],
)
def test_what_is_no_list_of_tags_is_none(header: str) -> None:
    assert entity_tags(header) is None


def test_any_tag_matches_a_star() -> None:
    tags = entity_tags(" * ")
    assert tags is not None
    assert tags.match_strongly('"a"')
    assert tags.match_weakly('"a"')


def test_a_weak_tag_matches_weakly_alone() -> None:
    tags = EntityTags(frozenset({'"a"'}), frozenset({'"b"'}))
    assert [tags.match_strongly(tag) for tag in ('"a"', '"b"', '"c"')] == [True, False, False]
    assert [tags.match_weakly(tag) for tag in ('"a"', '"b"', '"c"')] == [True, True, False]


_TAGS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters='"\x7f'))


@given(
    tags=st.lists(st.tuples(st.booleans(), _TAGS), min_size=1),
    comma=st.sampled_from([",", ", ", " ,\t", ",,"]),
)
def test_every_list_of_tags_is_read_as_it_was_written(tags: list[tuple[bool, str]], comma: str) -> None:
    header = comma.join(f'{"W/" if weak else ""}"{tag}"' for weak, tag in tags)
    assert entity_tags(header) == EntityTags(
        frozenset(f'"{tag}"' for weak, tag in tags if not weak),
        frozenset(f'"{tag}"' for weak, tag in tags if weak),
    )


@given(header=st.text(st.sampled_from('W/"ab,* \t')))
def test_a_header_is_read_or_refused_and_a_read_one_has_a_tag(header: str) -> None:
    tags = entity_tags(header)
    assert tags is None or tags.is_any or tags.strong | tags.weak
