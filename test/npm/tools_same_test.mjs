#!/bin/sh
':' //; exec "$(dirname "$0")/node" "$0" "$@"
/*
 * tools_same_test.mjs - Mastra's three tools, made by Mastra over our provider and served by our MCP server, are the same tools:
 * same schemas, and to the letter the same text for the same calls.
 *
 * One thing differs on purpose: of a process that ended by itself Mastra tells once, our server as often as it is asked.
 */
import assert from 'node:assert/strict';

import { createWorkspaceTools, Workspace, WORKSPACE_TOOLS } from '@mastra/core/workspace';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CarrelSandbox } from 'carrel-sandbox/mastra';
import * as z from 'zod';

import { CARREL, run, until, with_daemon } from './rig.mjs';

const { EXECUTE_COMMAND, GET_PROCESS_OUTPUT, KILL_PROCESS } = WORKSPACE_TOOLS.SANDBOX;
const LINES = 'i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo "line $i"; done';
const WORDS = 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf "word%d another-word, " $i; done';

const run_it = (command, more) => [EXECUTE_COMMAND, { command, ...more }];
const COMMANDS = [
        run_it('echo hello'),
        run_it('printf hello'),
        run_it('true'),
        run_it('echo'),
        run_it('false'),
        run_it('exit 42'),
        run_it('echo out; echo err >&2'),
        run_it('echo err >&2'),
        run_it('echo out; exit 3'),
        run_it('echo out; echo err >&2; exit 3'),
        run_it('printf out; printf err >&2; exit 1'),
        run_it('printf "two\\n\\n"; exit 1'),
        run_it('no-such-command-at-all 2>/dev/null'),
        run_it('pwd', { cwd: '/tmp' }),
        run_it('cat'),
        run_it(LINES),
        run_it(LINES, { tail: 5 }),
        run_it(LINES, { tail: '7' }),
        run_it(LINES, { tail: -3 }),
        run_it(LINES, { tail: 0 }),
        run_it(`${LINES}; exit 9`, { tail: 2 }),
        run_it(`(${LINES}) | tail -4`),
        run_it(`(${LINES}) | tail -n 6`, { tail: 100 }),
        run_it(WORDS),
        run_it(`(${WORDS}) >&2; exit 1`),
        run_it(`${LINES}; (${LINES}) >&2`, { tail: null }),
        run_it('printf "a\\tb \\033[31mred\\033[0m ü 漢字 🙂\\n"'),
        run_it('printf "bad \\377 byte\\n"'),
        run_it('echo begun; sleep 600', { timeout: 3 }),
        run_it('echo quoted \'$HOME\' "a b" \\"'),
        run_it('kill -TERM $$'),
        run_it('sh -c \'kill -KILL $$\''),
        [GET_PROCESS_OUTPUT, { pid: '999999' }],
        [GET_PROCESS_OUTPUT, { pid: 'no-such' }],
        [KILL_PROCESS, { pid: '999999' }],
];

// Background processes: what is done to one, step by step; PID stands for its number.
const BACKGROUND = [
        ['that ends', 'echo done; echo wrong >&2; exit 5', [[GET_PROCESS_OUTPUT, { wait: true }]]],
        ['that says nothing', 'true', [[GET_PROCESS_OUTPUT, { wait: true }]]],
        ['that is killed', 'echo up; echo also >&2; sleep 60', [['said', 'up\n'], ['said', 'also\n'], [GET_PROCESS_OUTPUT, {}], [KILL_PROCESS, {}], [GET_PROCESS_OUTPUT, {}], [KILL_PROCESS, {}]]],
        ['that is killed after much', `${LINES}; sleep 60`, [['said', 'line 500\n'], [GET_PROCESS_OUTPUT, { tail: 3 }], [KILL_PROCESS, {}]]],
        ['that is killed before a word', 'sleep 60', [[GET_PROCESS_OUTPUT, {}], [KILL_PROCESS, {}]]],
        ['that had ended', 'exit 0', [[GET_PROCESS_OUTPUT, { wait: true }], [KILL_PROCESS, {}]]],
];

const text_of = result => result.content.map(c => c.text).join('');

await run(t => with_daemon([], async d => {
        const box = new CarrelSandbox({ socket: d.socket, id: 'by-mastra' });
        const tools = await createWorkspaceTools(new Workspace({ sandbox: box }));
        const mcp = new Client({ name: 'tools_same_test', version: '1' });
        await d.client.create({ name: 'by-mcp' });
        await mcp.connect(new StdioClientTransport({ command: CARREL, args: ['mcp', '--state', d.state, '--sandbox', 'by-mcp'], stderr: 'inherit' }));

        const doors = {
                mastra: (name, input) => tools[name].execute(input, {}),
                mcp: async (name, input) => text_of(await mcp.callTool({ name, arguments: input })),
        };
        try {
                const listed = new Map((await mcp.listTools()).tools.map(x => [x.name, x]));
                for (const name of [EXECUTE_COMMAND, GET_PROCESS_OUTPUT, KILL_PROCESS])
                        await t.test(`the same tool: ${name}`, () => {
                                const ours = listed.get(name);
                                assert.equal(ours?.description, tools[name].description);
                                // Numbers may come as text: said by Mastra's code, not by its schema.
                                assert.deepEqual(ours.inputSchema, JSON.parse(JSON.stringify(schema_of(tools[name].inputSchema))));
                        });
                for (const [name, input] of COMMANDS)
                        await t.test(`the same text: ${name.replace('mastra_workspace_', '')} ${JSON.stringify(input).slice(0, 90)}`, async () => {
                                const [a, b] = await Promise.all([doors.mastra(name, input), doors.mcp(name, input)]);
                                assert.equal(typeof a, 'string');
                                assert.equal(b, a);
                        });
                for (const [name, command, steps] of BACKGROUND)
                        await t.test(`the same text: a background process ${name}`, async () => {
                                const said = {};
                                for (const door of ['mastra', 'mcp'])
                                        said[door] = await background(doors[door], command, steps);
                                assert.deepEqual(said.mcp, said.mastra);
                        });
        } finally {
                await mcp.close();
                await box._destroy();
        }
}));

async function background(call, command, steps) {
        const started = await call(EXECUTE_COMMAND, { command, background: true });
        const pid = started.match(/PID: (\d+)/)?.[1];
        const said = [started];

        for (const [name, input] of steps)
                if (name === 'said')
                        await until(`it said ${input}`, async () => (await call(GET_PROCESS_OUTPUT, { pid })).includes(input));
                else
                        said.push(await call(name, { pid, ...input }));
        return said.map(text => text.replaceAll(new RegExp(`\\b${pid}\\b`, 'g'), 'PID'));
}

function schema_of(schema) {
        return schema['~standard']?.jsonSchema ? schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) : z.toJSONSchema(schema, { io: 'input' });
}
