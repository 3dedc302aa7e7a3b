// A client made by openapi-typescript and openapi-fetch drives the daemon at argv[2] with the token argv[3]; prints what it saw as JSON.
import assert from 'node:assert/strict';

import createClient from 'openapi-fetch';

import type { components, paths } from './schema.js';

const options = { baseUrl: process.argv[2]!, headers: { Authorization: `Bearer ${process.argv[3]}` } };
const api = createClient<paths, 'application/json'>(options), bytes = createClient<paths, 'application/octet-stream'>(options);
const stream = createClient<paths, 'text/event-stream'>(options);

// The types say what is always there: nothing below asks whether it is.
const made = await api.POST('/v1/sandboxes', { body: { name: 'fetch', timeout_ms: 600_000, metadata: { a: 1 } }, params: { header: { 'Idempotency-Key': 'fetch-1' } } });
assert(made.data, JSON.stringify(made.error));
const again = await api.POST('/v1/sandboxes', { body: { name: 'fetch', timeout_ms: 600_000, metadata: { a: 1 }, key: 'fetch-1' } });
const id: string = made.data.id, status: 'pending' | 'running' | 'paused' | 'stopping' | 'stopped' | 'failed' = made.data.status;
const path = { id };

const ran = await api.POST('/v1/sandboxes/{id}/execs', { params: { path }, body: { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] } });
assert(ran.data);
const back = await api.POST('/v1/sandboxes/{id}/execs', { params: { path }, body: { command: 'read -r line; echo "got $line"; sleep 1000', background: true, stdin: true } });
assert(back.data);
const one = { id, exec: back.data.exec };
await api.POST('/v1/sandboxes/{id}/execs/{exec}/stdin', { params: { path: one, query: { end: true } }, body: 'word\n', bodySerializer: body => body, headers: { 'Content-Type': 'application/octet-stream' } });
while (((await api.GET('/v1/sandboxes/{id}/execs/{exec}', { params: { path: one } })).data?.stdout_bytes ?? 0) === 0)       // until it has said what it read
        await new Promise(resolve => setTimeout(resolve, 20));
await api.POST('/v1/sandboxes/{id}/execs/{exec}/signal', { params: { path: one }, body: { signal: 15 } });
const over = await api.GET('/v1/sandboxes/{id}/execs/{exec}/output', { params: { path: one, query: { wait: true } } });
assert(over.data);

type Piece = components['schemas']['ExecStarted'] | components['schemas']['ExecOutput'] | components['schemas']['Exec'];
const heard = await stream.POST('/v1/sandboxes/{id}/execs', { params: { path }, body: { command: 'echo streamed' }, headers: { Accept: 'text/event-stream' }, parseAs: 'text' });
const text = heard.data as unknown as string;
const events = [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data]) => ({ name, data: JSON.parse(data!) as Piece }));
const piece = events.find(e => e.name === 'stdout')!.data as components['schemas']['ExecOutput'];

await bytes.PUT('/v1/sandboxes/{id}/files', { params: { path, query: { path: 'a.txt', mode: '0640' } }, body: 'first', bodySerializer: body => body, headers: { 'Content-Type': 'application/octet-stream' } });
await api.POST('/v1/sandboxes/{id}/files', { params: { path }, body: { files: [{ path: 'b.txt', content: 'second', mode: 0o600 }] } });
await api.POST('/v1/sandboxes/{id}/files/mkdir', { params: { path }, body: { path: 'd/e', recursive: true } });
await api.POST('/v1/sandboxes/{id}/files/move', { params: { path }, body: { path: 'b.txt', target: 'd/c.txt' } });
const read = await bytes.GET('/v1/sandboxes/{id}/files', { params: { path, query: { path: 'd/c.txt' } }, parseAs: 'text' });
const list = await api.GET('/v1/sandboxes/{id}/files/list', { params: { path, query: { path: '.', depth: 2 } } });
const stat = await api.GET('/v1/sandboxes/{id}/files/stat', { params: { path, query: { path: 'a.txt' } } });
const gone = await api.DELETE('/v1/sandboxes/{id}/files', { params: { path, query: { path: 'd', recursive: true } } });
assert(list.data && stat.data && gone.data);
const truncated: boolean = list.data.truncated ?? false;

const longer = await api.POST('/v1/sandboxes/{id}/extend', { params: { path }, body: { duration_ms: 60_000 } });
const paused = await api.POST('/v1/sandboxes/{id}/pause', { params: { path } });
const resumed = await api.POST('/v1/sandboxes/{id}/resume', { params: { path } });
const refused = await api.POST('/v1/sandboxes/{id}/extend', { params: { path }, body: { duration_ms: 0 } });
assert(refused.error);
const code: 'invalid_argument' | string = refused.error.error.code;
const all = await api.GET('/v1/sandboxes');
const stopped = await api.DELETE('/v1/sandboxes/{id}', { params: { path } });

console.log(JSON.stringify({
        status, same: again.data?.id === id, state: ran.data.state, outcome: ran.data.outcome, exit_code: ran.data.exit_code, stdout: ran.data.stdout, stderr: ran.data.stderr,
        background: back.response.status, input: over.data.stdout, ended: over.data.outcome, signal: over.data.signal, events: events.map(e => e.name), piece: piece.data,
        read: read.data, names: list.data.items.map(i => i.path).sort(), kind: stat.data.kind, mode: stat.data.mode, removed: gone.data.existed, truncated,
        longer: (longer.data?.timeout_ms ?? 0) > 600_000, paused: paused.data?.status ?? paused.error?.error.code, resumed: resumed.data?.status ?? resumed.error?.error.code, code,
        listed: all.data?.items.some(i => i.id === id), stopped: stopped.data?.existed,
}));
