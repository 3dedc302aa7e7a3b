#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mastra_suite_test.mjs - every behaviour that Mastra's own sandbox suite names, of our provider against a real daemon.
 *
 * The suite itself is private to Mastra; these are its names with tests of our own behind them.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { LocalFilesystem, Workspace } from '@mastra/core/workspace';
import { CarrelSandbox } from 'carrel-sandbox/mastra';

import { run, until, with_daemon } from './rig.mjs';

let daemon;
const PROVIDER_STATES = ['pending', 'initializing', 'ready', 'starting', 'running', 'stopping', 'stopped', 'destroying', 'destroyed', 'error'];

// A new sandbox for the body, gone afterwards.
async function fresh(options, body) {
        const sandbox = new CarrelSandbox({ socket: daemon.socket, ...options });
        try {
                return await body(sandbox);
        } finally {
                await sandbox._destroy();
        }
}

async function command_execution(t, box) {
        const sh = (line, options) => box.executeCommand('sh', ['-c', line], options);

        await t.test('Command Execution: executes a simple command', async () => {
                const r = await box.executeCommand('echo', ['hello']);
                assert.equal(r.success, true);
                assert.equal(r.exitCode, 0);
                assert.ok(r.executionTimeMs >= 0);
        });
        await t.test('Command Execution: captures stdout', async () => {
                const r = await box.executeCommand('echo', ['one line']);
                assert.equal(r.stdout, 'one line\n');
                assert.equal(r.stderr, '');
        });
        await t.test('Command Execution: captures stderr', async () => {
                const r = await sh('echo wrong >&2');
                assert.equal(r.stderr, 'wrong\n');
                assert.equal(r.stdout, '');
        });
        await t.test('Command Execution: returns non-zero exit code for failing command', async () => {
                const r = await sh('exit 42');
                assert.deepEqual([r.success, r.exitCode], [false, 42]);
        });
        await t.test('Command Execution: handles commands with arguments', async () => {
                assert.equal((await box.executeCommand('printf', ['%s-%s', 'a', 'b'])).stdout, 'a-b');
        });
        await t.test('Command Execution: handles commands with special characters in arguments', async () => {
                const words = ['$HOME', '`id`', "it's", 'a "b"', 'x;y|z&', '*', '', 'new\nline', 'Zoë'];
                assert.equal((await box.executeCommand('printf', ['[%s]', ...words])).stdout, words.map(w => `[${w}]`).join(''));
        });
        await t.test('Command Execution: passes environment variables', async () => {
                assert.equal((await sh('echo $WORD', { env: { WORD: 'given' } })).stdout, 'given\n');
        });
        await t.test('Command Execution: passes multiple environment variables', async () => {
                assert.equal((await sh('echo $A/$B/$C', { env: { A: '1', B: 'two words', C: '=' } })).stdout, '1/two words/=\n');
        });
        await t.test('Command Execution: executes in specified working directory', async () => {
                assert.equal((await box.executeCommand('pwd', [], { cwd: '/tmp' })).stdout, '/tmp\n');
        });
        await t.test('Command Execution: times out long-running commands', async () => {
                const from = Date.now();
                const r = await box.executeCommand('sleep', ['600'], { timeout: 100 });
                assert.ok(Date.now() - from < 100_000);
                assert.deepEqual([r.success, r.exitCode, r.timedOut], [false, 124, true]);
                assert.match(r.stderr, /Process timed out after 100ms/);
        });
        await t.test('Command Execution: executes multiple commands concurrently', async () => {
                const all = await Promise.all(Array.from({ length: 8 }, (_, i) => box.executeCommand('echo', [String(i)])));
                assert.deepEqual(all.map(r => r.stdout), all.map((_, i) => `${i}\n`));
        });
        await t.test('Command Execution: concurrent commands do not interfere', async () => {
                const of = n => sh(`for i in 1 2 3 4 5; do echo out$N; echo err$N >&2; sleep 0.02; done; exit $N`, { env: { N: String(n) } });
                for (const [i, r] of (await Promise.all([of(1), of(2), of(3), of(4)])).entries()) {
                        assert.equal(r.stdout, `out${i + 1}\n`.repeat(5));
                        assert.equal(r.stderr, `err${i + 1}\n`.repeat(5));
                        assert.equal(r.exitCode, i + 1);
                }
        });
}

