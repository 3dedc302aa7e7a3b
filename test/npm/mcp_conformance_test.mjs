#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mcp_conformance_test.mjs - both versions of the MCP conformance suite against /mcp: the shipped program, and a build for tests with the fixture
 * (src/mcp/fixture.h). What each scenario gives stands in mcp_conformance_table.mjs; a check more or less, passed or failed, fails the test, and so
 * does a scenario that a suite lists and the table does not.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';

import { NOT_RUN, RUNS } from './mcp_conformance_table.mjs';
import { BUILD, SWITCHES, NODE, program, run, with_daemon } from './rig.mjs';

const DIST = {
        '0.1.16': path.join(BUILD, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
        '0.2.0-alpha.12': path.join(BUILD, 'node_modules/conformance-alpha/dist/index.js'),
};
const MODERN = '2026-07-28';

// The suite cannot send a token: this puts it on every request, and its own port is the daemon's where a header names it.
async function with_token(daemon, body) {
        const to = new URL(daemon.url);
        const proxy = http.createServer((request, answer) => {
                const own = `:${proxy.address().port}`;
                const headers = [...request.rawHeaders.map(text => text.replaceAll(own, `:${to.port}`)), 'Authorization', `Bearer ${daemon.token}`];
                const onward = http.request({ host: to.hostname, port: to.port, method: request.method, path: request.url, headers, setHost: false }, from => {
                        answer.writeHead(from.statusCode, from.rawHeaders);
                        from.pipe(answer);
                });
                onward.on('error', () => answer.destroy());
                answer.on('close', () => onward.destroy());
                request.pipe(onward);
        });
        await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
        try {
                return await body(`http://localhost:${proxy.address().port}`);
        } finally {
                proxy.closeAllConnections();
                proxy.close();
        }
}

// The arguments of a run, and its suite.
function run_of(title) {
        const [version, revision] = title.split(', ');
        return { version, args: revision ? ['--requirements', revision] : ['--suite', 'all'] };
}

// scenario -> 'passed/failed/not judged', from the files that the suite leaves. A status that is none of these is no news.
function results_in(folder) {
        const found = {};
        for (const name of fs.readdirSync(folder)) {
                const checks = JSON.parse(fs.readFileSync(path.join(folder, name, 'checks.json'), 'utf8'));
                const count = (...kinds) => checks.filter(c => kinds.includes(c.status)).length;
                const counts = `${count('SUCCESS')}/${count('FAILURE')}/${count('WARNING', 'SKIPPED')}`;
                found[name.match(/^server-(.*)-\d{4}-\d\d-\d\dT/)[1]] = counts;
        }
        return found;
}

async function run_suites(t, d, url, kind, query) {
        for (const [title, rows] of Object.entries(RUNS))
                await t.test(`conformance ${title}, ${kind}: each scenario gives what the table says`, async () => {
                        const { version, args } = run_of(title);
                        const out = path.join(d.folder, `results-${title.replace(/\W+/g, '-')}`);
                        const at = `${url}/mcp?sandbox=conformance${query}`;
                        const r = await program(NODE, [DIST[version], 'server', '--url', at, ...args, '-o', out]);
                        assert.ok(fs.existsSync(out), r.stdout + r.stderr);
                        const column = kind === 'shipped' ? 0 : 1;
                        const table = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row[column]]));
                        assert.deepEqual(results_in(out), table);
                });
}

