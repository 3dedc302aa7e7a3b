#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * osp_test.mjs - OSP's nine methods against a real daemon, and the examples of docs/OSP.md as they stand there.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { CarrelOsp } from 'carrel-sandbox/osp';

import { block_of, BUILD, NODE, program, run, until, with_daemon } from './rig.mjs';

let daemon;
let pages = 0;
// A Node 24 with tsx, as an operator has one (test/npm/setup makes it), below a directory that the host file names. Interpreters are asked for
// their version as nobody, who does not get into a tree beneath /root: then it is a copy.
function templates() {
        for (let at = BUILD; at !== '/'; at = path.dirname(at))
                if ((fs.statSync(at).mode & 1) === 0 && process.getuid() === 0) {
                        const copy = fs.mkdtempSync('/opt/carrel-npm-');
                        fs.chmodSync(copy, 0o755);
                        fs.cpSync(path.join(BUILD, 'node24'), path.join(copy, 'node24'), { recursive: true, verbatimSymlinks: true });
                        return { root: copy, fini: () => fs.rmSync(copy, { recursive: true }) };
                }
        return { root: BUILD, fini: () => {} };
}

function host_file(root) {
        const file = path.join(fs.mkdtempSync(path.join(BUILD, 'host-')), 'host.yaml');
        fs.writeFileSync(file, `providers: {local: {isolated: true, pause: true, egress: closed}}\ntool_roots: ['${root}']\n`);
        return file;
}

// Runs blocks of the page one after another as one program, with `more` at its end; answers what it printed, as JSON lines.
async function page(blocks, more) {
        const file = path.join(BUILD, `page-${process.pid}-${pages++}.mjs`);
        fs.writeFileSync(file, [...blocks.map(([language, nth]) => block_of('docs/OSP.md', language, nth)), more].join('\n'));
        try {
                const r = await program(NODE, [file], { env: { CARREL_STATE: daemon.state } });
                assert.equal(r.status, 0, r.stderr);
                return r.stdout.trim().split('\n').map(line => JSON.parse(line));
        } finally {
                fs.rmSync(file);
        }
}