async function lifecycle(t) {
        await t.test('Lifecycle: has required identification properties', () => fresh({}, box => {
                assert.ok(typeof box.id === 'string' && box.id !== '');
                assert.equal(box.name, 'CarrelSandbox');
                assert.equal(box.provider, 'carrel');
        }));
        await t.test('Lifecycle: has an id that is unique per instance', () => fresh({}, a => fresh({}, b => assert.notEqual(a.id, b.id))));
        await t.test('Lifecycle: status starts as pending or stopped', () => fresh({}, box => assert.ok(['pending', 'stopped'].includes(box.status))));
        await t.test('Lifecycle: status is running after start', () => fresh({}, async box => {
                assert.deepEqual(await box._start(), { outcome: 'created' });
                assert.equal(box.status, 'running');
        }));
        await t.test('Lifecycle: start() is idempotent', () => fresh({}, async box => {
                await Promise.all([box.start(), box.start()]);
                await box.start();
                assert.equal(box.status, 'running');
                assert.equal((await daemon.client.list()).filter(e => e.name === box.id).length, 1);
        }));
        await t.test('Lifecycle: stop() leads to stopped', () => fresh({}, async box => {
                await box._start();
                await box._stop();
                assert.equal(box.status, 'stopped');
        }));
        await t.test('Lifecycle: isReady is true when running', () => fresh({}, async box => {
                await box._start();
                assert.equal(box.isReady(), true);
        }));
        await t.test('Lifecycle: isReady is false when stopped', () => fresh({}, async box => {
                assert.equal(box.isReady(), false);
                await box._start();
                await box._stop();
                assert.equal(box.isReady(), false);
        }));
        await t.test('Lifecycle: getInfo returns information', () => fresh({ timeout: 600_000 }, async box => {
                const from = Date.now();
                await box._start();
                const info = await box.getInfo();
                assert.deepEqual([info.id, info.name, info.provider], [box.id, box.name, 'carrel']);
                assert.ok(info.createdAt instanceof Date && Math.abs(info.createdAt - from) < 60_000);
                assert.ok(info.timeoutAt instanceof Date && Math.abs(info.timeoutAt - from - 600_000) < 60_000);
        }));
        await t.test('Lifecycle: getInfo status matches', () => fresh({}, async box => {
                assert.equal((await box.getInfo()).status, box.status);
                await box._start();
                assert.equal((await box.getInfo()).status, 'running');
                assert.ok(PROVIDER_STATES.includes(box.status));
                await box._stop();
                assert.equal((await box.getInfo()).status, 'stopped');
        }));
        await t.test('Lifecycle: destroy() leads to destroyed, and the daemon has none', () => fresh({}, async box => {
                await box._start();
                await box._destroy();
                assert.equal(box.status, 'destroyed');
                assert.equal(await daemon.client.get(box.id), null);
        }));
}

