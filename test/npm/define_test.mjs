#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * define_test.mjs - AIP-36's defineSandbox(): the same verdict as `carrel check` on every case of test/conform/aip36.yaml, and a
 * handle that is frozen and made without touching anything.
 *
 * A case's text is read by another reader of YAML (npm's yaml), so that only values are handed over. `carrel check --stage validate`
 * and checkSandbox() then say the same, error by error. Cases with a host are compared with what they expect of authorise.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import { checkSandbox, defineSandbox, SandboxDefinitionError } from 'carrel-sandbox/define';
import { parse, parseAllDocuments } from 'yaml';

import { CARREL, run, TREE } from './rig.mjs';

// The modules that are started: one, whose memory is looked at below.
const modules = [], Instance = WebAssembly.Instance;
WebAssembly.Instance = class { constructor(...words) { modules.push(new Instance(...words)); return modules.at(-1); } };

const FILE = { block: 'in.yaml', standalone: 'SANDBOX.md', embed: 'WORKSPACE.md' };
const OWN = { block: 'block', standalone: 'standalone', embed: 'parent' };
const suite = parse(fs.readFileSync(path.join(TREE, 'test/conform/aip36.yaml'), 'utf8'), { maxAliasCount: 0 });
const cases = suite.cases.filter(c => (c.kind ?? 'block') in FILE);

// The value in a text, or undefined where there is none that JavaScript could hold: the reader of text refuses it.
function value_of(c, kind) {
        let text = c.in;

        if (c.surface === 'json')
                return JSON.parse(text);
        if (kind !== 'block' && text.startsWith('---')) {
                const end = text.indexOf('\n---', 3);
                if (end < 0)
                        return undefined;
                text = text.slice(3, end + 1);
        }
        const documents = parseAllDocuments(text, { version: '1.2', schema: 'core', merge: false, uniqueKeys: true });
        try {
                return documents.length === 1 && documents[0].errors.length === 0 ? documents[0].toJS({ maxAliasCount: 0 }) : undefined;
        } catch (e) {
                return undefined;       // an alias
        }
}

function carrel_check(folder, c, kind) {
        const file = path.join(folder, c.surface === 'json' ? 'in.json' : FILE[kind]);

        fs.writeFileSync(file, c.in);
        const done = spawnSync(CARREL, ['check', '--json', '--stage', 'validate', file], { encoding: 'utf8' });
        fs.unlinkSync(file);
        return JSON.parse(done.stdout);
}

// What has to be the same: everything but line and column, which a value does not have. 1.0 of a text is the integer 1 here.
const said = text => text.replaceAll('an integer', 'a number');

function verdict(v) {
        return {
                ok: v.ok,
                errors: (v.errors ?? []).map(e => [e.code, e.path, e.reason, said(e.message), e.hint]),
                warnings: v.warnings.map(w => [w.name, w.path, w.message]),
                norm: v.norm ?? undefined,
        };
}

function laid_over(base, over) {
        if (over === undefined)
                return base;
        if ([base, over].some(x => x === null || typeof x !== 'object' || Array.isArray(x)))
                return over;
        return Object.fromEntries([...new Set([...Object.keys(base), ...Object.keys(over)])].map(k => [k, laid_over(base[k], over[k])]));
}

function is_part(wanted, got, where) {
        if (wanted !== null && typeof wanted === 'object' && !Array.isArray(wanted))
                for (const [k, v] of Object.entries(wanted))
                        is_part(v, got?.[k], `${where}/${k}`);
        else if (Array.isArray(wanted)) {
                assert.equal(got?.length, wanted.length, where);
                wanted.forEach((v, i) => is_part(v, got[i], `${where}/${i}`));
        } else
                assert.equal(got ?? null, wanted, where);
}

function as_expected(c, v) {
        const { error, path: place, reason, warn, norm } = c.expect;

        assert.equal(v.errors[0]?.code, error, JSON.stringify(v.errors[0]));
        if (error && place !== undefined)
                assert.equal(v.errors[0].path, place);
        if (error && reason !== undefined)
                assert.equal(v.errors[0].reason, reason);
        if (warn)
                assert.deepEqual(v.warnings.map(w => w.name).sort(), [...warn].sort());
        if (!error && norm)
                is_part(norm, v.norm, 'norm');
}

