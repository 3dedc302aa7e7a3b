#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * client_test.mjs - CarrelClient against a real daemon: every operation that the daemon lists has a method, and does what it says.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { CarrelClient, CarrelError } from 'carrel-sandbox';

import { block_of, BUILD, NODE, program, run, until, with_daemon } from './rig.mjs';

// The daemon's name of each operation, and ours.
const METHODS = {
        create: 'create', list: 'list', claim: 'claim', get: 'get', stop: 'stop', extend: 'extend', pause: 'pause', resume: 'resume', url: 'url',
        denials: 'denials', 'left.take': 'takeLeftBehind', network: 'setNetwork', limits: 'limits', 'limits.set': 'setLimits',
        instructions: 'instructions', event: 'event', 'task.begin': 'beginTask', 'task.end': 'endTask', 'exec.start': 'exec', 'code.run': 'runCode', 'exec.list': 'execs', 'exec.get': 'execGet',
        'exec.kill': 'kill', 'exec.attach': 'attach', 'exec.signal': 'signal', 'exec.stdin': 'stdin', 'exec.resize': 'resize', 'file.read': 'readFile', 'file.write': 'writeFiles',
        'file.put': 'writeFile', 'file.remove': 'remove', 'file.list': 'listFiles', 'file.stat': 'stat', 'file.mkdir': 'mkdir', 'file.move': 'move',
        'token.create': 'createToken', 'token.list': 'tokens', 'token.revoke': 'revokeToken', 'volume.create': 'createVolume', 'volume.list': 'volumes', 'volume.remove': 'removeVolume', 'approval.list': 'approvals', 'approval.get': 'approval', 'approval.answer': 'answerApproval', usage: 'usage', 'usage.list': 'usages', info: 'info', watch: 'watch',
};
const NOT_METHODS = ['openapi', 'health', 'metrics'];

let daemon, client;

async function fresh(request, body) {
        const { id } = await client.create(request);
        try {
                return await body(id);
        } finally {
                await client.stop(id);
        }
}

