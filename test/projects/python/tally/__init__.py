"""Counts the words of a text, and how long it takes to read."""
from collections import Counter

from units import minutes


def words(text):
    """The words of a text, in lower case, without punctuation."""
    return [w for w in (part.strip(".,;:!?\"'()").lower() for part in text.split()) if w]


def top(text, count=3):
    """The most frequent words and their numbers; equal numbers in the order of the alphabet."""
    return sorted(Counter(words(text)).items(), key=lambda pair: (-pair[1], pair[0]))[:count]


def reading_time(text, per_minute=200):
    return minutes(len(words(text)) / per_minute)
