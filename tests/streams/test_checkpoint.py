"""How far a stream has been read: which shards come next, and which are gone."""

import pytest

from dynaorm.errors import InvalidCursor
from dynaorm.streams.checkpoint import StreamCheckpoint, checkpoint_in

NEW = StreamCheckpoint("arn", {}, frozenset())


def test_a_checkpoint_is_a_text_and_back() -> None:
    done = NEW.with_shards({"a": None, "b": "a"}).after("a", "7").at_end_of("a").after("b", "9")
    assert done == StreamCheckpoint("arn", {"b": "9"}, frozenset({"a"}))
    assert done.text() == '{"stream":"arn","read":{"b":"9"},"ended":["a"]}'
    assert checkpoint_in(done.text()) == done


def test_a_checkpoint_inside_a_record_names_it_and_counts_what_is_done() -> None:
    done = NEW.with_shards({"a": None, "b": None}).after("a", "6").after("a", "7", 1).after("b", "9", 2)
    assert done.text() == '{"stream":"arn","read":{"a":"7","b":"9"},"ended":[],"inside":{"a":1,"b":2}}'
    assert checkpoint_in(done.text()) == done
    assert [done.done_of("a", one) for one in ("6", "7", "8", "")] == [0, 1, 0, 0]
    assert done.after("a", "7").inside == {"b": 2}
    assert done.at_end_of("a").inside == {"b": 2}
    assert done.with_shards({"a": None}).inside == {"a": 1}


def test_a_record_without_a_sequence_number_leaves_the_checkpoint_where_it_is() -> None:
    done = NEW.with_shards({"a": None}).after("a", "7")
    assert done.after("a", "") == done
    assert done.after("a", "", 1) == done


@pytest.mark.parametrize(
    "inside", ["{}x", "[]", "1", '{"a":0}', '{"a":true}', '{"a":"1"}', '{"b":1}', '{"c":1}']
)
def test_a_count_that_cannot_be_is_refused(inside: str) -> None:
    text = '{"stream":"arn","read":{"a":"7","b":""},"ended":[],"inside":%s}'
    assert checkpoint_in(text % '{"a":1}').inside == {"a": 1}
    with pytest.raises(InvalidCursor):
        checkpoint_in(text % inside)


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "{}", '{"stream":1,"read":{},"ended":[]}', '{"stream":"a","read":[],"ended":[]}',
             "[" * 99_999, '{"stream":"a","read":{"b":1},"ended":[]}', '{"stream":"a","read":{},"ended":"b"}']
)  # fmt: skip
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor, match="not the checkpoint of a stream"):
        checkpoint_in(text)


def test_parents_are_read_before_their_children() -> None:
    parents = {"child": "parent", "parent": "gone", "other": None, "grandchild": "child"}
    done = NEW.with_shards(parents)
    assert set(done.readable(parents)) == {"parent", "other"}
    done = done.at_end_of("parent")
    assert set(done.readable(parents)) == {"child", "other"}
    done = done.at_end_of("child").at_end_of("other")
    assert done.readable(parents) == ["grandchild"]


def test_a_first_reading_takes_what_is_there() -> None:
    assert NEW.lost({"b": "a", "c": None}) is None


def test_a_shard_that_was_not_read_to_its_end_must_be_there() -> None:
    done = NEW.with_shards({"a": None, "b": None})
    assert done.lost({"b": None}) == "a"
    assert done.at_end_of("a").lost({"b": None}) is None


def test_the_parent_of_a_new_shard_must_be_there_or_read() -> None:
    done = NEW.with_shards({"a": None}).after("a", "1")
    assert done.lost({"a": None, "b": "a"}) is None
    done = done.at_end_of("a")
    assert done.lost({"b": "a"}) is None
    assert done.lost({"c": "b"}) == "b"


def test_ended_shards_are_forgotten_with_their_last_child() -> None:
    done = NEW.with_shards({"a": None}).at_end_of("a")
    assert done.with_shards({"b": "a"}).ended == {"a"}
    assert done.with_shards({"b": "a"}).at_end_of("b").with_shards({"c": "b"}).ended == {"b"}
