import sys

from tally import reading_time, top

text = sys.stdin.read()
for word, count in top(text):
    print(count, word)
print(reading_time(text))