async function execs(t) {
        await t.test('stream: started, output in order with offsets, end', () => fresh({}, async id => {
                const heard = [];
                for await (const e of client.stream(id, { command: 'echo one; sleep 0.1; echo two; echo err >&2; exit 6' }))
                        heard.push(e);
                assert.equal(heard[0].event, 'started');
                assert.deepEqual([heard.at(-1).event, heard.at(-1).result.exit_code, heard.at(-1).result.outcome], ['end', 6, 'exited']);
                let at = 0;
                for (const e of heard.filter(x => x.event === 'stdout')) {
                        assert.equal(e.offset, at);
                        at += e.data.length;
                }
                assert.equal(Buffer.concat(heard.filter(x => x.event === 'stdout').map(e => e.data)).toString(), 'one\ntwo\n');
        }));
        await t.test('code: runs with the interpreter inside, and streams', () => fresh({}, async id => {
                const code = 'import sys\nprint(sys.stdin.read()[::-1]); sys.exit(3)';
                const r = await client.runCode(id, { language: 'python', code, input: 'abc' });
                assert.deepEqual([r.stdout, r.exit_code, r.outcome], ['cba\n', 3, 'exited']);
                const heard = [];
                for await (const e of client.streamCode(id, { language: 'sh', code: 'echo a; echo b >&2' }))
                        heard.push(e.event);
                assert.deepEqual([heard[0], heard.at(-1), heard.length], ['started', 'end', 4]);
                await assert.rejects(client.runCode(id, { language: 'cobol', code: '' }), e => e.code === 'invalid_argument' && e.path === 'language');
        }));
        await t.test('stream: leaving the loop kills a foreground exec', () => fresh({}, async id => {
                for await (const e of client.stream(id, { argv: ['sleep', '60'] }))
                        if (e.event === 'started')
                                break;
                await until('it is killed', async () => (await client.execs(id))[0].outcome === 'killed');
        }));
        await t.test('attach: from a byte on, and leaving the loop leaves the exec alone', () => fresh({}, async id => {
                const { exec } = await client.exec(id, { command: 'printf 0123456789; sleep 60', background: true });
                await until('it said all', async () => (await client.execGet(id, exec)).stdout_bytes === 10);
                for await (const e of client.attach(id, exec, { stdout_offset: 4 }))
                        if (e.event === 'stdout') {
                                assert.deepEqual([e.offset, e.data.toString()], [4, '456789']);
                                break;
                        }
                assert.equal((await client.execGet(id, exec)).state, 'running');
                assert.equal(await client.kill(id, exec), true);
                assert.equal((await client.output(id, exec, { wait: true })).outcome, 'killed');
                assert.equal(await client.kill(id, exec), false);
        }));
        await t.test('a retry storm with one key has one effect', () => fresh({}, async id => {
                const all = await Promise.all(Array.from({ length: 20 }, () => client.exec(id, { command: 'echo x >> /tmp/storm; cat /tmp/storm', key: 'storm' })));
                assert.deepEqual(new Set(all.map(x => `${x.exec} ${x.stdout}`)), new Set([`${all[0].exec} x\n`]));
                assert.equal((await client.execs(id)).length, 1);
        }));
        await t.test('stdin, its end, and a signal', () => fresh({}, async id => {
                const cat = await client.exec(id, { argv: ['cat'], background: true, stdin: true });
                await client.stdin(id, cat.exec, 'typed ');
                await client.stdin(id, cat.exec, Buffer.from([0xff]), { end: true });
                const said = await client.output(id, cat.exec, { wait: true, encoding: 'base64' });
                assert.deepEqual(Buffer.from(said.stdout, 'base64'), Buffer.from([...Buffer.from('typed '), 0xff]));
                const nap = await client.exec(id, { argv: ['sleep', '60'], background: true });
                await client.signal(id, nap.exec, 15);
                const { outcome, signal } = await client.output(id, nap.exec, { wait: true });
                assert.deepEqual([outcome, signal], ['signaled', 15]);
        }));
        await t.test('a terminal has the size it is given', () => fresh({}, async id => {
                const { exec } = await client.exec(id, { command: 'stty size; read x; stty size', tty: true, rows: 20, columns: 70, background: true, stdin: true });
                await until('its first size', async () => (await client.output(id, exec)).stdout.includes('20 70'));
                await client.resize(id, exec, 33, 99);
                await client.stdin(id, exec, '\n');
                assert.match((await client.output(id, exec, { wait: true })).stdout, /33 99/);
        }));
        await t.test('a task: at its end what still runs for it is killed', () => fresh({}, async id => {
                await client.beginTask(id, 'job', 60_000);
                const { exec } = await client.exec(id, { argv: ['sleep', '60'], task: 'job', background: true });
                assert.equal(await client.endTask(id, 'job'), true);
                assert.equal((await client.output(id, exec, { wait: true })).outcome, 'killed');
        }));
        await t.test('wait_ports: the port that listens, in time or not, now or later, and as an event', () => fresh({ ports: [8000] }, async id => {
                const serve = "import os,socket,time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n" +
                        "s=socket.socket(); s.bind(('127.0.0.1', 8000)); s.listen(); time.sleep(1000)";
                const early = await client.exec(id, { argv: ['python3', '-c', serve], background: true, wait_ports: true, wait_ports_ms: 1 });
                assert.equal(early.port, undefined);
                await client.exec(id, { command: 'touch /tmp/go' });
                assert.equal((await client.execGet(id, early.exec, { wait_ports: true })).port, 8000);
                await client.kill(id, early.exec);
                await client.output(id, early.exec, { wait: true });
                for await (const e of client.stream(id, { argv: ['python3', '-c', serve], background: true, wait_ports: true }))
                        if (e.event === 'port') {
                                assert.equal(e.port, 8000);
                                break;
                        }
        }));
        await t.test('an abandoned request kills a foreground exec', () => fresh({}, async id => {
                const c = new AbortController();
                const end = client.exec(id, { argv: ['sleep', '60'] }, { signal: c.signal });
                end.catch(() => {});
                await until('it runs', async () => (await client.execs(id))[0]?.state === 'running');
                c.abort();
                await assert.rejects(end, { name: 'AbortError' });
                await until('it is killed', async () => (await client.execs(id))[0].outcome === 'killed');
        }));
}

