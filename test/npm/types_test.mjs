#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * types_test.mjs - the SDK is what OSP's text and Mastra's packages declare, says the TypeScript compiler.
 *
 * weight: 3: the compiler keeps a processor busy
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { BUILD, NODE, program, run, TREE } from './rig.mjs';

const COMPILER_MS = 600_000;     // it takes some seconds of the processor, of which a busy machine has little
const OPTIONS = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--skipLibCheck',
        '--types', 'node', '--allowImportingTsExtensions', '--verbatimModuleSyntax', '--pretty', 'false'];

// Compiled where the packages are, all in one go: most of the work is what they have in common. By file, what the compiler says of it.
async function compile(...names) {
        const place = fs.mkdtempSync(path.join(BUILD, 'types-'));
        try {
                fs.cpSync(path.join(TREE, 'test/npm/types'), place, { recursive: true });
                fs.writeFileSync(path.join(place, 'package.json'), '{"type":"module"}');
                const r = await program(NODE, ['--max-semi-space-size=64', path.join(BUILD, 'node_modules/typescript/bin/tsc'), ...OPTIONS, ...names.map(n => path.join(place, n))],
                        { cwd: place, patience: COMPILER_MS });
                const said = { rest: r.stderr, status: r.status };
                for (const line of r.stdout.split('\n')) {
                        const file = names.find(n => line.startsWith(`${n}(`)) ?? (line.startsWith(' ') ? said.last : 'rest');
                        said[file] = (said[file] ?? '') + (line && `${line}\n`);
                        said.last = file;
                }
                return said;
        } finally {
                fs.rmSync(place, { recursive: true });
        }
}

await run(async t => {
        let said;
        await t.test('the compiler comes to its end, and speaks of nothing else', async () => {
                said = await compile('osp_check.ts', 'osp_wrong.ts', 'mastra_check.ts', 'agentskit_check.ts');
                assert.equal(said.rest, '');
        }, COMPILER_MS);
        await t.test("CarrelOsp is OSP's Sandbox, SandboxContext and SandboxActions", () => assert.equal(said['osp_check.ts'], undefined));
        await t.test('what is no sandbox of OSP does not compile', () => {
                assert.notEqual(said.status, 0);
                assert.match(said['osp_wrong.ts'], /^osp_wrong\.ts\(8,.*error TS2[0-9]+:.*Sandbox/m);
        });
        await t.test("carrelBackend() is AgentsKit's SandboxBackend, and defineSandbox() has AIP-36's signature", () => assert.equal(said['agentskit_check.ts'], undefined));
        await t.test("CarrelSandbox is what Mastra's Workspace takes", () => assert.equal(said['mastra_check.ts'], undefined));
});
