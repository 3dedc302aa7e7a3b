#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * mastra_tools_test.mjs - Mastra's tools, resolver, callbacks and abort over our provider, and the examples of docs/MASTRA.md.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

import { RequestContext } from '@mastra/core/request-context';
import { createWorkspaceTools, LocalFilesystem, Workspace, WORKSPACE_TOOLS } from '@mastra/core/workspace';
import { CarrelSandbox } from 'carrel-sandbox/mastra';

import { block_of, BUILD, NODE, program, run, until, within, with_daemon } from './rig.mjs';

const { EXECUTE_COMMAND, GET_PROCESS_OUTPUT, KILL_PROCESS } = WORKSPACE_TOOLS.SANDBOX;
let daemon;

const sandbox = options => new CarrelSandbox({ socket: daemon.socket, ...options });

// The three tools over a new sandbox, gone afterwards.
async function with_tools(config, body) {
        const box = sandbox();
        const workspace = new Workspace({ sandbox: box, ...config });
        const tools = await createWorkspaceTools(workspace);
        try {
                return await body(tools, box, workspace);
        } finally {
                await box._destroy();
        }
}

const pid_of = text => text.match(/^Started background process \(PID: (\d+)\)$/)[1];
const is_alive = async (box, word) => (await box.executeCommand('ps -eo args')).stdout.includes(word);

async function page(nth, more) {
        const file = path.join(BUILD, `page-${process.pid}.mjs`);
        fs.writeFileSync(file, `${block_of('docs/MASTRA.md', 'js', nth)}\n${more}`);
        try {
                const r = await program(NODE, [file], { env: { CARREL_STATE: daemon.state } });
                assert.equal(r.status, 0, r.stderr);
                return JSON.parse(r.stdout);
        } finally {
                fs.rmSync(file);
        }
}

async function pages(t) {
        await t.test('page: begin', async () => {
                const [said, output] = await page(0, 'console.log(JSON.stringify([said, output])); process.exit(0)');
                assert.equal(said, 'hello from Linux\n');
                assert.equal(output, 'ready\n\n\nExit code: 0');
                assert.equal(await daemon.client.get('dev-agent'), null);
        });
        await t.test('page: one sandbox per user', async () => {
                const [alice, bob] = await page(1, 'console.log(JSON.stringify([alice, bob])); process.exit(0)');
                assert.equal(alice, 'alice\n');
                assert.match(bob, /Exit code: 1$/);
                assert.deepEqual(await daemon.client.list(), []);
        });
}

async function tools_of(t) {
        await t.test('a workspace with our sandbox has the three tools, one without has none', async () => {
                await with_tools({}, tools => assert.deepEqual(Object.keys(tools).sort(), [EXECUTE_COMMAND, GET_PROCESS_OUTPUT, KILL_PROCESS].sort()));
                assert.deepEqual(Object.keys(await createWorkspaceTools(new Workspace({ filesystem: new LocalFilesystem({ basePath: daemon.folder }) }))).filter(n => /process|command/.test(n)), []);
        });
        await t.test('the parts that a UI sees: output and exit', () => with_tools({}, async tools => {
                const parts = [];
                const writer = { custom: async p => { parts.push(p); } };
                await tools[EXECUTE_COMMAND].execute({ command: 'echo o; echo e >&2; exit 3' }, { writer, agent: { toolCallId: 'call-1' } });
                const of = type => parts.filter(p => p.type === type).map(p => p.data);
                assert.equal(of('data-sandbox-stdout').map(d => d.output).join(''), 'o\n');
                assert.equal(of('data-sandbox-stderr').map(d => d.output).join(''), 'e\n');
                const { executionTimeMs, ...exit } = of('data-sandbox-exit')[0];
                assert.ok(executionTimeMs >= 0);
                assert.deepEqual(exit, { exitCode: 3, success: false, killed: false, timedOut: false, toolCallId: 'call-1' });
        }));
        await t.test('callbacks of background processes: onStdout, onStderr, onExit', async () => {
                const heard = [];
                const backgroundProcesses = { onStdout: (d, m) => heard.push(['out', d, m.pid]), onStderr: (d, m) => heard.push(['err', d, m.pid]), onExit: m => heard.push(['exit', m.exitCode, m.pid]) };
                await with_tools({ tools: { [EXECUTE_COMMAND]: { backgroundProcesses } } }, async tools => {
                        const pid = pid_of(await tools[EXECUTE_COMMAND].execute({ command: 'echo o; sleep 0.1; echo e >&2; exit 4', background: true }));
                        await until('it ended', () => heard.length === 3);
                        assert.deepEqual(heard, [['out', 'o\n', pid], ['err', 'e\n', pid], ['exit', 4, pid]]);
                });
        });
        await t.test('a foreground command is killed when its signal aborts', () => with_tools({}, async (tools, box) => {
                const c = new AbortController();
                const end = tools[EXECUTE_COMMAND].execute({ command: 'echo begun; sleep 71' }, { abortSignal: c.signal });
                await until('it runs', () => is_alive(box, 'sleep 71'));
                c.abort();
                assert.match(await within('the tool answers', end), /^begun\n\nExit code: 137$/);
                assert.equal(await is_alive(box, 'sleep 71'), false);
        }));
}

