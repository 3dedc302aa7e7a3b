#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mcp_clients_test.mjs - the MCP clients that people use, unmodified, over stdio and over HTTP: the SDK v1, the client v2 in its three modes,
 * and the inspector's command line.
 *
 * weight: 2: each start of the inspector takes half a second of a processor
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';
import { Readable } from 'node:stream';

import * as v2 from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { BUILD, CARREL, DEEP, NODE, program, run, until, with_daemon } from './rig.mjs';

const EXECUTE = 'mastra_workspace_execute_command';
const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
let daemon, box;

// client, version it speaks in the end, and how it is made.
const CLIENTS = [
        ['SDK v1', LEGACY, () => new ClientV1({ name: 'v1', version: '1' })],
        ['client v2, legacy', LEGACY, () => new v2.Client({ name: 'v2', version: '1' })],
        ['client v2, auto', MODERN, () => new v2.Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } })],
        ['client v2, pinned', MODERN, () => new v2.Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: { pin: MODERN } } })],
];

const stdio = () => ({ command: CARREL, args: ['mcp', '--state', daemon.state, '--sandbox', 'mcp'], stderr: 'inherit' });
const headers = () => ({ authorization: `Bearer ${daemon.token}` });
const WAYS = [
        ['stdio', client => client instanceof ClientV1 ? new StdioV1(stdio()) : new StdioV2(stdio())],
        ['HTTP', client => new (client instanceof ClientV1 ? HttpV1 : v2.StreamableHTTPClientTransport)(new URL(`${daemon.url}/mcp?sandbox=mcp`), { requestInit: { headers: headers() } })],
];