async function limits(t) {
        await t.test('limits: those of the manifest, changed by name, all or none', () => fresh({ manifest: { provider: 'local', config: {}, limits: { memory_mb: 256 } } }, async id => {
                assert.equal((await client.limits(id)).memory_mb, 256);
                const got = await client.setLimits(id, { memory_mb: 200, output_bytes: 1000 });
                assert.deepEqual([got.memory_mb, got.output_bytes], [200, 1000]);
                await assert.rejects(client.setLimits(id, { disk_mb: 10, memory_mb: 100 }), e => e.code === 'capability_unavailable' && e.path === 'disk_mb');
                assert.equal((await client.limits(id)).memory_mb, 200);
        }));
}

async function files(t) {
        await t.test('files: write, read, ranges, list, stat, mkdir, move, remove', () => fresh({}, async id => {
                await client.mkdir(id, '/tmp/a/b', { recursive: true, mode: 0o700 });
                await client.writeFiles(id, [{ path: '/tmp/a/one', content: 'text ü' }, { path: '/tmp/a/two', content: Buffer.from([0, 1, 255]), mode: 0o600 }]);
                assert.equal((await client.readFile(id, '/tmp/a/one')).toString(), 'text ü');
                assert.deepEqual(await client.readFile(id, '/tmp/a/two', { offset: 1, length: 1 }), Buffer.from([1]));
                assert.equal(await client.readFile(id, '/tmp/a/none'), null);
                assert.deepEqual((await client.listFiles(id, '/tmp/a')).map(e => [path.basename(e.path), e.kind]).sort(), [['b', 'directory'], ['one', 'file'], ['two', 'file']]);
                const two = await client.stat(id, '/tmp/a/two');
                assert.deepEqual([two.kind, two.size, two.mode & 0o777], ['file', 3, 0o600]);
                assert.equal(await client.stat(id, '/tmp/a/none'), null);
                await client.move(id, '/tmp/a/two', '/tmp/a/three');
                assert.equal(await client.remove(id, '/tmp/a/three'), true);
                assert.equal(await client.remove(id, '/tmp/a/three'), false);
                assert.equal(await client.remove(id, '/tmp/a', true), true);
        }));
        await t.test('files: larger than one body', () => fresh({}, async id => {
                const large = Buffer.alloc(5 << 20, 'abcdefghij\n');
                await client.writeFiles(id, [{ path: '/tmp/large', content: large, mode: 0o640 }, { path: '/tmp/small', content: 's' }]);
                assert.equal(Buffer.compare(await client.readFile(id, '/tmp/large'), large), 0);
                assert.equal((await client.stat(id, '/tmp/large')).mode & 0o777, 0o640);
                assert.equal((await client.readFile(id, '/tmp/small')).toString(), 's');
        }));
}

