#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * agentskit_test.mjs - carrel-sandbox/agentskit against a real daemon: SandboxBackend, its errors, and the policy in both forms.
 *
 * The registry has no @agentskit packages: @agentskit/sandbox, tools and runtime below are stand-ins of their published interface,
 * made here. The examples of AgentsKit's page are the blocks of docs/AGENTSKIT.md, run as they are.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { CarrelClient } from 'carrel-sandbox';
import { carrelBackend, createMandatorySandbox, createSandbox, memoryMb, SandboxError } from 'carrel-sandbox/agentskit';

import { block_of, CARREL, run, with_daemon } from './rig.mjs';

const is_shown = name => ['/usr/local/bin', '/usr/bin', '/bin'].some(d => fs.existsSync(path.join(d, name)));
const refused = code => e => e instanceof SandboxError && e.code === code && (e.hint ?? '') !== undefined;
let daemon, place;

async function with_backend(options, body) {
        const backend = carrelBackend({ socket: daemon.socket, ...options });
        try {
                return await body(backend);
        } finally {
                await backend.dispose();
        }
}

async function execution(t) {
        await t.test('execute gives stdout, stderr, exitCode and durationMs, in each language', () => with_backend({}, async b => {
                const rows = [['python', "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"], ['shell', 'echo out; echo err >&2; exit 3'], ['bash', 'echo out; echo err >&2; exit 3']];
                if (is_shown('node'))
                        rows.push([undefined, "console.log('out'); console.error('err'); process.exitCode = 3"], ['javascript', "console.log('out'); console.error('err'); process.exit(3)"]);
                for (const [language, code] of rows) {
                        const { durationMs, ...rest } = await b.execute(code, { language });
                        assert.deepEqual(rest, { stdout: 'out\n', stderr: 'err\n', exitCode: 3, outcome: 'exited' }, language);
                        assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
                }
                assert.deepEqual((await b.execute('', { language: 'python' })).exitCode, 0);
        }));
        await t.test('text comes as it is printed, in whole characters', () => with_backend({ language: 'python' }, async b => {
                const heard = [];
                const code = "import os, sys, time\nfor b in 'é€😀\\n'.encode(): os.write(1, bytes([b])); time.sleep(0.01)\nos.write(2, b'e')";
                const r = await b.execute(code, { onStdout: s => heard.push(s), onStderr: s => heard.push(s) });
                assert.equal(r.stdout, 'é€😀\n');
                assert.equal(heard.join(''), 'é€😀\ne');
                assert.ok(heard.every(s => !s.includes('\ufffd')));
        }));
        await t.test('standard input, environment, directory; files stay from call to call', () => with_backend({ language: 'shell' }, async b => {
                assert.equal((await b.execute('cat; echo $A; pwd; echo kept >/tmp/kept', { stdin: 'in\n', env: { A: 'a b' }, cwd: '/tmp' })).stdout, 'in\na b\n/tmp\n');
                assert.equal((await b.execute('cat /tmp/kept')).stdout, 'kept\n');
        }));
        await t.test('a timeout kills everything: 124, and a sentence', () => with_backend({ language: 'shell' }, async b => {
                const r = await b.execute('echo before; setsid sleep 1000 & sleep 1000', { timeout: 500 });
                assert.deepEqual([r.stdout, r.exitCode, r.outcome, r.stderr], ['before\n', 124, 'timed_out', 'Sandbox execution timed out after 500ms\n']);
                assert.equal((await b.execute('cat /proc/[0-9]*/comm | grep -c sleep')).stdout, '0\n');
        }));
        await t.test('a timeout above 30 s is taken', () => with_backend({ language: 'shell', timeout: 700_000 }, async b => assert.equal((await b.execute('echo ok')).stdout, 'ok\n')));
        await t.test('aborting kills the code', () => with_backend({ language: 'shell' }, async b => {
                const stop = new AbortController();
                await assert.rejects(b.execute('echo on; sleep 1000', { signal: stop.signal, onStdout: () => stop.abort() }));
                assert.equal((await b.execute('cat /proc/[0-9]*/comm | grep -c sleep')).stdout, '0\n');
        }));
        await t.test('output above maxOutputBytes is dropped, and standard error says so', () => with_backend({ language: 'python', maxOutputBytes: 1000 }, async b => {
                const r = await b.execute("print('x' * 100000)");
                assert.deepEqual([r.stdout.length, r.stderr, r.exitCode], [1000, '[output truncated at 1000 bytes]\n', 0]);
        }));
        await t.test('calls at once share one sandbox', () => with_backend({ language: 'shell' }, async b => {
                const before = (await daemon.client.list()).length;
                const all = await Promise.all(Array.from({ length: 8 }, (_, i) => b.execute(`echo ${i}`)));
                assert.deepEqual(all.map(r => r.stdout), Array.from({ length: 8 }, (_, i) => `${i}\n`));
                assert.equal((await daemon.client.list()).length, before + 1);
        }));
}

