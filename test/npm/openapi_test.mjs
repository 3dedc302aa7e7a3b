#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * openapi_test.mjs - the OpenAPI document is true: a linter has nothing to say of it, two generators make clients of it that the strict compiler
 * accepts, and these clients drive a daemon, whose every JSON answer is what the document says.
 *
 * weight: 3: the compiler keeps a processor busy
 * slow: 30 s: a compiler, a linter and two generators, and Node begins six times
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as path from 'node:path';

import { BUILD, NODE, program, run, TREE, with_daemon } from './rig.mjs';

const LONG_MS = 600_000;
const MODULES = path.join(BUILD, 'node_modules');
const OPTIONS = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable', '--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck',
        '--types', 'node', '--pretty', 'false'];

// What is wrong with a value, by its schema: types, words, what is always there. `at` is its place.
function wrong(document, schema, value, at = '') {
        if (schema.$ref)
                return wrong(document, schema.$ref.slice(2).split('/').reduce((n, part) => n[part], document), value, at);
        if (schema.anyOf)
                return schema.anyOf.some(s => wrong(document, s, value, at).length === 0) ? [] : [`${at}: none of the schemas`];
        const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
        if (schema.type && ![schema.type].flat().includes(kind))
                return [`${at}: ${kind}, not ${schema.type}`];
        if (schema.enum && !schema.enum.includes(value))
                return [`${at}: ${value} is none of ${schema.enum}`];
        if (kind === 'array')
                return value.flatMap((v, i) => wrong(document, schema.items ?? {}, v, `${at}/${i}`));
        if (kind !== 'object')
                return [];
        const missing = (schema.required ?? []).filter(name => !(name in value)).map(name => `${at}/${name} is missing`);
        const strange = schema.properties ? Object.keys(value).filter(name => !(name in schema.properties)).map(name => `${at}/${name} is not in the document`) : [];
        return [...missing, ...strange, ...Object.entries(schema.properties ?? {}).flatMap(([name, s]) => name in value ? wrong(document, s, value[name], `${at}/${name}`) : [])];
}