async function daemons(t) {
        await t.test('watch: says what happens to a sandbox', () => fresh({}, async id => {
                const c = new AbortController();
                const heard = [];
                const end = (async () => {
                        for await (const e of client.watch({ id, signal: c.signal })) {
                                heard.push(e.event);
                                if (e.event === 'exec-ended')
                                        break;
                        }
                })();
                await until('an event', async () => { await client.exec(id, { argv: ['true'] }); return heard.includes('exec-ended'); });
                await end;
        }));
        await t.test('watch: goes on behind an event', () => fresh({}, async id => {
                let last = 'none';
                const take = async count => {
                        const heard = [];
                        for await (const e of client.watch({ id, last_event_id: last })) {
                                heard.push(e.event);
                                last = e.event_id;
                                if (heard.length === count)
                                        return heard;
                        }
                };
                assert.deepEqual(await take(1), ['missed']);
                await client.exec(id, { argv: ['true'] });
                assert.deepEqual(await take(1), ['started']);
                assert.deepEqual(await take(2), ['exec-started', 'exec-ended']);
        }));
        await t.test('TCP: nothing without the token, everything with it', async () => {
                const bare = new CarrelClient({ url: daemon.url }), full = new CarrelClient({ url: daemon.url, token: daemon.token });
                await assert.rejects(bare.list(), e => e instanceof CarrelError && e.status === 401 && e.hint.length > 0);
                const { id } = await full.create({});
                assert.equal((await full.exec(id, { argv: ['echo', 'over TCP'] })).stdout, 'over TCP\n');
                assert.equal(await full.stop(id), true);
        });
        await t.test('tokens: made, listed without value, revoked', async () => {
                const { id, token } = await client.createToken({ scope: 'all' });
                const other = new CarrelClient({ url: daemon.url, token });
                assert.deepEqual(await other.list(), []);
                const listed = (await client.tokens()).find(x => x.id === id);
                assert.equal(JSON.stringify(listed).includes(token), false);
                assert.equal(await client.revokeToken(id), true);
                await assert.rejects(other.list(), { status: 401 });
        });
        await t.test('errors: code, place, message and hint', async () => {
                await assert.rejects(client.create({ manifest: { provider: 'local', config: {}, limits: { timeout_ms: 'soon' } } }), e => {
                        assert.ok(e instanceof CarrelError);
                        assert.deepEqual([e.status, e.code, e.path], [422, 'sandbox_schema_invalid', 'limits/timeout_ms']);
                        assert.ok(e.message.length > 0 && e.hint.length > 0);
                        return true;
                });
                await assert.rejects(client.create({ manifest: '---\nprovider: local\nconfig: {}\n  bad: [\n---\n' }), e => e.code === 'sandbox_manifest_syntax' && e.line > 0);
        });
        await t.test('an argument that no operation has is sent, so that the daemon can refuse it', async () => {
                await assert.rejects(client.create({ nmae: 'x' }), e => e.code === 'invalid_argument' && e.path === 'nmae' && /did you mean name/.test(e.message));
                await assert.rejects(client.listPage({ limti: 5 }), e => e.code === 'invalid_argument' && e.path === 'limti');
        });
        await t.test("page: the package's own example", async () => {
                const file = path.join(BUILD, `page-client-${process.pid}.mjs`);
                fs.writeFileSync(file, `${block_of('sdk/typescript/README.md', 'js')}\nconsole.log(JSON.stringify([stdout, exit_code]))`);
                try {
                        const r = await program(NODE, [file], { env: { CARREL_STATE: daemon.state } });
                        assert.deepEqual([r.stderr, r.stdout], ['', '1\n2\n3\n["hello\\n",0]\n']);
                } finally {
                        fs.rmSync(file);
                }
        });
}

await run(t => with_daemon(['--listen', '127.0.0.1:0'], async d => {
        daemon = d;
        client = d.client;
        await t.test('every operation that the daemon lists has a method', async () => {
                const { paths } = await (await fetch(`${d.url}/v1/openapi.json`, { headers: { authorization: `Bearer ${d.token}` } })).json();
                const listed = Object.values(paths).flatMap(p => Object.values(p).map(o => o.operationId));
                assert.deepEqual(listed.filter(name => !METHODS[name] && !NOT_METHODS.includes(name)), []);
                assert.deepEqual(Object.keys(METHODS).filter(name => !listed.includes(name)), []);
                for (const method of Object.values(METHODS))
                        assert.equal(typeof client[method], 'function', method);
        });
        await execs(t);
        await limits(t);
        await files(t);
        await daemons(t);
}));