async function limits(t) {
        const socket_to = (host, port) => `import socket\ntry: socket.create_connection((${JSON.stringify(host)}, ${port}), 10); print('open')\nexcept OSError as e: print(e.errno)`;

        await t.test('no network by default; network: true without hosts is denied', () => with_backend({ language: 'python' }, async b => {
                assert.equal((await b.execute(socket_to('192.0.2.1', 80))).stdout, '101\n');
                await assert.rejects(b.execute('', { network: true }), refused('AK_SANDBOX_DENIED'));
                assert.throws(() => carrelBackend({ network: true }), refused('AK_SANDBOX_DENIED'));
        }));
        await t.test('network: true is another sandbox, with the hosts that were named', () => with_backend({ language: 'python', egress: ['carrel.invalid'] }, async b => {
                const asks = name => `import socket\ntry: print(len(socket.getaddrinfo('${name}', 80)))\nexcept OSError as e: print('no')`;
                const seen = async () => new Map(await Promise.all((await daemon.client.list()).map(async x => [x.id, (await daemon.client.denials(x.id)).map(d => d.host).join()])));
                await b.execute(asks('other.invalid'), { network: true });
                await b.execute(asks('carrel.invalid'), { network: true });
                assert.deepEqual([...(await seen()).values()], ['other.invalid']);
                await b.execute(asks('carrel.invalid'));
                assert.deepEqual([...(await seen()).values()].sort(), ['carrel.invalid', 'other.invalid']);
        }));
        await t.test('memoryLimit is enforced, or it is a typed error', () => with_backend({ language: 'python', memoryLimit: '96mb' }, async b => {
                const made = await b.execute('print(1)').catch(e => e);
                if (made instanceof SandboxError) {
                        assert.equal(made.code, 'AK_SANDBOX_BACKEND_FAILED');
                        assert.match(made.message, /cannot enforce memoryLimit/);
                        return;
                }
                const r = await b.execute("x = bytearray(400 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('held')");
                assert.ok(r.exitCode !== 0 && !r.stdout.includes('held'), JSON.stringify(r));
                assert.equal((await b.execute('print(len(bytearray(10 << 20)))')).stdout, '10485760\n');
        }));
        await t.test('memoryLimit is read: units, and what is none', () => {
                for (const [text, mb] of [['512mb', 512], ['512MB', 512], ['1.5gb', 1536], ['64MiB', 64], ['2g', 2048], ['1048576', 1], ['100kb', 1], [' 50 MB ', 50]])
                        assert.equal(memoryMb(text), mb, text);
                for (const text of ['', 'mb', '-1mb', '0', '5xb', '1e3mb', 'Infinity', '9999999tb', '1mb; rm', null, {}])
                        assert.throws(() => memoryMb(text), refused('AK_CONFIG_INVALID'), String(text));
        });
}