async function every_case(t) {
        const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carrel-define-'));
        const of_text = [], of_files = [], wrong = [];
        let same = 0, met = 0;

        for (const c of cases) {
                const kind = c.kind ?? 'block', value = value_of(c, kind), of_check = carrel_check(folder, c, kind);
                const is_syntax = of_check.error?.code === 'sandbox_manifest_syntax';

                if (value === undefined || is_syntax) {
                        of_text.push(c.id);
                        if (!is_syntax)
                                wrong.push(`${c.id}: carrel reads a text that is no value here`);
                        continue;
                }
                const options = { kind: OWN[kind], syntax: c.surface === 'json' ? 'json' : 'yaml' };
                try {
                        assert.deepEqual(verdict(checkSandbox(value, options)), verdict(of_check));
                        same++;
                        if (c.stage === 'resolve' || (c.stage === 'authorise' && of_check.norm?.form)) {
                                of_files.push(c.id);
                                continue;
                        }
                        const host = c.stage === 'authorise' ? laid_over(suite.default_host, c.host) : undefined;
                        as_expected(c, checkSandbox(value, { ...options, host, now: Math.floor(Date.now() / 1000) }));
                        met++;
                } catch (e) {
                        wrong.push(`${c.id}: ${e.message}`);
                }
        }
        fs.rmdirSync(folder);
        console.log(`# ${cases.length} cases: ${same} with the verdict of carrel check, ${met} of them as expected; ${of_text.length} are about text (${of_text.join(' ')}), ${of_files.length} about other files (${of_files.join(' ')})`);
        await t.test('every case has the verdict of carrel check, error by error, and what it expects', () => assert.deepEqual(wrong, []));
        await t.test('only cases about the text itself have no value', () => assert.ok(of_text.length <= 8 && same >= 110 && met >= 100, `${of_text.length} ${same} ${met}`));
}

// Every field of the table and of the signature.
const WHOLE = {
        schema: 'sandbox/v1', id: '@acme/dev', version: '1.0.0', provider: 'local', config: { cwd: 'src', shell: '/bin/bash' },
        limits: { timeoutMs: 60000, memoryMb: 512, cpuMs: 30000 },
        env: { auth: { ref: './SECRETS.md', state: { env: ['OPENAI_API_KEY'] } }, passthrough: ['NODE_ENV'] },
        network: { egress: ['api.openai.com', '*.Anthropic.com:443'] },
        mounts: [{ source: 'workspace', at: '/workspace', mode: 'read-write' }, { source: { ref: '@agentik/python-libs' }, at: '/vendor/libs', mode: 'read-only' }],
        identity: { ref: 'bot://agentik' }, lifecycle: { pauseAfterIdle: 'idle-600', destroyOn: 'workspace-close' }, readOnly: false, metadata: { my_own_key: { snake_too: 1 } },
};

function is_frozen(value, where = '') {
        if (value === null || typeof value !== 'object')
                return;
        assert.ok(Object.isFrozen(value), `${where} is not frozen`);
        for (const [k, v] of Object.entries(value))
                is_frozen(v, `${where}/${k}`);
}