// One request without a session; the modern era says itself in _meta, and again in headers.
async function ask(url, is_modern, method, params, query = '') {
        const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
        const name = params.name ?? params.uri ?? params.taskId;
        if (is_modern) {
                params = { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientCapabilities': {} } };
                Object.assign(headers, { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method });
                if (name !== undefined)
                        headers['Mcp-Name'] = name;
        }
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
        const answer = await fetch(`${url}/mcp?sandbox=conformance${query}`, { method: 'POST', headers, body });
        return { status: answer.status, ...await answer.json() };
}

const PARAMS = { 'resources/read': { uri: 'test://static-text' }, 'prompts/get': { name: 'test_simple_prompt' } };
const TASK = { taskId: '1' };

async function refusals(t, url) {
        const every = [...Object.values(RUNS).flatMap(Object.values).map(row => row[2]), ...Object.values(NOT_RUN).flatMap(Object.values)];
        const methods = new Set(every.flatMap(why => why?.methods ?? [])), tools = new Set(every.flatMap(why => why?.tools ?? []));
        for (const is_modern of [false, true]) {
                const era = is_modern ? 'modern' : 'legacy';
                for (const method of methods)
                        await t.test(`not offered, ${era}: ${method} is -32601`, async () => {
                                const got = await ask(url, is_modern, method, PARAMS[method] ?? (method.startsWith('tasks/') ? TASK : {}));
                                assert.deepEqual([got.status, got.error?.code], [is_modern ? 404 : 200, -32601]);
                        });
                await t.test(`not offered, ${era}: tools of the suites are not listed, and a call is -32602`, async () => {
                        const listed = (await ask(url, is_modern, 'tools/list', {})).result.tools.map(tool => tool.name);
                        for (const name of tools) {
                                assert.ok(!listed.includes(name), name);
                                assert.equal((await ask(url, is_modern, 'tools/call', { name, arguments: {} })).error?.code, -32602, name);
                        }
                });
        }
        await t.test('not offered: the only capability is tools', async () => {
                const legacy = await ask(url, false, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } });
                assert.deepEqual(Object.keys(legacy.result.capabilities), ['tools']);
                assert.deepEqual(Object.keys((await ask(url, true, 'server/discover', {})).result.capabilities), ['tools']);
        });
}

await run(async t => {
        await t.test('the table: a row that does not pass whole has its reason', () => {
                for (const [title, rows] of Object.entries(RUNS))
                        for (const [name, [shipped, fixture, reason]] of Object.entries(rows)) {
                                const is_whole = [shipped, fixture].every(counts => /^[1-9]\d*\/0\/0$/.test(counts));
                                assert.ok(is_whole || (reason?.why.length > 20 && (reason.methods || reason.tools)), `${title}: ${name}`);
                        }
        });
        for (const [version, dist] of Object.entries(DIST))
                await t.test(`the table: every server scenario that ${version} lists is in it, and no other`, async () => {
                        const listed = (await program(NODE, [dist, 'list', '--server'])).stdout.matchAll(/^ {2}- (\S+)/gm);
                        const known = Object.entries(RUNS).filter(([title]) => run_of(title).version === version).flatMap(([, rows]) => Object.keys(rows));
                        assert.deepEqual([...listed].map(m => m[1]).sort(), [...new Set([...known, ...Object.keys(NOT_RUN[version])])].sort());
                });
        await with_daemon(['--listen', '127.0.0.1:0'], async d => {
                await d.client.create({ name: 'conformance' });
                await with_token(d, async url => {
                        await run_suites(t, d, url, 'shipped', '');
                        await refusals(t, url);
                        await t.test('the shipped program does not know the fixture', async () => {
                                const got = await ask(url, true, 'tools/list', {}, '&test_fixture=true');
                                assert.equal(got.status, 400);
                                assert.match(JSON.stringify(got), /test_fixture/);
                        });
                });
        });
        if (!fs.existsSync(SWITCHES)) {
                t.skip('conformance with the fixture', 'build-switches is not built');
                return;
        }
        await with_daemon(['--listen', '127.0.0.1:0'], async d => {
                await d.client.create({ name: 'conformance' });
                await with_token(d, async url => {
                        await run_suites(t, d, url, 'fixture', '&test_fixture=true');
                        await t.test('a build for tests offers the fixture to the request that asks for it alone', async () => {
                                const names = async query => (await ask(url, true, 'tools/list', {}, query)).result.tools.map(tool => tool.name);
                                assert.ok((await names('&test_fixture=true')).includes('test_simple_text'));
                                assert.ok(!(await names('')).includes('test_simple_text'));
                                assert.equal((await ask(url, true, 'prompts/list', {})).error?.code, -32601);
                        });
                });
        }, SWITCHES);
});