async function failures(t) {
        await t.test('a missing interpreter, an unknown language, wrong options', () => with_backend({}, async b => {
                if (!is_shown('ruby'))
                        await assert.rejects(b.execute('1', { language: 'ruby' }), e => refused('AK_SANDBOX_PEER_MISSING')(e) && e.hint.includes('python') && e.cause.code === 'runtime_unknown');
                await assert.rejects(b.execute('1', { language: 'cobol' }), refused('AK_CONFIG_INVALID'));
                await assert.rejects(b.execute('1', { timeout: 0 }), refused('AK_CONFIG_INVALID'));
                await assert.rejects(b.execute('1', { timeout: 'x' }), refused('AK_CONFIG_INVALID'));
                await assert.rejects(b.execute(undefined), refused('AK_CONFIG_INVALID'));
                await assert.rejects(b.execute('#'.repeat(140000), { language: 'python' }), refused('AK_CONFIG_INVALID'));
                await assert.rejects(b.execute('a\0b', { language: 'python' }), refused('AK_CONFIG_INVALID'));
                assert.throws(() => carrelBackend({ timeout: -1 }), refused('AK_CONFIG_INVALID'));
        }));
        await t.test('without a daemon: AK_SANDBOX_PEER_MISSING', async () => {
                await assert.rejects(carrelBackend({ socket: path.join(place, 'none.sock') }).execute('1'), refused('AK_SANDBOX_PEER_MISSING'));
        });
        await t.test('a manifest that is read_only or wrong', async () => {
                await with_backend({ manifest: { provider: 'local', config: {}, read_only: true } }, b => assert.rejects(b.execute('1'), refused('AK_SANDBOX_DENIED')));
                await with_backend({ manifest: { provider: 'local', config: {}, mounds: [] } }, b => assert.rejects(b.execute('1'), refused('AK_CONFIG_INVALID')));
        });
        await t.test('dispose ends the sandboxes; a later call is AK_SANDBOX_BACKEND_FAILED', async () => {
                const before = (await daemon.client.list()).map(x => x.id), b = carrelBackend({ socket: daemon.socket, language: 'shell' });
                await b.execute('true');
                await b.dispose();
                await b.dispose();
                assert.deepEqual((await daemon.client.list()).map(x => x.id), before);
                await assert.rejects(b.execute('true'), refused('AK_SANDBOX_BACKEND_FAILED'));
        });
        await t.test('a sandbox that ended meanwhile is replaced', () => with_backend({ language: 'shell' }, async b => {
                const before = new Set((await daemon.client.list()).map(x => x.id));
                await b.execute('true');
                await daemon.client.stop((await daemon.client.list()).find(x => !before.has(x.id)).id);
                assert.equal((await b.execute('echo again')).stdout, 'again\n');
        }));
}

// -- the policy ---------------------------------------------------------------------------------------------------

const tool = (name, execute = async args => `${name} ${JSON.stringify(args)}`) => ({ name, description: name, execute });