async function handle(t) {
        await t.test('every field of the table comes back in camelCase, with defaults', () => {
                const h = defineSandbox(WHOLE);
                assert.deepEqual(h.limits, { timeoutMs: 60000, memoryMb: 512, cpuMs: 30000 });
                assert.deepEqual(h.env, { auth: { ref: './SECRETS.md', env: ['OPENAI_API_KEY'] }, passthrough: ['NODE_ENV'] });
                assert.deepEqual(h.network.egress, [{ host: 'api.openai.com', wildcard: false, ports: [80, 443] }, { host: 'anthropic.com', wildcard: true, ports: [443] }]);
                assert.deepEqual([h.provider, h.readOnly, h.mounts.length, h.lifecycle.destroyOn], ['local', false, 2, 'workspace-close']);
                assert.deepEqual(h.metadata, { my_own_key: { snake_too: 1 } });
                assert.deepEqual([h.definition, h.id, h.version], [WHOLE, '@acme/dev', '1.0.0']);
                assert.equal(defineSandbox({ provider: 'local', config: {} }).limits.timeoutMs, 30000);
        });
        await t.test('it is frozen to the last member, and the definition is not its memory', () => {
                const mine = structuredClone(WHOLE), h = defineSandbox(mine);
                mine.limits.timeoutMs = 1;
                mine.metadata.my_own_key.snake_too = 2;
                is_frozen(h);
                assert.deepEqual([h.limits.timeoutMs, h.definition.limits.timeoutMs, h.metadata.my_own_key.snake_too], [60000, 60000, 1]);
                assert.throws(() => { h.network.egress.push('x'); }, TypeError);
        });
        await t.test('snake_case is taken with a warning; both spellings with two values conflict', () => {
                assert.deepEqual(defineSandbox({ provider: 'local', config: {}, read_only: true }).warnings.map(w => w.name), ['alias_spelling']);
                assert.throws(() => defineSandbox({ provider: 'local', config: {}, read_only: true, readOnly: false }), e => e.code === 'sandbox_alias_conflict');
        });
        await t.test('a wrong definition throws its first error, and holds all', () => {
                const e = (() => { try { defineSandbox({ provider: 'local', limits: { timeoutMs: 0 }, netwrok: {} }); } catch (x) { return x; } })();
                assert.ok(e instanceof SandboxDefinitionError && e instanceof Error);
                assert.equal(e.code, 'sandbox_schema_invalid');
                assert.ok(e.errors.length === 3 && e.hint !== '' && e.message.includes(e.path));
        });
        await t.test('what no manifest can hold is refused at its place, whatever it is', () => {
                const self = { provider: 'local', config: {} };
                let deep = {};
                self.metadata = { self };
                for (let i = 0; i < 100000; i++)
                        deep = { deep };
                const rows = [[undefined, ''], [() => 1, ''], [Symbol('x'), ''], [10n, ''], [{ a: [new Date()] }, 'a/0'], [{ a: NaN }, 'a'], [{ a: 'x\0' }, 'a'], [{ a: '\ud800' }, 'a'], [{ 'k\0': 1 }, 'k\0'], [self, 'metadata/self'], [{ deep }, null],
                        [new Map(), ''], [{ a: 'x'.repeat(5 << 20) }, 'a'], [Array(200000).fill(0), null]];
                for (const [value, place] of rows) {
                        const v = checkSandbox(value);
                        assert.deepEqual([v.ok, v.errors[0].code], [false, 'sandbox_manifest_syntax'], String(place));
                        if (place !== null)
                                assert.equal(v.errors[0].path, place);
                }
                for (const value of [null, 1, 'text', [], true, {}])
                        assert.equal(checkSandbox(value).errors[0].code, 'sandbox_schema_invalid');
                assert.equal(checkSandbox(JSON.parse('{"provider":"local","config":{},"__proto__":{"read_only":true}}')).errors[0].path, '__proto__');
        });
        await t.test('a plaintext credential is refused by its place, and not quoted', () => {
                const key = 'sk-' + 'a1b2c3d4e5'.repeat(5), v = checkSandbox({ provider: 'mastra-e2b', config: { template: 't', apiKey: key } });
                assert.deepEqual([v.errors[0].code, v.errors[0].path], ['sandbox_plaintext_credential', 'config/apiKey']);
                assert.ok(!JSON.stringify(v).includes(key.slice(0, 20)));
        });
        await t.test('a thousand checks use no more memory than ten', () => {
                const check = count => { for (let i = 0; i < count; i++) assert.equal(checkSandbox(WHOLE).ok, true); };
                check(10);
                const before = modules[0].exports.memory.buffer.byteLength;
                check(1000);
                assert.deepEqual([modules.length, modules[0].exports.memory.buffer.byteLength], [1, before]);
        });
        await t.test('no I/O: with every permission of Node denied, it defines', () => {
                const dist = fs.realpathSync(path.join(TREE, 'build-npm/sdk/dist'));
                const script = `import('${dist}/define.js').then(m => { console.log(m.defineSandbox({ provider: 'local', config: {}, network: { egress: ['a.example'] } }).limits.timeoutMs); });`;
                const done = spawnSync(process.execPath, ['--permission', `--allow-fs-read=${dist}/define.js`, `--allow-fs-read=${dist}/define_wasm.js`, `--allow-fs-read=${path.dirname(dist)}/package.json`, '--no-warnings', '-e', script], { encoding: 'utf8' });
                assert.deepEqual([done.stdout, done.status], ['30000\n', 0], done.stderr);
        });
}

await run(async t => {
        await every_case(t);
        await handle(t);
});