async function aborts(t) {
        for (const [name, option, survives] of [["undefined: the agent's signal kills it", undefined, false], ['null: it survives', null, true], ['false: it survives', false, true]])
                await t.test(`abortSignal ${name}`, () => with_tools({ tools: { [EXECUTE_COMMAND]: { backgroundProcesses: { abortSignal: option } } } }, async (tools, box) => {
                        const agent = new AbortController();
                        const pid = pid_of(await tools[EXECUTE_COMMAND].execute({ command: 'sleep 72', background: true }, { abortSignal: agent.signal }));
                        agent.abort();
                        if (survives) {
                                assert.equal(await is_alive(box, 'sleep 72'), true);
                                assert.equal((await box.processes.get(pid)).exitCode, undefined);
                                assert.match(await tools[KILL_PROCESS].execute({ pid }), /has been killed/);
                        }
                        await until('it is gone', async () => !await is_alive(box, 'sleep 72'));
                }));
        await t.test('abortSignal of your own kills it', async () => {
                const own = new AbortController();
                await with_tools({ tools: { [EXECUTE_COMMAND]: { backgroundProcesses: { abortSignal: own.signal } } } }, async (tools, box) => {
                        await tools[EXECUTE_COMMAND].execute({ command: 'sleep 73', background: true }, { abortSignal: new AbortController().signal });
                        assert.equal(await is_alive(box, 'sleep 73'), true);
                        own.abort();
                        await until('it is gone', async () => !await is_alive(box, 'sleep 73'));
                });
        });
        for (const [name, option, survives] of [['by default', 'undefined', false], ['and with null they survive', 'null', true]])
                await t.test(`an agent that is killed takes its processes with it: ${name}`, async () => {
                        const box = sandbox({ id: `killed-${option}` });
                        await box._start();
                        const text = `
                                import { Workspace, createWorkspaceTools } from '@mastra/core/workspace';
                                import { CarrelSandbox } from 'carrel-sandbox/mastra';
                                const sandbox = new CarrelSandbox({ id: 'killed-${option}' });
                                const tools = await createWorkspaceTools(new Workspace({ sandbox, tools: { ${EXECUTE_COMMAND}: { backgroundProcesses: { abortSignal: ${option} } } } }));
                                const abortSignal = new AbortController().signal;
                                await tools.${EXECUTE_COMMAND}.execute({ command: 'sleep 74', background: true }, { abortSignal });
                                console.log('started');
                                setInterval(() => {}, 1000);`;
                        const file = path.join(BUILD, `agent-${process.pid}.mjs`);
                        fs.writeFileSync(file, text);
                        // The wrapper ends in exec, so this is the agent's own process.
                        const agent = spawn(NODE, [file], { env: { ...process.env, CARREL_STATE: daemon.state }, stdio: ['ignore', 'pipe', 'inherit'] });
                        try {
                                await within('it started one', new Promise(resolve => agent.stdout.once('data', resolve)));
                                assert.equal(await is_alive(box, 'sleep 74'), true);
                                const gone = new Promise(resolve => agent.on('exit', resolve));
                                agent.kill('SIGKILL');
                                await gone;
                                if (survives)
                                        assert.equal((await box.processes.list()).filter(x => x.running && x.command === 'sleep 74').length, 1);
                                else
                                        await until('its process is gone', async () => !await is_alive(box, 'sleep 74'));
                        } finally {
                                agent.kill('SIGKILL');
                                fs.rmSync(file);
                                await box._destroy();
                        }
                });
}