async function code_form(t) {
        const sandbox = tool('code_execution', async () => 'in the sandbox');
        const events = [];
        const policy = { deny: ['delete'], allow: ['read', 'shell', 'delete'], requireSandbox: ['shell'], validators: { read: args => { if (args.path.includes('..')) throw new TypeError('no ..'); return false && 'x'; } }, onPolicyEvent: e => events.push(e) };
        const m = createMandatorySandbox({ sandbox, policy });

        await t.test("the code's form: deny, allow, requireSandbox, validators, events", async () => {
                await assert.rejects(m.wrap(tool('delete')).execute({}), e => refused('AK_SANDBOX_DENIED')(e) && e.message === 'Tool "delete" is denied by sandbox policy');
                await assert.rejects(m.wrap(tool('other')).execute({}), e => refused('AK_SANDBOX_DENIED')(e) && e.message === 'Tool "other" is not-in-allow-list by sandbox policy');
                assert.equal(await m.wrap(tool('shell')).execute({ command: 'ls' }), 'in the sandbox');
                await assert.rejects(m.wrap(tool('read')).execute({ path: '../x' }), TypeError);
                assert.deepEqual(events.map(e => [e.type, e.tool, e.reason]), [['deny', 'delete', 'denied'], ['deny', 'other', 'not-in-allow-list'], ['sandbox-required', 'shell', undefined], ['deny', 'read', 'validation-failed']]);
                assert.deepEqual([m.check('read').reason, m.check(tool('other')).type, createMandatorySandbox({ sandbox, policy: {} }).check('any').reason], ['explicit-allow', 'deny', 'not-restricted']);
                policy.deny.length = 0;
                policy.validators.shell = () => { throw new Error('late'); };
                assert.equal(m.check('delete').type, 'deny');
                assert.equal(await m.wrap(tool('shell')).execute({}), 'in the sandbox');
                const all = createMandatorySandbox({ sandbox, policy: { requireSandbox: '*' } });
                assert.equal(await all.wrap({ name: 'constructor' }).execute({}), 'in the sandbox');
        });
        await t.test('a validator refuses by a sentence or by throwing, in both forms', async () => {
                const says = { shell: args => args.cmd.length < 5 || 'command too long' }, throws = { shell: args => { if (args.cmd.length >= 5) throw new RangeError('command too long'); } };
                const sentence = e => refused('AK_SANDBOX_DENIED')(e) && e.message === 'Tool "shell": command too long';
                for (const [validators, of_code] of [[says, sentence], [throws, e => e instanceof RangeError]]) {
                        const code = createMandatorySandbox({ sandbox, policy: { validators } }).wrap(tool('shell'));
                        const [of_page] = createMandatorySandbox(tool('shell'), { validators }, { execute() {} }, { carrel: CARREL });
                        await assert.rejects(code.execute({ cmd: 'ls -la' }), of_code);
                        await assert.rejects(of_page.execute({ cmd: 'ls -la' }), sentence);
                        assert.equal(await code.execute({ cmd: 'ls' }), 'shell {"cmd":"ls"}');
                        assert.equal(await of_page.execute({ cmd: 'ls' }), 'shell {"cmd":"ls"}');
                }
        });
        await t.test('a tool that must run in the sandbox never runs itself, also without a daemon', async () => {
                const calls = [], own = tool('shell', async args => calls.push(args)), none = createSandbox({ socket: path.join(place, 'none.sock') });
                const [of_page] = createMandatorySandbox(own, { requireSandbox: ['shell'] }, none, { carrel: CARREL });
                const code = createMandatorySandbox({ sandbox: tool('code', ({ cmd }) => none.execute(cmd)), policy: { requireSandbox: ['shell'] } }).wrap(own);
                for (const wrapped of [of_page, code])
                        await assert.rejects(wrapped.execute({ cmd: 'ls' }), refused('AK_SANDBOX_PEER_MISSING'));
                assert.throws(() => createMandatorySandbox(own, { requireSandbox: ['shell'] }, undefined), refused('AK_CONFIG_INVALID'));
                assert.throws(() => createMandatorySandbox({ policy: { requireSandbox: ['shell'] } }), refused('AK_SANDBOX_INVALID_TOOL'));
                assert.deepEqual(calls, []);
        });
        await t.test('a tool without execute is AK_SANDBOX_INVALID_TOOL', () => {
                assert.throws(() => m.wrap({ name: 'read' }), refused('AK_SANDBOX_INVALID_TOOL'));
                assert.throws(() => createMandatorySandbox({ sandbox: { name: 'x' }, policy }), refused('AK_SANDBOX_INVALID_TOOL'));
                assert.throws(() => createMandatorySandbox({ name: 'x' }, {}, createSandbox({ backend: {} })), refused('AK_SANDBOX_INVALID_TOOL'));
                assert.throws(() => createMandatorySandbox(tool('x'), { allow: 'ls' }, { execute() {} }), refused('AK_CONFIG_INVALID'));
        });
}

