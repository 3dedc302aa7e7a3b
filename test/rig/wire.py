"""The bytes of Carrel's messages, for every rig that plays a part: heads, records, packed trees and
frames, with the numbers of src/wire and src/api.

Not a test. A rig decides who speaks to whom; this module encodes and decodes.
"""
import os
import re
import struct

from box_rig import TREE

HEAD = struct.Struct("=IHH")           # wire/message.h: magic, version, kind
CALL = struct.Struct("=IHH")           # wire/call.h: serial, operation, version
REPLY = struct.Struct("=II")           # wire/call.h: serial, flags
ENTRY = struct.Struct("=HHI")          # wire/record.h: tag, type, length
FRAME = struct.Struct("=IIQ")          # wire/channel.h: kind, length, offset
END = struct.Struct("=IiiI6Q")         # wire/channel.h: struct channel_end
REPLY_ERROR, REPLY_MORE = 1, 2
C_STARTED, C_FAILED, C_STDOUT, C_STDERR, C_END = 1, 2, 3, 4, 5
C_STDIN, C_STDIN_END, C_SIGNAL, C_RESIZE, C_DETACH = 16, 17, 18, 19, 20
WORDS = "exited signaled timed_out oom_killed cpu_limit killed policy_killed lost".split()
UINT, INT, BOOL, TEXT, BYTES, NESTED, PACKED_TREE, JSON = range(1, 9)
TYPES = {"UINT": UINT, "INT": INT, "BOOL": BOOL, "TEXT": TEXT, "BYTES": BYTES, "NESTED": NESTED, "TREE": PACKED_TREE, "JSON": JSON}
REPEATED = {"env", "ports", "argv", "items", "runtimes", "warnings"}


def source(path):
    """A file of the tree without its C comments."""
    with open(os.path.join(TREE, path), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.DOTALL)


def enumeration(path, name, prefix):
    """The names of an enumeration that counts from 1, without their prefix: name -> number."""
    body = re.search(r"enum %s \{(.*?)\}" % name, source(path), re.DOTALL).group(1)
    return {word[len(prefix):]: number for number, word in enumerate(re.findall(prefix + r"\w+", body), 1)}


KIND = enumeration("src/wire/message.h", "wire_kind", "WIRE_")
MAGIC = 0x4C525243
VERSION = int(re.search(r"WIRE_VERSION = (\d+)", source("src/wire/message.h")).group(1))
FIELDS = {name: (int(tag), TYPES[kind]) for tag, name, kind in re.findall(r'FIELD\((\d+),\s*\w+,\s*"(\w+)",\s*(\w+)', source("src/api/fields.def"))}
NAMES = {tag: name for name, (tag, _) in FIELDS.items()}
# (name of the constant, name, method, route) of each operation that has a route, and the number of each by its name
ROWS = re.findall(r'OPERATION\(\d+, (\w+), \w+, "([\w.]+)", "(\w+)",\s+"([^"]+)"', source("src/api/operation.def"))
CODES = {code: int(number) for number, code in re.findall(r'OPERATION\((\d+), (\w+),', source("src/api/operation.def"))}
OPS = {name: CODES[code] for code, name in re.findall(r'OPERATION\(\d+, (\w+), \w+, "([\w.]+)"', source("src/api/operation.def"))}


def head(kind):
    return HEAD.pack(MAGIC, VERSION, KIND[kind])

# -- records and trees -----------------------------------------------------------------------------


def entry(tag, kind, value):
    return ENTRY.pack(tag, kind, len(value)) + value + b"\0" * (-len(value) % 8)


def value_bytes(kind, value):
    if kind in (UINT, BOOL):
        return struct.pack("=Q", int(value))
    if kind == INT:
        return struct.pack("=q", value)
    if kind in (TEXT, JSON):
        return value.encode() + b"\0"
    if kind == PACKED_TREE and not isinstance(value, bytes):
        return tree(value)
    return record(value) if isinstance(value, dict) else value


def record(fields):
    """A dict, or (name, value) pairs in order. A list is a repeated field; a dict is a nested
    record.
    """
    out = b""
    for name, value in fields.items() if isinstance(fields, dict) else fields:
        tag, kind = FIELDS[name]
        for one in value if isinstance(value, list) and kind != PACKED_TREE else [value]:
            out += entry(tag, kind, value_bytes(kind, one))
    return out


def pairs(raw, nested=None):
    """The fields of a record as (name, value) in order. A nested record is what `nested` makes of
    it, or pairs.
    """
    out, at = [], 0
    while at < len(raw):
        tag, kind, length = ENTRY.unpack_from(raw, at)
        value = raw[at + ENTRY.size:at + ENTRY.size + length]
        at += ENTRY.size + (length + 7) // 8 * 8
        if kind in (UINT, BOOL):
            value = struct.unpack("=Q", value)[0] if kind == UINT else bool(struct.unpack("=Q", value)[0])
        elif kind == INT:
            value = struct.unpack("=q", value)[0]
        elif kind in (TEXT, JSON):
            value = value[:-1].decode("utf-8", "surrogateescape")
        elif kind == NESTED:
            value = (nested or pairs)(value)
        out.append((NAMES.get(tag, tag), value))
    return out


def unrecord(raw):
    """The fields by name; those that may be repeated are lists."""
    got = {}
    for name, value in pairs(raw, unrecord):
        if name in REPEATED:
            got.setdefault(name, []).append(value)
        else:
            got[name] = value
    return got


def tree(value, key=None):
    kinds = {type(None): 0, bool: 1, int: 2, float: 3, str: 4, list: 5, dict: 6}
    children = list(value.items()) if isinstance(value, dict) else [(None, v) for v in value] if isinstance(value, list) else []
    text = b"" if isinstance(value, (list, dict)) else {True: b"true", False: b"false", None: b"null"}.get(value if isinstance(value, bool) or value is None else 0, None)
    if text is None or (isinstance(value, (int, float, str)) and not isinstance(value, bool)):
        text = str(value).encode()
    name = (key or "").encode()
    head = struct.pack("=6I2IqdII", kinds[type(value)], 1, 1, 1, 1, key is not None, len(name), len(children) if isinstance(value, (list, dict)) else len(text),
                       value if isinstance(value, int) and not isinstance(value, bool) else 0, float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0,
                       value is True, 0)
    body = b"" if isinstance(value, (list, dict)) else text
    return head + name + b"\0" + body + b"\0" + b"".join(tree(v, k) for k, v in children)


# -- frames of a channel ---------------------------------------------------------------------------


def frame(kind, body=b"", offset=0, length=None):
    return FRAME.pack(kind, len(body) if length is None else length, offset) + body


def started_frame(number=1, pid=42):
    return frame(C_STARTED, struct.pack("=Ii", number, pid))


def end_frame(code=0, word="exited", signal=0, out=0, err=0, dropped=0):
    return frame(C_END, END.pack(WORDS.index(word), code if word == "exited" else -1, signal, 0, 5, 4, 1000, out, err, dropped))