async function resolvers(t) {
        const as = user => ({ requestContext: new RequestContext([['user-id', user]]) });

        await t.test('resolver: asynchronous, one sandbox a tenant, and a key keeps background processes in reach', async () => {
                const made = [];
                const workspace = new Workspace({
                        sandbox: async ({ requestContext }) => { const box = sandbox({ id: `tenant-${requestContext.get('user-id')}` }); made.push(box); return box; },
                        sandboxCacheKey: ({ requestContext }) => requestContext.get('user-id'),
                });
                const tools = await createWorkspaceTools(workspace);
                try {
                        assert.equal(Object.keys(tools).length, 3);
                        assert.equal(await daemon.client.get('tenant-a'), null);
                        const pid = pid_of(await tools[EXECUTE_COMMAND].execute({ command: 'echo mine; sleep 75', background: true }, as('a')));
                        await until('its output', async () => (await tools[GET_PROCESS_OUTPUT].execute({ pid }, as('a'))) === 'mine\n');
                        assert.match(await tools[GET_PROCESS_OUTPUT].execute({ pid: '99999' }, as('b')), /^No background process found/);
                        assert.equal(made.length, 2);
                        await tools[KILL_PROCESS].execute({ pid }, as('a'));
                        workspace.clearSandboxCache('a');
                        await tools[EXECUTE_COMMAND].execute({ command: 'true' }, as('a'));
                        assert.equal(made.length, 3);
                        assert.equal((await daemon.client.list()).length, 2);
                } finally {
                        for (const box of made)
                                await box._destroy();
                }
        });
        await t.test('resolver: with mounts it is INVALID_CONFIG', () =>
                assert.throws(() => new Workspace({ sandbox: () => sandbox(), mounts: { '/mnt': new LocalFilesystem({ basePath: daemon.folder }) } }), { code: 'INVALID_CONFIG' }));
        await t.test('resolver: a missing capability is a SandboxFeatureNotSupportedError', async () => {
                const bare = { id: 'bare', name: 'bare', provider: 'none', status: 'running', snapshot: async () => {} };
                const tools = await createWorkspaceTools(new Workspace({ sandbox: () => bare }));
                await assert.rejects(tools[EXECUTE_COMMAND].execute({ command: 'true' }, as('a')), { name: 'SandboxFeatureNotSupportedError' });
        });
        await t.test('instructions: a resolver is not asked for them unless told to', async () => {
                let asked = 0;
                const resolver = () => { asked++; return sandbox({ id: 'told' }); };
                const plain = await new Workspace({ sandbox: resolver }).getInstructionsAsync({ requestContext: as('a').requestContext });
                assert.ok(plain.length > 0);
                assert.equal(asked, 0);
                const told = await new Workspace({ sandbox: resolver, instructions: { dynamicSandbox: 'resolve' } }).getInstructionsAsync({ requestContext: as('a').requestContext });
                assert.equal(asked, 1);
                assert.match(told, /Carrel/);
                assert.equal(await daemon.client.get('told'), null);
        });
}

// A package that is too old lacks names: the import says which version has them.
async function old_core(t) {
        await t.test('an older @mastra/core is told by its version', async () => {
                const place = fs.mkdtempSync(path.join(BUILD, 'old-core-')), core = path.join(place, 'node_modules/@mastra/core');
                try {
                        fs.mkdirSync(core, { recursive: true });
                        fs.writeFileSync(path.join(core, 'package.json'), JSON.stringify({ name: '@mastra/core', version: '1.60.0', type: 'module', exports: { './workspace': './workspace.js' } }));
                        fs.writeFileSync(path.join(core, 'workspace.js'), 'export class MastraSandbox {}\nexport class ProcessHandle {}\nexport class SandboxProcessManager {}\n');
                        fs.cpSync(path.join(BUILD, 'sdk'), path.join(place, 'node_modules/carrel-sandbox'), { recursive: true });
                        fs.writeFileSync(path.join(place, 'old.mjs'), "await import('./node_modules/carrel-sandbox/dist/mastra.js');\n");
                        const r = await program(path.join(BUILD, 'node_modules', `node-linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}`, 'bin/node'), [path.join(place, 'old.mjs')], { cwd: place });
                        assert.notEqual(r.status, 0);
                        assert.match(r.stderr, /needs @mastra\/core 1\.71\.0 or later: the one that is installed has no MountError, SandboxAbortError/);
                        assert.doesNotMatch(r.stderr, /SyntaxError/);
                } finally {
                        fs.rmSync(place, { recursive: true, force: true });
                }
        });
}

await run(t => with_daemon([], async d => {
        daemon = d;
        for (const part of [old_core, pages, tools_of, aborts, resolvers])
                await part(t);
}));