// What the page's examples import. globalThis.calls has what reached a tool itself.
const STAND_INS = {
        '@agentskit/sandbox': `import * as ours from 'carrel-sandbox/agentskit';
                export const createSandbox = ({ apiKey, ...rest }) => ours.createSandbox({ client: globalThis.carrel, ...rest });
                export const createMandatorySandbox = ours.createMandatorySandbox;`,
        '@agentskit/tools': `const tool = name => ({ name, description: name, execute: async args => { globalThis.calls.push([name, args]); return 'unconfined'; } });
                export const shell = () => tool('shell');
                export const filesystem = () => [tool('fs_read'), tool('fs_write')];`,
        '@agentskit/runtime': `export const createRuntime = ({ tools, observers }) => {
                        globalThis.runtime = { call(name, args) {
                                const tool = tools.find(t => t.name === name);
                                for (const o of observers)
                                        o.on({ type: 'tool:start', name, args, metadata: tool.metadata });
                                return tool.execute(args);
                        } };
                };`,
};

function lay_out() {
        for (const [name, text] of Object.entries(STAND_INS)) {
                const folder = path.join(place, 'node_modules', name);
                fs.mkdirSync(folder, { recursive: true });
                fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name, type: 'module', exports: './index.js' }));
                fs.writeFileSync(path.join(folder, 'index.js'), text);
        }
}

// A block of the page, with lines before and after that a program around it would have.
async function example(nth, before, after) {
        const file = path.join(place, `example_${nth}.mts`);
        fs.writeFileSync(file, `${before}\n${block_of('docs/AGENTSKIT.md', 'ts', nth)}\n${after}\n`);
        return import(file);
}