async function spawning(t, box) {
        const p = box.processes;

        await t.test('Process Management: spawn returns a handle with pid', async () => {
                const h = await p.spawn('echo x');
                assert.equal(typeof h.pid, 'string');
                assert.match(h.pid, /^[0-9]+$/);
                await h.wait();
        });
        await t.test('Process Management: spawn accumulates stdout', async () => {
                const h = await p.spawn('echo a; sleep 0.05; echo b');
                assert.equal((await h.wait()).stdout, 'a\nb\n');
                assert.equal(h.stdout, 'a\nb\n');
        });
        await t.test('Process Management: spawn accumulates stderr', async () => {
                const h = await p.spawn('echo a >&2; sleep 0.05; echo b >&2');
                assert.equal((await h.wait()).stderr, 'a\nb\n');
                assert.equal(h.stderr, 'a\nb\n');
        });
        await t.test('Process Management: spawn captures non-zero exit code', async () => {
                const r = await (await p.spawn('exit 7')).wait();
                assert.deepEqual([r.success, r.exitCode], [false, 7]);
        });
        await t.test('Process Management: spawn respects the env option', async () => {
                assert.equal((await (await p.spawn('echo $WORD', { env: { WORD: 'spawned' } })).wait()).stdout, 'spawned\n');
        });
        await t.test('Process Management: spawn respects the cwd option', async () => {
                assert.equal((await (await p.spawn('pwd', { cwd: '/tmp' })).wait()).stdout, '/tmp\n');
        });
        await t.test('Process Management: callbacks: onStdout', async () => {
                let heard = '';
                await (await p.spawn('echo out; echo err >&2', { onStdout: d => { heard += d; } })).wait();
                assert.equal(heard, 'out\n');
        });
        await t.test('Process Management: callbacks: onStderr', async () => {
                let heard = '';
                await (await p.spawn('echo out; echo err >&2', { onStderr: d => { heard += d; } })).wait();
                assert.equal(heard, 'err\n');
        });
        for (const [name, to, option] of [['stdout', '', 'onStdout'], ['stderr', ' >&2', 'onStderr']])
                await t.test(`Process Management: streams ${name} in real time`, async () => {
                        let heard = '';
                        // The command cannot end before it is told to: what is heard until then came while it ran.
                        const h = await p.spawn(`echo first${to}; read word; echo $word${to}`, { [option]: d => { heard += d; } });
                        await until('the first line is heard', () => heard === 'first\n');
                        assert.equal(h.exitCode, undefined);
                        await h.sendStdin('second\n');
                        await h.wait();
                        assert.equal(heard, 'first\nsecond\n');
                });
        await t.test('Process Management: a character split between two writes arrives whole', async () => {
                const heard = [];
                await (await p.spawn(`printf '\\303'; sleep 0.1; printf '\\251'`, { onStdout: d => heard.push(d) })).wait();
                assert.equal(heard.join(''), 'é');
        });
        await t.test('Process Management: wait() streams to callbacks of its own', async () => {
                let heard = '';
                const h = await p.spawn('read word; echo $word');
                const end = h.wait({ onStdout: d => { heard += d; } });
                await h.sendStdin('late\n');
                await end;
                assert.equal(heard, 'late\n');
        });
}

async function handles(t, box) {
        const p = box.processes;

        await t.test('Process Management: handle: stdout accumulates', async () => {
                const h = await p.spawn('echo 1; read x; echo 2');
                await until('the first line', () => h.stdout === '1\n');
                await h.sendStdin('\n');
                await h.wait();
                assert.equal(h.stdout, '1\n2\n');
        });
        await t.test('Process Management: handle: stderr accumulates', async () => {
                const h = await p.spawn('echo 1 >&2; read x; echo 2 >&2');
                await until('the first line', () => h.stderr === '1\n');
                await h.sendStdin('\n');
                await h.wait();
                assert.equal(h.stderr, '1\n2\n');
        });
        await t.test('Process Management: handle: exitCode is undefined while running', async () => {
                const h = await p.spawn('read x; exit 3');
                assert.equal(h.exitCode, undefined);
                await h.sendStdin('\n');
                await h.wait();
                assert.equal(h.exitCode, 3);
        });
        await t.test('Process Management: wait is idempotent', async () => {
                const h = await p.spawn('echo same');
                const [a, b] = await Promise.all([h.wait(), h.wait()]);
                assert.deepEqual(a, b);
                assert.deepEqual(await h.wait(), a);
        });
        await t.test('Process Management: kill kills a running process', async () => {
                const h = await p.spawn('sleep 60');
                assert.equal(await h.kill(), true);
                const r = await h.wait();
                assert.equal(r.success, false);
                assert.equal(r.killed, true);
                assert.notEqual(h.exitCode, undefined);
        });
        await t.test('Process Management: kill kills the whole tree', async () => {
                const h = await p.spawn('sleep 61 & setsid sleep 61 & echo $$; wait');
                await until('it runs', () => h.stdout !== '');
                await h.kill();
                await h.wait();
                assert.equal((await box.executeCommand('ps', ['-eo', 'args'])).stdout.includes('sleep 61'), false);
        });
        await t.test('Process Management: kill returns false on an exited process', async () => {
                const h = await p.spawn('true');
                await h.wait();
                assert.equal(await h.kill(), false);
        });
        await t.test('Process Management: abort signal aborts a spawned process', async () => {
                const c = new AbortController();
                const h = await p.spawn('sleep 60', { abortSignal: c.signal });
                c.abort();
                const r = await h.wait();
                assert.equal(r.success, false);
        });
        await t.test('Process Management: abort signal aborts when already aborted', async () => {
                const from = Date.now();
                const r = await (await p.spawn('sleep 600', { abortSignal: AbortSignal.abort() })).wait();
                assert.equal(r.success, false);
                assert.ok(Date.now() - from < 100_000);
        });
        await t.test('Process Management: abort signal captures partial output before abort', async () => {
                const c = new AbortController();
                const h = await p.spawn('echo partial; sleep 60', { abortSignal: c.signal });
                await until('it said something', () => h.stdout !== '');
                c.abort();
                assert.equal((await h.wait()).stdout, 'partial\n');
        });
        await t.test('Process Management: sendStdin sends', async () => {
                const h = await p.spawn('read a; read b; echo $b $a');
                await Promise.all([h.sendStdin('one\n'), h.sendStdin('two\n')]);
                assert.equal((await h.wait()).stdout, 'two one\n');
        });
        await t.test('Process Management: sendStdin throws on an exited process', async () => {
                const h = await p.spawn('true');
                await h.wait();
                await assert.rejects(h.sendStdin('x'), /exited/);
        });
        await t.test('Process Management: closeStdin ends the input', async () => {
                const h = await p.spawn('cat');
                await h.sendStdin('all of it');
                await h.closeStdin();
                const r = await h.wait();
                assert.deepEqual([r.stdout, r.exitCode], ['all of it', 0]);
        });
        await t.test('Process Management: stdinMode ignore gives an empty input', async () => {
                const h = await p.spawn('cat; echo end', { stdinMode: 'ignore' });
                await assert.rejects(h.sendStdin('x'));
                assert.equal((await h.wait()).stdout, 'end\n');
        });
}

