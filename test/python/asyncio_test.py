#!/usr/bin/env python3
"""asyncio_test - AsyncCarrel against a real daemon: concurrent tasks, streams, cancelling."""
import asyncio
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import PATIENCE, ROOT, end, need_programs
from daemon_rig import Daemon
from python_rig import equal, row

from carrel import AsyncCarrel, Carrel, errors

PLAIN = {"provider": "local", "config": {}, "limits": {"timeout_ms": 600000}}


def in_loop(body):
    def run(d):
        asyncio.run(asyncio.wait_for(body(AsyncCarrel(state=d.state)), PATIENCE))
    run.__doc__, run.__name__ = body.__doc__, body.__name__
    return run


async def ended(s, number, outcome):
    while (await (await s.process(number)).info()).outcome != outcome:
        await asyncio.sleep(0.01)


@in_loop
async def whole(c):
    """a sandbox from its beginning to its end, with commands, files, processes and tokens"""
    async with c.create(name="async", timeout=600) as s:
        equal((await s.run("echo hi; exit 3")).exit_status, 3)
        await s.files.write("/tmp/a", "text ü")
        equal(await s.files.read_text("/tmp/a"), "text ü")
        with tempfile.TemporaryDirectory() as folder:
            equal(await s.files.download("/tmp/a", os.path.join(folder, "a")), 7)
        async with s.files.chunks("/tmp/a") as chunks:
            equal([chunk async for chunk in chunks], ["text ü".encode()])
        p = await s.start("cat", stdin=True)
        await p.write("typed")
        await p.close_input()
        equal((await p.wait()).stdout, b"typed")
        async with p.attach(stdout_offset=2) as stream:
            equal([piece.data async for piece in stream], [b"ped"])
        equal([x.id for x in await c.list()], [s.id])
        try:
            equal(((await s.pause()).status, (await s.resume()).status), ("paused", "running"))
        except errors.CapabilityUnavailableError:
            assert not ROOT                                # it takes a control group that freezes
        equal((await c.get("async")).id, s.id)
        equal(((await c.volumes.create("v")).name, len(await c.volumes.list()), await c.volumes.remove("v")), ("v", 1, True))
        token = await c.tokens.create(scope="read")
        equal(await c.tokens.revoke(token.id), True)
        try:
            await s.files.read("/tmp/none")
            raise AssertionError("it was read")
        except FileNotFoundError as e:
            equal(type(e), errors.FileNotFoundError)
    equal(await c.list(), [])


@in_loop
async def streams(c):
    """streams: pieces, lines and events; leaving the block kills a foreground command"""
    async with c.create() as s, c.events() as events:
        async with s.stream("echo one; echo err >&2; exit 6") as stream:
            equal(b"".join([piece.data async for piece in stream if piece.stream == "stdout"]), b"one\n")
            equal((stream.result.exit_status, stream.stdout_offset), (6, 4))
        lines = (await s.stream("seq 3")).lines()
        equal([line async for line in lines], [("stdout", "1"), ("stdout", "2"), ("stdout", "3")])
        async with s.stream(["sleep", "60"]) as stream:
            number = stream.process.exec
        await ended(s, number, "killed")
        async for event in events:
            if event.event == "exec-ended" and event.exec == number:
                break
        got = []

        async def note(data):
            await asyncio.sleep(0)
            got.append(data)
        await s.run("echo a", on_stdout=note)
        await s.run("echo b", on_stdout=got.append)
        equal(got, [b"a\n", b"b\n"])


@in_loop
async def side_by_side(c):
    """fifty commands of one sandbox and of five run side by side; a slow one holds up no other"""
    async with c.create() as s:
        slow = asyncio.ensure_future(s.run(["sleep", "600"], timeout=600))
        results = await asyncio.gather(*[s.run("echo %d" % i) for i in range(50)])
        equal([r.stdout for r in results], [b"%d\n" % i for i in range(50)])
        equal(slow.done(), False)
        slow.cancel()
    made = await asyncio.gather(*[c.create() for _ in range(5)])
    equal([r.stdout for r in await asyncio.gather(*[s.run("echo x") for s in made])], [b"x\n"] * 5)
    equal(await asyncio.gather(*[s.stop() for s in made]), [True] * 5)


@in_loop
async def cancelling(c):
    """a cancelled task kills its command, and what was to be created is not left behind"""
    async with c.create() as s:
        task = asyncio.ensure_future(s.run(["sleep", "60"]))
        while not await s.processes():
            await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
            raise AssertionError("it was not cancelled")
        except asyncio.CancelledError:
            pass
        await ended(s, 1, "killed")
        try:
            await asyncio.wait_for(s.run(["sleep", "60"]), 0.2)
            raise AssertionError("it was not cancelled")
        except asyncio.TimeoutError:
            pass
        await ended(s, 2, "killed")
        process = await s.start(["sleep", "60"])
        task = asyncio.ensure_future(process.wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        equal((await process.info()).state, "running")
    for _ in range(5):
        task = asyncio.ensure_future(c.create()._open())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
    equal(await c.list(), [])


@in_loop
async def pressure(c):
    """a task that does not take pieces stops the command; the loop goes on meanwhile"""
    async with c.create(manifest=PLAIN) as s:
        async with s.stream("head -c 16000000 /dev/zero; echo all >/tmp/all") as stream:
            await stream.__anext__()
            for _ in range(20):
                equal(await s.files.exists("/tmp/all"), False)
            size = 0
            async for piece in stream:
                size += len(piece.data)
            assert size > 15000000 and stream.result.stdout_lost == 0, (size, stream.result)
        equal(await s.files.exists("/tmp/all"), True)


def loops(d):
    """a client is used by one loop after another, and beside the sync client"""
    c = AsyncCarrel(state=d.state)
    equal(asyncio.run(c.info()).version, Carrel(state=d.state).info().version)
    equal(asyncio.run(c.info()), asyncio.run(c.info()))


def main():
    need_programs()
    with Daemon() as d:
        for part in (whole, streams, side_by_side, cancelling, pressure, loops):
            row(part, d)
    end()


if __name__ == "__main__":
    main()