// callTool of both packages: the older takes a schema in the middle.
function call(client, name, args, options) {
        const params = { name, arguments: args };
        return client instanceof ClientV1 ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

const text_of = r => r.content.map(c => c.text).join('');
const runs = async word => (await daemon.client.execs(box)).some(e => e.state === 'running' && e.command.includes(word));

async function speaks(t, name, version, client) {
        await t.test(`${name}: speaks ${version}`, () => {
                assert.equal(client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? LEGACY, version);
                assert.equal(client.getServerVersion().name, 'carrel');
                assert.ok(client.getServerCapabilities().tools);
                assert.ok(client.getInstructions()?.length > 0);
        });
        await t.test(`${name}: lists the tools, in one order, with hints`, async () => {
                const a = (await client.listTools()).tools, b = (await client.listTools()).tools;
                assert.deepEqual(a.map(x => x.name), b.map(x => x.name));
                const by = new Map(a.map(x => [x.name, x]));
                assert.equal(by.get(EXECUTE).annotations.destructiveHint, true);
                assert.equal(by.get('sandbox_list').annotations.readOnlyHint, true);
                assert.ok(by.get('exec').outputSchema);
        });
        await t.test(`${name}: calls a tool`, async () => assert.equal(text_of(await call(client, EXECUTE, { command: 'echo hello' })), 'hello\n'));
        await t.test(`${name}: a command that fails is a result, not a protocol error`, async () =>
                assert.equal(text_of(await call(client, EXECUTE, { command: 'echo said; exit 3' })), 'said\n\nExit code: 3'));
        await t.test(`${name}: structured content fits its schema, and stands beside the text`, async () => {
                // Both clients validate it against the schema they were told in tools/list.
                const r = await call(client, 'exec', { command: 'echo structured; exit 2' });
                assert.equal(r.structuredContent.stdout, 'structured\n');
                assert.deepEqual([r.structuredContent.exit_code, r.structuredContent.outcome], [2, 'exited']);
                assert.deepEqual(JSON.parse(text_of(r)), r.structuredContent);
        });
        await t.test(`${name}: a tool that cannot is isError, with code and hint`, async () => {
                const r = await call(client, 'read_file', { path: '/no/such/file' });
                assert.equal(r.isError, true);
                assert.match(text_of(r), /file_not_found/);
        });
        await t.test(`${name}: a tool that is not there is a protocol error`, () => assert.rejects(call(client, 'no_such_tool', {})));
        await t.test(`${name}: progress streams the output`, async () => {
                const heard = [];
                const r = await call(client, EXECUTE, { command: 'echo one; sleep 0.3; echo two' }, { onprogress: p => heard.push(p) });
                assert.equal(text_of(r), 'one\ntwo\n');
                assert.ok(heard.some(p => p.message?.includes('one')), JSON.stringify(heard));
                assert.deepEqual(heard.map(p => p.progress), [...heard.map(p => p.progress)].sort((x, y) => x - y));
        });
        await t.test(`${name}: cancellation kills the tree`, async () => {
                const c = new AbortController();
                const word = `sleep 8${Math.floor(Math.random() * 1e6)}`;
                const end = call(client, EXECUTE, { command: `${word} & wait` }, { signal: c.signal });
                end.catch(() => {});
                await until('it runs', () => runs(word));
                c.abort();
                await assert.rejects(end);
                await until('it is gone', async () => !await runs(word));
        });
        await t.test(`${name}: many calls at once`, async () => {
                const all = await Promise.all(Array.from({ length: 8 }, (_, i) => call(client, EXECUTE, { command: `echo ${i}` })));
                assert.deepEqual(all.map(text_of), all.map((_, i) => `${i}\n`));
        });
}

// fetch() over the daemon's unix socket, where no token is needed.
const unix_fetch = (url, init = {}) => new Promise((resolve, reject) => {
        const to = new URL(url), r = http.request({
                socketPath: daemon.socket, path: to.pathname + to.search, method: init.method ?? 'GET', signal: init.signal,
                headers: Object.fromEntries(new Headers(init.headers)),
        }, a => resolve(new Response(Readable.toWeb(a), { status: a.statusCode, headers: a.headers })));
        r.on('error', reject);
        r.end(init.body);
});

// A client of an earlier revision is asked on the stream of its POST; the older SDK names the question by its schema.
async function is_asked(t, name, make, Transport, question) {
        const manifest = { provider: 'local', config: {}, metadata: { carrel: { approve: ['exec'] } } };
        const { id } = await daemon.client.create({ manifest });
        const client = make({ capabilities: { elicitation: {} } }), asked = [];
        let answer;
        client.setRequestHandler(question, r => { asked.push(r.params); return answer; });
        await client.connect(new Transport(new URL(`http://localhost/mcp?sandbox=${id}`), { fetch: unix_fetch }));
        answer = { action: 'accept', content: { approve: true } };
        await t.test(`${name} over HTTP: is asked, and its yes runs the command`, async () => {
                const r = await call(client, 'exec', { command: 'echo approved' });
                assert.equal(r.structuredContent?.stdout, 'approved\n', JSON.stringify(r));
                assert.match(asked[0].message, /command: echo approved/);
        });
        answer = { action: 'decline' };
        await t.test(`${name} over HTTP: its no denies`, async () => {
                const r = await call(client, 'exec', { command: 'echo denied' });
                assert.equal(r.isError, true);
                assert.match(text_of(r), /approval_denied/);
                assert.equal(asked.length, 2);
        });
        await client.close();
}

// By default each of its eras lists over one way and calls over the other; it starts anew for each.
async function inspector(t, way, target) {
        const does = { list: DEEP || way === 'stdio', call: DEEP || way === 'HTTP' };
        const cli = path.join(BUILD, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
        const home = fs.mkdtempSync(path.join(daemon.folder, 'inspector-'));
        const ask = async (...more) => {
                const r = await program(NODE, [cli, '--cli', ...target, '--format', 'json', ...more], { env: { HOME: home } });
                assert.equal(r.status, 0, r.stderr + r.stdout);
                return JSON.parse(r.stdout);
        };
        for (const era of ['legacy', 'auto', 'modern']) {
                if (does.list) await t.test(`inspector over ${way}, ${era}: lists tools`, async () => {
                        const said = JSON.stringify(await ask('--protocol-era', era, '--method', 'tools/list'));
                        assert.match(said, new RegExp(EXECUTE));
                });
                if (does.call) await t.test(`inspector over ${way}, ${era}: calls a tool`, async () => {
                        const said = JSON.stringify(await ask('--protocol-era', era, '--method', 'tools/call', '--tool-name', EXECUTE, '--tool-arg', 'command=echo inspected'));
                        assert.match(said, /inspected\\n/);
                });
        }
}

await run(t => with_daemon(['--listen', '127.0.0.1:0'], async d => {
        daemon = d;
        box = (await d.client.create({ name: 'mcp' })).id;
        for (const [way, transport] of WAYS)
                for (const [name, version, make] of CLIENTS) {
                        const client = make();
                        let is_up = false;
                        await t.test(`${name} over ${way}: connects`, async () => { await client.connect(transport(client)); is_up = true; });
                        if (is_up)
                                await speaks(t, `${name} over ${way}`, version, client);
                        await client.close();
                }
        await is_asked(t, 'SDK v1', o => new ClientV1({ name: 'v1', version: '1' }, o), HttpV1, ElicitRequestSchema);
        await is_asked(t, 'client v2, legacy', o => new v2.Client({ name: 'v2', version: '1' }, o), v2.StreamableHTTPClientTransport, 'elicitation/create');
        const { command, args } = stdio();
        await inspector(t, 'stdio', [command, ...args]);
        await inspector(t, 'HTTP', [`${d.url}/mcp?sandbox=mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${d.token}`]);
}));
