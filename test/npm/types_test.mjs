#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * types_test.mjs - the SDK is what OSP's text and Mastra's packages declare, says the TypeScript compiler.
 */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { BUILD, NODE, program, run, TREE } from './rig.mjs';

const COMPILER_MS = 600_000;     // it takes some seconds of the processor, of which a busy machine has little
const OPTIONS = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--skipLibCheck',
        '--types', 'node', '--allowImportingTsExtensions', '--verbatimModuleSyntax', '--pretty', 'false'];

// Compiled where the packages are.
async function compile(...names) {
        const place = fs.mkdtempSync(path.join(BUILD, 'types-'));
        try {
                fs.cpSync(path.join(TREE, 'test/npm/types'), place, { recursive: true });
                fs.writeFileSync(path.join(place, 'package.json'), '{"type":"module"}');
                return await program(NODE, [path.join(BUILD, 'node_modules/typescript/bin/tsc'), ...OPTIONS, ...names.map(n => path.join(place, n))], { cwd: place, patience: COMPILER_MS });
        } finally {
                fs.rmSync(place, { recursive: true });
        }
}

await run(async t => {
        await t.test("CarrelOsp is OSP's Sandbox, SandboxContext and SandboxActions", async () => {
                const r = await compile('osp_check.ts');
                assert.equal(r.stdout, '');
                assert.equal(r.status, 0);
        }, COMPILER_MS);
        await t.test('what is no sandbox of OSP does not compile', async () => {
                const r = await compile('osp_wrong.ts');
                assert.notEqual(r.status, 0);
                assert.match(r.stdout, /osp_wrong\.ts\(8,.*error TS2[0-9]+:.*Sandbox/);
        }, COMPILER_MS);
        await t.test("CarrelSandbox is what Mastra's Workspace takes", async () => {
                const r = await compile('mastra_check.ts');
                assert.equal(r.stdout, '');
                assert.equal(r.status, 0);
        }, COMPILER_MS);
});
