import pytest

from tally import reading_time, top, words


def test_words():
    assert words("One, two; (two) \"THREE\"!") == ["one", "two", "two", "three"]


def test_top():
    assert top("b a b c a b", 2) == [("b", 3), ("a", 2)]


@pytest.mark.parametrize("count, time", [(0, "0 min"), (200, "1 min"), (500, "2.5 min")])
def test_reading_time(count, time):
    assert reading_time("word " * count) == time