async function page(t) {
        globalThis.carrel = new CarrelClient({ socket: daemon.socket });
        globalThis.calls = [];
        process.env.CARREL = CARREL;
        lay_out();

        await t.test("the page's first example runs Python", async () => {
                const { sandbox } = await example(0, '', 'export { sandbox };');
                assert.equal((await sandbox.execute('print(6 * 7)')).stdout, '42\n');
                await sandbox.dispose();
        });
        await t.test("the page's own backend is asked, with the defaults of a call", async () => {
                const { sandbox, myBackend } = await example(1, "import { createSandbox } from '@agentskit/sandbox'", 'export { sandbox, myBackend };');
                let got;
                assert.deepEqual(await sandbox.execute('x'), { stdout: '', stderr: '', exitCode: 0, durationMs: 0 });
                myBackend.execute = async (...words) => { got = words; };
                await sandbox.execute('x', { timeout: 5 });
                assert.deepEqual(got, ['x', { language: 'javascript', timeout: 5, network: false, memoryLimit: undefined, maxOutputBytes: undefined }]);
                await sandbox.dispose();
        });
        const { tools, sandbox } = await example(2, '', 'export { tools, policy, sandbox };');
        const call = (name, args) => tools.find(x => x.name === name).execute(args);

        await t.test("the page's policy, verbatim: a matrix of commands", async () => {
                const runs = [['ls -d /tmp', '/tmp\n'], ['ls -d /tmp | wc -l', '1\n'], ['cat /dev/null && ls -d /', '/\n'], ["grep -c root '/etc/passwd'", null], ['echo a | grep a', null]];
                const denies = ['rm -rf /', 'ls; rm x', 'ls $(rm x)', '/bin/rm x', "r''m x", 'r\\m x', '"rm" x', 'env rm x', 'xargs rm', 'sh -c "rm x"', 'ls | xargs -n1 rm', 'sudo ls', 'curl https://x', 'wget x', 'ssh host', 'perl -e 1',
                        '$(echo rm) x', '`rm x`', 'eval rm x', 'X=rm; $X y', './ls', 'cat <(rm x)', "$'\\x72m' x", 'ls > /tmp/x', 'find . -exec rm {} +', 'nohup rm x', 'ls\nrm x', 'ls &rm x', 'ls "', 'bash x', '/proc/self/root/bin/rm x', 'busybox rm x'];
                for (const [cmd, out] of runs) {
                        const r = await call('shell', { cmd }).catch(e => e);
                        if (out === null)               // echo and grep: judged, whatever they find
                                assert.ok(!(r instanceof SandboxError) || r.code === 'AK_SANDBOX_DENIED', cmd);
                        else
                                assert.deepEqual([r.stdout, r.exitCode], [out, 0], `${cmd}: ${r}`);
                }
                const results = await Promise.all(denies.map(cmd => call('shell', { cmd }).then(() => `${cmd}: it ran`, e => e.code === 'AK_SANDBOX_DENIED' ? null : `${cmd}: ${e}`)));
                assert.deepEqual(results.filter(x => x), []);
                await assert.rejects(call('shell', { cmd: `ls ${'a'.repeat(300)}` }), e => refused('AK_SANDBOX_DENIED')(e) && e.message.includes('command too long'));
                await assert.rejects(call('shell', { command: 'ls' }), refused('AK_SANDBOX_DENIED'));     // the page's validator reads args.cmd
                await assert.rejects(call('shell', {}), refused('AK_SANDBOX_DENIED'));
                assert.deepEqual(globalThis.calls, [], 'a tool that must sandbox ran itself');
        });
        await t.test('fs_write writes in the sandbox, fs_read is not in requireSandbox', async () => {
                assert.equal((await call('fs_write', { path: '/tmp/n o$te', content: 'a\n"b"\n' })).exitCode, 0);
                assert.equal((await sandbox.execute("cat '/tmp/n o$te'", { language: 'shell' })).stdout, 'a\n"b"\n');
                assert.ok(!fs.existsSync('/tmp/n o$te'));
                await assert.rejects(call('fs_write', { path: 'x' }), refused('AK_SANDBOX_DENIED'));
                assert.equal(await call('fs_read', { path: 'x' }), 'unconfined');
        });
        await t.test('without the program that judges, a command is AK_SANDBOX_PEER_MISSING; one that hangs or fails denies', async () => {
                const wrapped = carrel => createMandatorySandbox(tool('shell'), { allow: ['ls'], requireSandbox: '*' }, sandbox, { carrel })[0];
                await assert.rejects(wrapped(path.join(place, 'none')).execute({ cmd: 'ls' }), refused('AK_SANDBOX_PEER_MISSING'));
                await assert.rejects(wrapped('/bin/false').execute({ cmd: 'ls' }), refused('AK_SANDBOX_DENIED'));
                assert.equal((await wrapped(CARREL).execute({ cmd: 'ls -d /tmp' })).stdout, '/tmp\n');
        });
        await t.test("the page's observer sees calls that run in the sandbox", async () => {
                fs.writeFileSync(path.join(place, 'around.mjs'), 'export const adapter = null, tools = globalThis.tools;\n');
                globalThis.tools = tools;
                await example(3, "import { adapter, tools } from './around.mjs'", '');
                const said = [], log = console.log;
                console.log = line => said.push(line);
                try {
                        await globalThis.runtime.call('shell', { cmd: 'ls -d /tmp' });
                        await globalThis.runtime.call('fs_read', { path: 'x' });
                } finally {
                        console.log = log;
                }
                assert.deepEqual(said, ['[sandbox] shell → carrel']);
        });
        await sandbox.dispose();
}

await run(async t => {
        place = fs.mkdtempSync(path.join(os.tmpdir(), 'carrel-agentskit-'));
        try {
                await with_daemon([], async d => {
                        daemon = d;
                        await execution(t);
                        await limits(t);
                        await failures(t);
                        await code_form(t);
                        await page(t);
                });
        } finally {
                fs.rmSync(place, { recursive: true, force: true });
        }
});