async function listing(t, box) {
        const p = box.processes;
        const find = async pid => (await p.list()).find(x => x.pid === pid);

        await t.test('Process Management: list lists spawned processes', async () => {
                const h = await p.spawn('read x');
                assert.equal((await find(h.pid)).running, true);
                await h.kill();
                await h.wait();
        });
        await t.test('Process Management: list: an exited process is not running', async () => {
                const h = await p.spawn('exit 4');
                await h.wait();
                const found = await find(h.pid);
                assert.equal(found === undefined || (found.running === false && found.exitCode === 4), true);
        });
        await t.test('Process Management: list includes the command string', async () => {
                const h = await p.spawn('sleep 62');
                assert.equal((await find(h.pid)).command, 'sleep 62');
                await p.kill(h.pid);
        });
        await t.test('Process Management: get finds by pid', async () => {
                const h = await p.spawn('sleep 60');
                assert.equal((await p.get(h.pid)).pid, h.pid);
                await p.kill(h.pid);
        });
        await t.test('Process Management: get has accumulated stdout after exit', async () => {
                const h = await p.spawn('echo kept');
                await h.wait();
                const got = await p.get(h.pid);
                assert.deepEqual([got.stdout, got.exitCode], ['kept\n', 0]);
        });
        await t.test('Process Management: get has accumulated stdout while running', async () => {
                const h = await p.spawn('echo so far; sleep 60');
                await until('it said something', async () => (await p.get(h.pid)).stdout === 'so far\n');
                assert.equal((await p.get(h.pid)).exitCode, undefined);
                await p.kill(h.pid);
        });
        await t.test('Process Management: spawn, get, kill as tools do', async () => {
                const { pid } = await p.spawn('echo up; sleep 60');
                await until('output', async () => (await p.get(pid)).stdout === 'up\n');
                assert.equal(await p.kill(pid), true);
                assert.equal(await p.get(pid), undefined);
        });
        await t.test('Process Management: first get after natural exit returns output, second is undefined', async () => {
                const h = await p.spawn('echo once');
                await h.wait();
                assert.equal((await p.get(h.pid)).stdout, 'once\n');
                assert.equal(await p.get(h.pid), undefined);
        });
        await t.test('Process Management: get is undefined for an unknown pid', async () => {
                for (const pid of ['999999', 'no-such', '', '-1', '1e3'])
                        assert.equal(await p.get(pid), undefined, pid);
        });
        await t.test('Process Management: handle.kill() does not untrack', async () => {
                const h = await p.spawn('echo said; sleep 60');
                await until('output', () => h.stdout !== '');
                await h.kill();
                await h.wait();
                assert.equal((await p.get(h.pid)).stdout, 'said\n');
        });
        await t.test('Process Management: concurrent processes are tracked independently', async () => {
                const all = await Promise.all([1, 2, 3].map(n => p.spawn(`echo n${n}; exit ${n}`)));
                assert.equal(new Set(all.map(h => h.pid)).size, 3);
                assert.deepEqual((await Promise.all(all.map(h => h.wait()))).map(r => [r.stdout, r.exitCode]), [['n1\n', 1], ['n2\n', 2], ['n3\n', 3]]);
        });
        await t.test('Process Management: manager kill kills by pid', async () => {
                const h = await p.spawn('sleep 60');
                assert.equal(await p.kill(h.pid), true);
                assert.notEqual(h.exitCode, undefined);
        });
        await t.test('Process Management: manager kill returns false for an unknown pid', async () => assert.equal(await p.kill('999999'), false));
        await t.test('Process Management: get after manager kill is undefined', async () => {
                const h = await p.spawn('sleep 60');
                await p.kill(h.pid);
                assert.equal(await p.get(h.pid), undefined);
        });
}

