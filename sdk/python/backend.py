"""The build backend of this package (PEP 517, PEP 660), on the standard library alone: `pip install` of the folder needs no network."""
import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile
from typing import Any, Dict, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "carrel"
WHEEL = "Wheel-Version: 1.0\nGenerator: carrel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
Settings = Optional[Dict[str, Any]]
EPOCH = (1980, 1, 1, 0, 0, 0)        # a wheel's bytes depend on its files alone


def read(name: str) -> bytes:
    with open(os.path.join(HERE, name), "rb") as f:
        return f.read()


def field(name: str) -> str:
    """A text of pyproject.toml's [project]; Python reads TOML itself only from 3.11 on."""
    found = re.search(rf'^{name} = "(.*)"$', read("pyproject.toml").decode(), re.MULTILINE)
    if not found:
        raise ValueError(f"pyproject.toml has no {name}")
    return found.group(1)


def stem() -> str:
    return f'{field("name").replace("-", "_")}-{field("version")}'


def metadata() -> bytes:
    head = ["Metadata-Version: 2.1", f'Name: {field("name")}', f'Version: {field("version")}', f'Summary: {field("description")}', f'License: {field("license")}',
            f'Requires-Python: {field("requires-python")}', "Description-Content-Type: text/markdown"]
    return ("\n".join(head) + "\n\n").encode() + read("README.md")


def modules() -> List[str]:
    return sorted(f"{PACKAGE}/{name}" for name in os.listdir(os.path.join(HERE, PACKAGE)) if name.endswith(".py") or name == "py.typed")


def write_wheel(directory: str, files: List[Tuple[str, bytes]]) -> str:
    """Files with their names, METADATA, WHEEL and RECORD as a wheel in this directory."""
    info = f"{stem()}.dist-info"
    files = files + [(f"{info}/METADATA", metadata()), (f"{info}/WHEEL", WHEEL.encode())]
    rows = [f'{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()},{len(data)}' for name, data in files]
    files.append((f"{info}/RECORD", ("\n".join(rows + [f"{info}/RECORD,,"]) + "\n").encode()))
    name = f"{stem()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    return write_wheel(wheel_directory, [(name, read(name)) for name in modules()])


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """A wheel that only says where this folder is."""
    return write_wheel(wheel_directory, [(f'_{stem()}.pth', (HERE + "\n").encode())])


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    name = f"{stem()}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in [("PKG-INFO", metadata())] + [(p, read(p)) for p in ["pyproject.toml", "backend.py", "README.md"] + modules()]:
            entry = tarfile.TarInfo(f"{stem()}/{path}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name