async function examples(t) {
        await t.test('example: create a sandbox and run code', async () => {
                const [result] = await page([['js', 0], ['ts', 0]], 'console.log(JSON.stringify(result)); await sandbox.stop(entry.id)');
                assert.deepEqual([result.stdout, result.stderr, result.exitCode], ['hello from sandbox\n', '', 0]);
        });
        await t.test('example: expose a web server', async () => {
                const [said] = await page([['js', 0], ['ts', 1]], `
                        const answer = await fetch(url);
                        const refused = await fetch(new URL('/', url));
                        console.log(JSON.stringify({ url, text: await answer.text(), refused: refused.status }));
                        await sandbox.stop(entry.id)`);
                assert.equal(said.text, 'ok');
                assert.equal(said.refused, 403);
                assert.match(said.url, /^http:\/\/127\.0\.0\.1:[0-9]+\//);
        });
        await t.test('example: extend timeout for long-running tasks', async () => {
                const [after] = await page([['js', 0], ['ts', 2]], 'console.log(JSON.stringify(await sandbox.get(entry.id)))');
                assert.equal(after, null);
        });
        await t.test('example: what OSP has no word for', async () => {
                const [entry, stdout, metadata, list] = await page([['js', 0], ['js', 1]], `
                        for (const x of [entry, stdout, metadata, await sandbox.client.execs(entry.id)]) console.log(JSON.stringify(x));
                        await sandbox.stop(entry.id)`);
                assert.equal(entry.metadata.ticket, 4711);
                assert.equal(entry.metadata.carrel.name, 'build-4711');
                assert.equal(stdout, 'typed');
                assert.deepEqual([metadata.outcome, metadata.running], ['exited', false]);
                assert.equal(list.filter(e => e.state === 'running').length, 1);
        });
}

// A sandbox for the body, gone afterwards.
async function fresh(osp, config, body) {
        const entry = await osp.create(config);
        try {
                return await body(entry);
        } finally {
                await osp.stop(entry.id);
        }
}

async function methods(t, osp) {
        await t.test('create: the entry has id, status and createdAt', () => fresh(osp, { timeout: 90_000 }, e => {
                assert.match(e.id, /^[a-z0-9][a-z0-9_.-]{0,63}$/);
                assert.ok(['pending', 'running'].includes(e.status));
                assert.ok(Math.abs(e.createdAt - Date.now()) < 60_000);
                assert.ok(e.timeout > 30_000 && e.timeout <= 90_000);
        }));
        await t.test('create: metadata comes back as it was', () => fresh(osp, { metadata: { a: [1, { b: null }], c: 'ü' } }, async e => {
                const { carrel, ...rest } = (await osp.get(e.id)).metadata;
                assert.deepEqual(rest, { a: [1, { b: null }], c: 'ü' });
        }));
        await t.test('create: a runtime that is not here is an error that lists those that are', async () => {
                const { runtimes } = await osp.client.info();
                assert.ok(runtimes.includes('node24'), runtimes.join());
                await assert.rejects(osp.create({ runtime: 'node4' }), e => {
                        assert.equal(e.code, 'runtime_unknown');
                        assert.match(`${e.message} ${e.hint}`, /node24/);
                        return true;
                });
        });
        await t.test('create: runtime picks the interpreter', async () => {
                for (const [runtime, command, wanted] of [['node24', 'node', /^v24\./], ['python3', 'python3', /^Python 3\./]])
                        await fresh(osp, { runtime }, async e => assert.match((await osp.exec(e.id, command, ['--version'])).stdout, wanted));
        });
        await t.test('create: env is seen by every command', () => fresh(osp, { env: { GREETING: 'hello world' } }, async e =>
                assert.equal((await osp.exec(e.id, 'printenv', ['GREETING'])).stdout, 'hello world\n')));
        await t.test('get: null where there is none', async () => assert.equal(await osp.get('no-such-sandbox'), null));
        await t.test('list: has what was created, and no more what was stopped', async () => {
                const id = await fresh(osp, {}, async e => {
                        assert.ok((await osp.list()).some(x => x.id === e.id));
                        return e.id;
                });
                assert.equal((await osp.list()).some(x => x.id === id), false);
        });
        await t.test('stop: says whether it existed', async () => {
                const e = await osp.create();
                assert.equal(await osp.stop(e.id), true);
                assert.equal(await osp.stop(e.id), false);
                assert.equal(await osp.stop('no-such-sandbox'), false);
        });
        await t.test('exec: exit code and both streams', () => fresh(osp, {}, async e => {
                const r = await osp.exec(e.id, 'sh', ['-c', 'echo out; echo err >&2; exit 3']);
                assert.deepEqual([r.exitCode, r.stdout, r.stderr], [3, 'out\n', 'err\n']);
                assert.equal((await osp.get(e.id)).status, 'running');
        }));
        await t.test('exec: arguments are no shell words', () => fresh(osp, {}, async e =>
                assert.equal((await osp.exec(e.id, 'printf', ['[%s]', '$HOME', 'a b', ''])).stdout, '[$HOME][a b][]')));
        await t.test('exec: a command that is not there is 127', () => fresh(osp, {}, async e => {
                const r = await osp.exec(e.id, 'no-such-command-at-all');
                assert.equal(r.exitCode, 127);
                assert.match(r.stderr, /no-such-command-at-all/);
        }));
        await t.test('exec: a timeout of its own is 124', () => fresh(osp, {}, async e => {
                const r = await osp.exec(e.id, 'sleep', ['60'], { timeout: 100 });
                assert.deepEqual([r.exitCode, r.metadata.outcome], [124, 'timed_out']);
        }));
        await t.test('exec: in a sandbox with ports it answers when one listens, and the command goes on', () => fresh(osp, { ports: [4000, 4001] }, async e => {
                const r = await osp.exec(e.id, 'python3', ['-m', 'http.server', '4000']);
                assert.equal(r.metadata.running, true);
                const url = await osp.getUrl(e.id, 4000);
                assert.equal((await fetch(url)).status, 200);
                // A port that listened before is not this command's doing: it is waited for to its end, or for a port of its own.
                assert.equal((await osp.exec(e.id, 'sh', ['-c', 'sleep 0.3; exit 5'])).exitCode, 5);
                const second = await osp.exec(e.id, 'python3', ['-m', 'http.server', '4001']);
                assert.equal(second.metadata.running, true);
                assert.equal((await fetch(await osp.getUrl(e.id, 4001))).status, 200);
        }));
        await t.test('readFile and writeFiles: what was written is read', () => fresh(osp, {}, async e => {
                await osp.writeFiles(e.id, [{ path: 'a.txt', content: 'ä\n' }, { path: 'deep/er/b.txt', content: '' }]);
                assert.equal(await osp.readFile(e.id, 'a.txt'), 'ä\n');
                assert.equal(await osp.readFile(e.id, 'deep/er/b.txt'), '');
                assert.equal((await osp.exec(e.id, 'cat', ['a.txt'])).stdout, 'ä\n');
        }));
        await t.test('writeFiles: none, many small ones, every character', () => fresh(osp, {}, async e => {
                await osp.writeFiles(e.id, []);
                await osp.writeFiles(e.id, Array.from({ length: 1500 }, (_, i) => ({ path: `many/${i}`, content: `${i}` })));
                assert.equal((await osp.exec(e.id, 'sh', ['-c', 'ls many | wc -l; cat many/1499'])).stdout, '1500\n1499');
                await osp.writeFiles(e.id, [{ path: 'a b/ü\u{1f600}', content: 'a\0b\u{1f600}' }]);
                assert.equal(await osp.readFile(e.id, 'a b/ü\u{1f600}'), 'a\0b\u{1f600}');
                assert.equal((await osp.exec(e.id, 'wc', ['-c'], { stdin: 'a\0ä' })).stdout, '4\n');
        }));
        await t.test('a word that no sandbox and no port can be called is one that is not there', async () => {
                for (const id of ['', '..', 'Ü', 'a/b', 'x'.repeat(300)]) {
                        assert.deepEqual([await osp.get(id), await osp.stop(id), await osp.readFile(id, 'x'), await osp.getUrl(id, 80)], [null, false, null, null]);
                        await assert.rejects(osp.exec(id, 'true'), { code: 'sandbox_not_found' });
                }
                await fresh(osp, { ports: [3000] }, async e => {
                        for (const port of [0, -1, 65536, 1.5, NaN])
                                assert.equal(await osp.getUrl(e.id, port), null);
                });
        });
        await t.test('readFile: null where there is no file, or no sandbox', () => fresh(osp, {}, async e => {
                assert.equal(await osp.readFile(e.id, 'nothing.txt'), null);
                assert.equal(await osp.readFile('no-such-sandbox', 'nothing.txt'), null);
        }));
        await t.test('getUrl: null for a port that was not declared, and where there is no sandbox', () => fresh(osp, { ports: [3000] }, async e => {
                assert.match(await osp.getUrl(e.id, 3000), /^http/);
                assert.equal(await osp.getUrl(e.id, 3001), null);
                assert.equal(await osp.getUrl('no-such-sandbox', 3000), null);
        }));
        await t.test('extendTimeout: adds', () => fresh(osp, { timeout: 60_000 }, async e => {
                await osp.extendTimeout(e.id, 60_000);
                const { timeout } = await osp.get(e.id);
                assert.ok(timeout > 60_000 && timeout <= 120_000, String(timeout));
        }));
        await t.test('timeout: what is left goes on over a restart', () => fresh(osp, { timeout: 300_000 }, async e => {
                const before = (await osp.get(e.id)).timeout;
                await daemon.stop('SIGKILL');
                await daemon.start();
                const { timeout } = await osp.get(e.id);
                assert.ok(timeout < before && timeout > before - 120_000, `${timeout} after ${before}`);
        }));
        await t.test('timeout: it is gone when its time is over', async () => {
                const e = await osp.create({ timeout: 300 });
                await until('it is gone', async () => { const x = await osp.get(e.id); return x === null || x.status === 'stopped'; });
        });
}

async function halves(t, osp) {
        await t.test('context() and actions() do their half', () => fresh(osp, {}, async e => {
                assert.equal((await osp.context().get(e.id)).id, e.id);
                assert.equal((await osp.actions().exec(e.id, 'echo', ['done'])).stdout, 'done\n');
        }));
        await t.test('a read-only token sees get and list, and nothing else', () => fresh(osp, {}, async e => {
                const { token } = await osp.client.createToken({ scope: 'read' });
                const reader = new CarrelOsp({ socket: daemon.socket, token });
                assert.equal((await reader.get(e.id)).id, e.id);
                assert.ok((await reader.list()).length > 0);
                for (const attempt of [() => reader.create(), () => reader.stop(e.id), () => reader.client.exec(e.id, { argv: ['true'] }), () => reader.client.readFile(e.id, '/etc/passwd'),
                        () => reader.extendTimeout(e.id, 1000), () => reader.client.writeFiles(e.id, [{ path: 'x', content: '' }]), () => reader.client.instructions(e.id)])
                        await assert.rejects(attempt, { name: 'CarrelError', status: 403 });
        }));
        await t.test('without a daemon the error says how to start one', async () => {
                await assert.rejects(new CarrelOsp({ socket: '/nowhere/carrel.sock' }).list(), e => e.code === 'daemon_unreachable' && /carrel serve/.test(e.hint));
        });
}

const { root, fini } = templates();
const file = host_file(root);
process.on('exit', () => { fs.rmSync(path.dirname(file), { recursive: true }); fini(); });

await run(t => with_daemon(['--host', file], async d => {
        daemon = d;
        const osp = new CarrelOsp({ socket: d.socket });
        await examples(t);
        await methods(t, osp);
        await halves(t, osp);
}));