async function surroundings(t, box) {
        const p = box.processes;

        await t.test('Process Management: sandbox env is inherited', () => fresh({ env: { OVERLAY: 'from the sandbox' } }, async one => {
                assert.equal((await (await one.processes.spawn('echo $OVERLAY')).wait()).stdout, 'from the sandbox\n');
                one.setEnv(env => ({ ...env, OVERLAY: undefined, LATER: 'set' }));
                assert.equal((await (await one.processes.spawn('echo $OVERLAY/$LATER')).wait()).stdout, '/set\n');
        }));
        await t.test('Process Management: sandbox env is overridden per spawn', () => fresh({ env: { OVERLAY: 'a', OTHER: 'b' } }, async one => {
                assert.equal((await (await one.processes.spawn('echo $OVERLAY $OTHER', { env: { OVERLAY: 'c' } })).wait()).stdout, 'c b\n');
        }));
        await t.test('Process Management: streams: reader receives stdout', async () => {
                const h = await p.spawn('echo read me');
                let text = '';
                for await (const part of h.reader)
                        text += part;
                assert.equal(text, 'read me\n');
        });
        await t.test('Process Management: streams: reader ends', async () => {
                const h = await p.spawn('true');
                await new Promise((resolve, reject) => h.reader.on('end', resolve).on('error', reject).resume());
        });
        await t.test('Process Management: streams: writer leads to stdin', async () => {
                const h = await p.spawn('cat');
                h.writer.write('through ');
                h.writer.end('the pipe');
                assert.equal((await h.wait()).stdout, 'through the pipe');
        });
        await t.test('Process Management: the retained output is bounded, and says what it dropped', async () => {
                const h = await p.spawn('i=0; while [ $i -lt 200 ]; do echo 0123456789012345678; i=$((i+1)); done', { maxRetainedBytes: 1000 });
                const r = await h.wait();
                assert.ok(r.stdout.length <= 1000);
                assert.deepEqual([r.stdoutTruncated, r.stdoutDroppedBytes], [true, 4000 - r.stdout.length]);
        });
}

