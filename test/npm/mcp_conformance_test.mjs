#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mcp_conformance_test.mjs - the MCP conformance suite against /mcp. What is expected to fail stands in mcp_conformance.yml, each line with
 * its reason; a line whose scenario passes fails the test as well. So for the suite of the next version, in mcp_conformance_alpha.yml, by the
 * revision of the protocol: there each scenario says how many of its checks fail.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';

import { BUILD, NODE, program, run, TREE, with_daemon } from './rig.mjs';

const SUITE = path.join(BUILD, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const NEXT_SUITE = path.join(BUILD, 'node_modules/conformance-alpha/dist/index.js');
const NEXT_BASELINE = path.join(TREE, 'test/npm/mcp_conformance_alpha.yml');
const LEAST_PASSED = { '2025-11-25': 35, '2026-07-28': 96 };
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

// Of the next version's suite: revision -> (scenario -> [how many checks fail, why]).
function expected_next() {
        const revisions = new Map();
        for (const line of fs.readFileSync(NEXT_BASELINE, 'utf8').split('\n')) {
                const revision = line.match(/^(\d[\d-]+):$/), scenario = line.match(/^  - (\S+)\s+# (\d+): (.+)$/);
                if (revision)
                        revisions.set(revision[1], new Map());
                else if (scenario)
                        [...revisions.values()].at(-1).set(scenario[1], [Number(scenario[2]), scenario[3]]);
                else
                        assert.match(line, /^(#.*)?$/);
        }
        return revisions;
}

// What each revision requires, as it was when it was released. Every check that is expected to pass, passes; every other fails, as many as are said.
async function next_version(t, d, url) {
        for (const [revision, failing] of expected_next())
                await t.test(`conformance 0.2.0-alpha.12, ${revision}: what fails is what cannot apply`, async () => {
                        for (const [name, [, reason]] of failing)
                                assert.ok(reason.length > 20, name);
                        const r = await program(NODE, [NEXT_SUITE, 'server', '--url', `${url}/mcp?sandbox=conformance`, '--requirements', revision, '-o', path.join(d.folder, `results-${revision}`)], { patience: 800_000 });
                        const seen = new Map([...r.stdout.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)].map(m => [m[1], [Number(m[2]), Number(m[3])]]));
                        const failed = [...seen].filter(([, [, bad]]) => bad > 0).map(([name, [, bad]]) => `${name}: ${bad}`);
                        assert.deepEqual(failed.sort(), [...failing].map(([name, [bad]]) => `${name}: ${bad}`).sort(), r.stdout.split('Total:')[0]);
                        const passed = [...seen].reduce((sum, [, [good]]) => sum + good, 0);
                        assert.ok(passed >= LEAST_PASSED[revision], `${passed} checks pass`);
                        for (const name of ['tools-list', 'dns-rebinding-protection'])
                                assert.ok(seen.get(name)[0] > 0, name);
                }, 900_000);
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
                        await next_version(t, d, url);
                        await t.test('conformance: nothing fails that is not expected, and nothing passes that is', () => assert.equal(r.status, 0, (r.stdout + r.stderr).split('Total:').at(-1)));
                });
        });
});
