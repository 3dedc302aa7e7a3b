#!/usr/bin/env python3
# slow: 21 s: a package is built and installed for each interpreter
"""package_test - sdk/python as a package: installs without a network, is typed, works with Python
3.9, and the examples of its pages run.
"""
import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import TREE, end, need_programs, report
from daemon_rig import Daemon
from python_rig import SDK, equal, row

SYSTEM = "/usr/bin/python3"
VERSIONS = ["python3.%d" % n for n in range(9, 15)] + ["pypy3"]
HELLO = """
import asyncio, sys
from carrel import AsyncCarrel, Carrel, errors
with Carrel().create() as s:
    assert s.run("echo sync; exit 3", on_stdout=lambda data: None).exit_status == 3
    with s.stream("seq 3") as stream:
        assert b"".join(p.data for p in stream) == b"1\\n2\\n3\\n" and stream.result.ok
    s.files.write("a", b"x" * 3000000)
    assert len(s.files.read("a")) == 3000000
    assert s.run("cat", input=b"x" * 300000).stdout == b"x" * 300000
    try:
        s.files.read("none")
        sys.exit("it was read")
    except FileNotFoundError as e:
        assert isinstance(e, errors.NotFoundError) and e.code == "file_not_found", e
async def main():
    async with AsyncCarrel().create() as s:
        assert [r.stdout for r in await asyncio.gather(*[s.run("echo %d" % i) for i in range(5)])] == [b"%d\\n" % i for i in range(5)]
        task = asyncio.ensure_future(s.run("sleep 60"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task])
        async with s.stream("echo one") as stream:
            assert [p.data async for p in stream] == [b"one\\n"]
asyncio.run(main())
print("fine", sys.version.split()[0])
"""


def copy(folder):
    """The package in a folder of its own: tools leave their caches there."""
    target = os.path.join(folder, "source")
    shutil.copytree(SDK, target, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
    return target


def call(*words, **more):
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False, **more)
    assert done.returncode == 0, "%s ended with %d:\n%s" % (words, done.returncode, done.stdout)
    return done.stdout


def sources():
    for base, _, names in os.walk(SDK):
        for name in names:
            if name.endswith(".py"):
                yield os.path.join(base, name)


def old_syntax():
    """every file is Python 3.9, and imports the standard library alone"""
    count = 0
    for path in sources():
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read(), path, feature_version=(3, 9))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            assert all(name.split(".")[0] in sys.stdlib_module_names for name in names), (path, names)
        count += 1
    assert count > 10, count


def typed(folder):
    """mypy has nothing to say in strict mode, and neither of a program that uses the package"""
    source = copy(folder)
    call(sys.executable if has_mypy(sys.executable) else SYSTEM, "-m", "mypy", cwd=source)
    with open(os.path.join(source, "use.py"), "w", encoding="utf-8") as f:
        f.write("from carrel import AsyncCarrel, AsyncSandbox, Carrel, Event, Output, Sandbox\n\n"
                "def use(s: Sandbox) -> str:\n    out: bytes = s.run(['x']).stdout\n    for p in s.stream('x'):\n        kind: Output = p\n    e: Event = next(s.events())\n    return Carrel().get('x').files.read_text('y')\n\n"
                "async def use_async(c: AsyncCarrel) -> int:\n    async with c.create() as s:\n        other: AsyncSandbox = s\n        async with s.stream('x') as stream:\n            async for p in stream:\n                kind: Output = p\n"
                "        again: AsyncSandbox = await c.get('x')\n        return (await s.run('x')).exit_status\n")
    call(sys.executable if has_mypy(sys.executable) else SYSTEM, "-m", "mypy", "--strict", "use.py", cwd=source)


def has_mypy(python):
    return subprocess.run([python, "-c", "import mypy"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def installed(folder):
    """pip installs the folder without a network"""
    source, place = copy(folder), os.path.join(folder, "place")
    env = {**os.environ, "HOME": folder, "PIP_NO_CACHE_DIR": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    call(SYSTEM, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "-q", "--target", place, source, env=env, cwd=folder)
    equal(modules(os.path.join(place, "carrel")), modules(os.path.join(SDK, "carrel")))
    env["PYTHONPATH"] = place
    equal(call(SYSTEM, "-c", "import carrel; print(carrel.__file__)", env=env, cwd="/").strip(), os.path.join(place, "carrel", "__init__.py"))


def modules(folder):
    return sorted(n for n in os.listdir(folder) if n != "__pycache__")


def backend(source, what, target):
    """What the build backend made, as pip calls it."""
    os.mkdir(target)
    return os.path.join(target, call(SYSTEM, "-c", "import backend, sys; print(getattr(backend, sys.argv[1])(sys.argv[2]))", what, target, cwd=source).strip())


def built(folder):
    """the wheel's bytes depend on its files alone, and RECORD names each; the sdist makes the same wheel; the editable one leads here"""
    source, again = copy(folder), os.path.join(folder, "again")
    one = backend(source, "build_wheel", os.path.join(folder, "one"))
    with tarfile.open(backend(source, "build_sdist", os.path.join(folder, "sdist"))) as archive:
        top = archive.getnames()[0].split("/")[0]
        assert archive.getnames()[0] == top + "/PKG-INFO"
        archive.extractall(again)
    two = backend(os.path.join(again, top), "build_wheel", os.path.join(folder, "two"))
    with open(one, "rb") as f, open(two, "rb") as other:
        assert f.read() == other.read()
    with zipfile.ZipFile(one) as z:
        record = z.read(next(n for n in z.namelist() if n.endswith("RECORD"))).decode()
        equal({line.split(",")[0] for line in record.splitlines()}, set(z.namelist()))
        assert b"Requires-Python: >=3.9" in z.read(next(n for n in z.namelist() if n.endswith("METADATA")))
    with zipfile.ZipFile(backend(source, "build_editable", os.path.join(folder, "link"))) as z:
        equal([z.read(n).decode().strip() for n in z.namelist() if n.endswith(".pth")], [source])


def pages(d, folder):
    """the README and docs/PYTHON.md run as they are written"""
    count = 0
    for page, fence in (("sdk/python/README.md", "python"), ("docs/PYTHON.md", "python tested")):
        with open(os.path.join(TREE, page), encoding="utf-8") as f:
            for block in re.findall(r"^```%s\n(.*?)^```$" % fence, f.read(), re.S | re.M):
                out = call(sys.executable, "-c", block, env={**os.environ, "PYTHONPATH": SDK, "CARREL_STATE": d.state, "TMPDIR": folder})
                assert out, (page, block)
                count += 1
    assert count >= 7, count


def version(d, python):
    out = call(python, "-W", "error", "-c", HELLO, env={**os.environ, "PYTHONPATH": SDK, "PYTHONDONTWRITEBYTECODE": "1", "CARREL_STATE": d.state})
    assert out.startswith("fine"), out


def is_there(python):
    return shutil.which(python) and subprocess.run([python, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    need_programs()
    row(old_syntax)
    for part in (typed, installed, built):
        with tempfile.TemporaryDirectory() as folder:
            row(part, folder)
    with Daemon() as d, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        row(pages, d, folder)
        for python in [SYSTEM] + VERSIONS:
            version.__doc__ = "%s: commands, files, asyncio" % python
            if is_there(python):
                row(version, d, python)
            else:
                report(version.__doc__, skip="this interpreter is not installed")
    end()


if __name__ == "__main__":
    main()