async function mounting(t) {
        const folder = fs.mkdtempSync(path.join(daemon.folder, 'mount-'));
        fs.chmodSync(folder, 0o777);
        fs.writeFileSync(path.join(folder, 'hello.txt'), 'from the host\n');
        const filesystem = () => new LocalFilesystem({ basePath: folder });
        const cat = async box => (await box.executeCommand('cat', ['/mnt/hello.txt'])).stdout;

        await t.test('Mount Operations: has a mounts property', () => fresh({}, box => assert.ok(box.mounts)));
        await t.test('Mount Operations: entries is a Map', () => fresh({}, box => assert.ok(box.mounts.entries instanceof Map)));
        await t.test('Mount Operations: mounts a filesystem at a path', () => fresh({}, async box => {
                await box._start();
                await box.mount(filesystem(), '/mnt');
                assert.equal(await cat(box), 'from the host\n');
        }));
        await t.test('Mount Operations: mount gives a MountResult', () => fresh({}, async box => {
                await box._start();
                assert.deepEqual(await box.mount(filesystem(), '/mnt'), { success: true, mountPath: '/mnt' });
                const second = await box.mount(new LocalFilesystem({ basePath: daemon.folder }), '/other');
                assert.deepEqual([second.success, second.mountPath, typeof second.error], [false, '/other', 'string']);
        }));
        await t.test('Mount Operations: getInfo has the mounts', () => fresh({}, async box => {
                await box._start();
                await box.mount(filesystem(), '/mnt');
                assert.deepEqual((await box.getInfo()).mounts.map(m => m.path), ['/mnt']);
        }));
        await t.test('Mount Operations: unmount', () => fresh({}, async box => {
                await box._start();
                await box.mount(filesystem(), '/mnt');
                await box.unmount('/mnt');
                assert.equal(box.mounts.has('/mnt'), false);
                assert.equal(await cat(box), '');
        }));
        await t.test('Mount Operations: mounts.has is true for what is mounted, false for what is not', () => fresh({}, async box => {
                await box._start();
                assert.equal(box.mounts.has('/mnt'), false);
                await box.mount(filesystem(), '/mnt');
                assert.equal(box.mounts.has('/mnt'), true);
        }));
        await t.test('Mount Operations: mounts.get has the state', () => fresh({}, async box => {
                await box._start();
                await box.mount(filesystem(), '/mnt');
                assert.equal(box.mounts.get('/mnt').state, 'mounted');
        }));
        await t.test('Mount Operations: what a Workspace mounts is there at the first command', async () => {
                const box = new CarrelSandbox({ socket: daemon.socket });
                const workspace = new Workspace({ sandbox: box, mounts: { '/mnt': filesystem() } });
                try {
                        await workspace.init();
                        assert.equal(box.mounts.get('/mnt').state, 'mounted');
                        assert.equal(await cat(box), 'from the host\n');
                } finally {
                        await workspace.destroy();
                }
        });
}

async function reconnection(t) {
        await t.test('Reconnection: getInfo has the id', () => fresh({ id: 'again-1' }, async box => {
                await box._start();
                assert.equal((await box.getInfo()).id, 'again-1');
        }));
        await t.test('Reconnection: the id is stable after stop and start', () => fresh({}, async box => {
                await box._start();
                const { id, boxId } = box;
                await box._stop();
                assert.deepEqual(await box._start(), { outcome: 'connected' });
                assert.deepEqual([box.id, box.boxId], [id, boxId]);
        }));
        await t.test('Reconnection: files persist after stop and start', () => fresh({}, async box => {
                await box.executeCommand('sh', ['-c', 'echo kept > /tmp/kept']);
                await box._stop();
                await box._start();
                assert.equal((await box.executeCommand('cat', ['/tmp/kept'])).stdout, 'kept\n');
        }));
        await t.test('Reconnection: environment is preserved', () => fresh({ env: { KEPT: 'yes' } }, async box => {
                await box._start();
                await box._stop();
                await box._start();
                assert.equal((await box.executeCommand('echo $KEPT')).stdout, 'yes\n');
        }));
        await t.test('Reconnection: mounts are tracked', () => fresh({}, async box => {
                const folder = fs.mkdtempSync(path.join(daemon.folder, 'tracked-'));
                await box._start();
                await box.mount(new LocalFilesystem({ basePath: folder }), '/mnt');
                await box._stop();
                await box._start();
                assert.equal(box.mounts.has('/mnt'), true);
        }));
        await t.test('Reconnection: another program finds the sandbox by its id, and the process that was left running', () => fresh({ id: 'shared' }, async box => {
                const left = await box.processes.spawn('echo left; sleep 60');
                const other = new CarrelSandbox({ socket: daemon.socket, id: 'shared' });
                assert.deepEqual(await other._start(), { outcome: 'connected' });
                const found = await until('its output', async () => { const h = await other.processes.get(left.pid); return h?.stdout === 'left\n' && h; });
                assert.equal((await other.processes.list()).find(x => x.pid === left.pid)?.running, true);
                assert.equal(await found.kill(), true);
                assert.equal((await left.wait()).killed, true);
        }));
        await t.test('Reconnection: a sandbox whose time was over is made again at the next command', () => fresh({}, async box => {
                await box.executeCommand('true');
                await daemon.client.stop(box.boxId);
                assert.equal((await box.executeCommand('echo', ['anew'])).stdout, 'anew\n');
        }));
}

