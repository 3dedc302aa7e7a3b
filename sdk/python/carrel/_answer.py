"""How rows of the operation table and answers of the daemon look in Python."""
import base64
import os
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Dict, Tuple, Type, TypeVar

A = TypeVar("A", bound="Answer")


@dataclass(frozen=True)
class Operation:
    """One route: what goes into its query and its JSON body. Names in braces in `route` go into the path."""

    method: str
    route: str
    query: Tuple[str, ...] = ()
    body: Tuple[str, ...] = ()
    has_key: bool = False
    is_raw: bool = False


class Answer:
    """A part of an answer. Members that this version of the client does not know are left out."""

    _lists: ClassVar[Dict[str, Type["Answer"]]] = {}
    _parts: ClassVar[Dict[str, Type["Answer"]]] = {}

    @classmethod
    def read(cls: Type[A], data: Dict[str, Any]) -> A:
        """The JSON object of an answer as this class."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        for name, kind in cls._lists.items():
            known[name] = [kind.read(item) for item in known.get(name, ())]
        for name, kind in cls._parts.items():
            if name in known:
                known[name] = kind.read(known[name])
        if data.get("encoding") == "base64":               # a name that is no UTF-8
            for name in ("path", "target"):
                if name in known:
                    known[name] = os.fsdecode(base64.b64decode(known[name]))
        return cls(**known)
