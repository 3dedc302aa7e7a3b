def minutes(number):
    """2.5 is "2.5 min"."""
    return "%g min" % number