// Between the client and the daemon: each answer is held against the document.
async function with_reader(daemon, document, body) {
        const to = new URL(daemon.url), faults = [], seen = new Set();
        const routes = Object.keys(document.paths).map(route => ({ route, shape: new RegExp(`^${route.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }));
        const judge = (request, answer, text) => {
                const route = routes.find(r => r.shape.test(request.url.split('?')[0]))?.route;
                const operation = route && document.paths[route][request.method.toLowerCase()];
                if (!operation)
                        return faults.push(`${request.method} ${request.url} is not in the document`);
                const status = String(answer.statusCode);
                let said = operation.responses[status] ?? operation.responses[`${status[0]}XX`];
                said = said?.$ref ? said.$ref.slice(2).split('/').reduce((n, part) => n[part], document) : said;
                seen.add(operation.operationId);
                if (!said)
                        return faults.push(`${operation.operationId}: ${status} is not in the document`);
                const type = (answer.headers['content-type'] ?? '').split(';')[0];
                if (type && !said.content?.[type])
                        return faults.push(`${operation.operationId}: ${status} ${type} is not in the document`);
                if (type === 'application/json')
                        faults.push(...wrong(document, said.content[type].schema, JSON.parse(text), operation.operationId));
                if (type === 'text/event-stream')
                        for (const [, data] of text.matchAll(/^data: (.*)$/gm))
                                faults.push(...wrong(document, said.content[type].schema, JSON.parse(data), `${operation.operationId} event`));
        };
        const between = http.createServer((request, answer) => {
                const headers = { ...request.headers, host: to.host };
                const onward = http.request({ host: to.hostname, port: to.port, method: request.method, path: request.url, headers }, from => {
                        const parts = [];
                        answer.writeHead(from.statusCode, from.rawHeaders);
                        from.on('data', d => parts.push(d));
                        from.on('close', () => judge(request, from, Buffer.concat(parts).toString()));
                        from.pipe(answer);
                });
                onward.on('error', () => answer.destroy());
                answer.on('close', () => onward.destroy());
                request.pipe(onward);
        });
        await new Promise(resolve => between.listen(0, '127.0.0.1', resolve));
        try {
                return await body(`http://127.0.0.1:${between.address().port}`, faults, seen);
        } finally {
                between.closeAllConnections();
                between.close();
        }
}

await run(async t => {
        const place = fs.mkdtempSync(path.join(BUILD, 'openapi-'));
        const file = path.join(place, 'openapi.json');
        const node = (...words) => program(NODE, words, { cwd: place, patience: LONG_MS, env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } });
        try {
                fs.cpSync(path.join(TREE, 'test/npm/openapi'), place, { recursive: true });
                fs.writeFileSync(path.join(place, 'package.json'), '{"type":"module"}');
                await with_daemon(['--listen', '127.0.0.1:0'], async d => {
                        const headers = { Authorization: `Bearer ${d.token}` };
                        fs.writeFileSync(file, await (await fetch(`${d.url}/v1/openapi.json`, { headers })).text());
                        const document = JSON.parse(fs.readFileSync(file, 'utf8'));
                        await t.test('the daemon serves the document of docs/', () => assert.deepEqual(document, JSON.parse(fs.readFileSync(path.join(TREE, 'docs/openapi.json'), 'utf8'))));
                        await t.test('redocly lint has nothing to say', async () => {
                                fs.writeFileSync(path.join(place, 'redocly.yaml'), 'extends: [recommended]\n');
                                const r = await node(path.join(MODULES, '@redocly/cli/bin/cli.js'), 'lint', '--config', 'redocly.yaml', '--format', 'json', 'openapi.json');
                                assert.deepEqual([r.status, JSON.parse(r.stdout).problems], [0, []], r.stdout + r.stderr);
                        }, LONG_MS);
                        await t.test('redocly lint sees a document without its servers and its licence', async () => {
                                fs.writeFileSync(path.join(place, 'less.json'), JSON.stringify({ ...document, servers: [], info: { ...document.info, license: undefined } }));
                                const r = await node(path.join(MODULES, '@redocly/cli/bin/cli.js'), 'lint', '--config', 'redocly.yaml', '--format', 'json', 'less.json');
                                assert.deepEqual(JSON.parse(r.stdout).problems.map(p => p.ruleId).sort(), ['info-license', 'no-empty-servers'], r.stdout + r.stderr);
                        }, LONG_MS);
                        await t.test('openapi-typescript makes types of it', async () => {
                                const r = await node(path.join(MODULES, 'openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.d.ts');
                                assert.equal(r.status, 0, r.stdout + r.stderr);
                        }, LONG_MS);
                        await t.test('@hey-api/openapi-ts makes a client of it', async () => {
                                const r = await node(path.join(MODULES, '@hey-api/openapi-ts/bin/run.js'), '-i', 'openapi.json', '-o', 'hey', '--no-log-file');
                                assert.equal(r.status, 0, r.stdout + r.stderr);
                        }, LONG_MS);
                        await t.test('the strict compiler accepts both, and what drives them', async () => {
                                const r = await node('--max-semi-space-size=64', path.join(MODULES, 'typescript/bin/tsc'), ...OPTIONS, 'fetch_drive.ts', 'hey_drive.ts');
                                assert.deepEqual([r.status, r.stdout], [0, '']);
                        }, LONG_MS);
                        const common = { same: true, state: 'ended', outcome: 'exited', exit_code: 3, stdout: 'out\n', stderr: 'err\n', background: 201, input: 'got word\n',
                                ended: 'signaled', signal: 15, read: 'second', kind: 'file', mode: 0o640, removed: true, truncated: false, longer: true, code: 'invalid_argument', listed: true, stopped: true };
                        for (const [driver, own] of [['fetch_drive.ts', { events: ['started', 'stdout', 'end'], piece: 'streamed\n' }], ['hey_drive.ts', { }]])
                                await with_reader(d, document, async (url, faults, seen) => {
                                        let got;
                                        await t.test(`${driver}: create, exec, output, signal, files, extend, pause, stop`, async () => {
                                                const r = await node(path.join(MODULES, 'tsx/dist/cli.mjs'), driver, url, d.token);
                                                assert.equal(r.status, 0, r.stdout + r.stderr);
                                                got = JSON.parse(r.stdout);
                                                for (const [name, value] of Object.entries({ ...common, ...own }))
                                                        assert.deepEqual(got[name], value, `${name}: ${r.stdout}`);
                                                assert.ok(got.names.includes('a.txt') && got.names.includes('d'), r.stdout);
                                                assert.ok(['paused', 'capability_unavailable'].includes(got.paused), r.stdout);
                                                if (got.heard)
                                                        assert.match(got.heard[0], /^[a-z-]+$/);
                                        }, LONG_MS);
                                        await t.test(`${driver}: every answer was what the document says`, () => {
                                                assert.deepEqual(faults, []);
                                                assert.ok(seen.size >= 15, [...seen].join(' '));
                                        });
                                });
                });
        } finally {
                fs.rmSync(place, { recursive: true, force: true });
        }
});
