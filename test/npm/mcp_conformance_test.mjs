#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mcp_conformance_test.mjs - the MCP conformance suite against /mcp. What is expected to fail stands in mcp_conformance.yml, each line with
 * its reason; a line whose scenario passes fails the test as well.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';

import { BUILD, NODE, program, run, TREE, with_daemon } from './rig.mjs';

const SUITE = path.join(BUILD, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const BASELINE = path.join(TREE, 'test/npm/mcp_conformance.yml');

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

function expected() {
        const lines = fs.readFileSync(BASELINE, 'utf8').split('\n').filter(l => /^\s+- /.test(l));
        return lines.map(l => l.match(/^\s+- (\S+)\s*(#\s*(.*))?$/)).map(m => ({ name: m[1], reason: m[3] ?? '' }));
}

await run(async t => {
        await t.test('every expected failure has its reason', () => {
                for (const { name, reason } of expected())
                        assert.ok(reason.length > 20, name);
        });
        await with_daemon(['--listen', '127.0.0.1:0'], async d => {
                await d.client.create({ name: 'conformance' });
                await with_token(d, async url => {
                        const out = path.join(d.folder, 'results');
                        const r = await program(NODE, [SUITE, 'server', '--url', `${url}/mcp?sandbox=conformance`, '--suite', 'all', '--expected-failures', BASELINE, '-o', out], { patience: 800_000 });
                        const failing = new Set(expected().map(e => e.name));
                        const passed = new Set([...r.stdout.matchAll(/^\s*[✓✔]\s+(\S+?):/gm)].map(m => m[1]));
                        for (const name of ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])
                                await t.test(`conformance: ${name}`, () => {
                                        assert.equal(failing.has(name), false);
                                        assert.ok(passed.has(name), r.stdout);
                                });
                        await t.test('conformance: nothing fails that is not expected, and nothing passes that is', () => assert.equal(r.status, 0, (r.stdout + r.stderr).split('Total:').at(-1)));
                });
        });
});
