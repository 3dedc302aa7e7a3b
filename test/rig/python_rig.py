"""What the tests of sdk/python share: the package in its folder, a daemon, rows that name the
exception.

Not a test.
"""
import os
import sys
import traceback

from box_rig import TREE, report

SDK = os.path.join(TREE, "sdk", "python")
sys.path.insert(0, SDK)
sys.dont_write_bytecode = True


def row(part, *words):
    name = part.__doc__.splitlines()[0]
    try:
        part(*words)
        report(name)
    except Exception as e:
        report(name, ["".join(traceback.format_exception(e))])


def raised(kind, function, *words, **named):
    """The exception of this kind that function(...) raises."""
    try:
        got = function(*words, **named)
    except kind as e:
        return e
    raise AssertionError("%s was not raised; got %r" % (kind.__name__, got))


def equal(got, wanted):
    assert got == wanted, "%r, not %r" % (got, wanted)