async function beyond(t) {
        await t.test('writeFiles writes text and bytes, with a mode', () => fresh({}, async box => {
                await box.writeFiles([{ path: '/tmp/d/a.sh', content: '#!/bin/sh\necho ran\n', mode: 0o755 }, { path: '/tmp/b', content: Buffer.from([0, 255, 10]) }]);
                assert.equal((await box.executeCommand('/tmp/d/a.sh')).stdout, 'ran\n');
                assert.equal((await box.executeCommand('od', ['-An', '-tx1', '/tmp/b'])).stdout, ' 00 ff 0a\n');
                await assert.rejects(box.writeFiles([{ path: '/tmp/x', content: '', mode: 0o4755 }]), { code: 'INVALID_ARGUMENT' });
                await assert.rejects(box.writeFiles([{ path: '/tmp/x', content: '' }], { abortSignal: AbortSignal.abort() }), { code: 'ABORTED' });
        }));
        await t.test('networking.getPortUrl reaches a declared port, and is null for any other', () => fresh({ ports: [8000] }, async box => {
                assert.equal(await box.networking.getPortUrl(8000), null);
                await box.writeFiles([{ path: '/tmp/www/index.html', content: 'reached' }]);
                const h = await box.processes.spawn('python3 -m http.server 8000', { cwd: '/tmp/www' });
                const url = await box.networking.getPortUrl(8000);
                const text = await until('the server answers', async () => { const r = await fetch(url).catch(() => null); return r?.ok && r.text(); });
                assert.equal(text, 'reached');
                assert.equal(await box.networking.getPortUrl(8001), null);
                await h.kill();
        }));
        await t.test('getInstructions never provisions, and describes what was made', () => fresh({}, async box => {
                const before = box.getInstructions();
                assert.ok(before.length > 0);
                assert.equal(await daemon.client.get(box.id), null);
                await box._start();
                assert.notEqual(box.getInstructions(), before);
        }));
        await t.test('a working directory stands in where a command says none', () => fresh({ workingDirectory: '/tmp' }, async box => {
                await box.executeCommand('mkdir', ['sub']);
                assert.equal((await box.executeCommand('pwd')).stdout, '/tmp\n');
                assert.equal((await box.executeCommand('pwd', [], { cwd: 'sub' })).stdout, '/tmp/sub\n');
        }));
        await t.test('a sandbox that is lost: the running provider goes on, and a new one of the same id too', () => fresh({}, async box => {
                const kill_box = async () => {
                        const { id } = await daemon.client.get(box.id);
                        const journal = path.join(daemon.state, 'boxes', id, 'journal');
                        const holds = pid => {
                                try {
                                        return fs.readdirSync(`/proc/${pid}/fd`).some(fd => fs.readlinkSync(`/proc/${pid}/fd/${fd}`) === journal);
                                } catch {
                                        return false;
                                }
                        };
                        const pids = fs.readdirSync('/proc').filter(name => /^\d+$/.test(name) && holds(name));
                        assert.equal(pids.length, 1);
                        process.kill(Number(pids[0]), 'SIGKILL');
                        await until('its loss is known', async () => (await daemon.client.get(id)).status === 'failed');
                };
                assert.equal((await box.executeCommand('echo', ['one'])).stdout, 'one\n');
                await kill_box();
                assert.equal((await box.executeCommand('echo', ['two'])).stdout, 'two\n');
                await kill_box();
                const other = new CarrelSandbox({ socket: daemon.socket, id: box.id });
                assert.equal((await other.executeCommand('echo', ['three'])).stdout, 'three\n');
                assert.equal((await box.executeCommand('echo', ['four'])).stdout, 'four\n');
        }));
        await t.test('a process outlives a daemon that is killed, and nothing of its output is lost', () => fresh({}, async box => {
                const h = await box.processes.spawn('i=0; while [ $i -lt 30 ]; do echo $i; i=$((i+1)); sleep 0.1; done');
                await until('it runs', () => h.stdout.includes('3\n'));
                await daemon.stop('SIGKILL');
                await daemon.start();
                const r = await h.wait();
                assert.equal(r.stdout, Array.from({ length: 30 }, (_, i) => `${i}\n`).join(''));
                assert.equal(r.exitCode, 0);
        }));
}

await run(t => with_daemon([], async d => {
        daemon = d;
        await lifecycle(t);
        await fresh({}, async box => {
                await box._start();
                for (const part of [command_execution, spawning, handles, listing, surroundings])
                        await part(t, box);
        });
        await mounting(t);
        await reconnection(t);
        await beyond(t);
}));
