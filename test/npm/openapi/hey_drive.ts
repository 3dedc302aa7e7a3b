// A client made by @hey-api/openapi-ts drives the daemon at argv[2] with the token argv[3]; prints what it saw as JSON.
import assert from 'node:assert/strict';

import { client } from './hey/client.gen';
import * as api from './hey/sdk.gen';
import type { Exec, FileEntry, Sandbox } from './hey/types.gen';

client.setConfig({ baseUrl: process.argv[2]!, auth: process.argv[3]! });

const made = await api.create({ body: { name: 'hey', timeout_ms: 600_000, metadata: { a: 1 } }, headers: { 'Idempotency-Key': 'hey-1' } });
assert(made.data, JSON.stringify(made.error));
const box: Sandbox = made.data, path = { id: box.id };
const again = await api.create({ body: { name: 'hey', timeout_ms: 600_000, metadata: { a: 1 }, key: 'hey-1' } });

const ran = await api.execStart({ path, body: { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] }, throwOnError: true });
const result: Exec = ran.data;
const back = await api.execStart({ path, body: { command: 'read -r line; echo "got $line"; sleep 1000', background: true, stdin: true }, throwOnError: true });
const one = { id: box.id, exec: back.data.exec };
await api.execStdin({ path: one, query: { end: true }, body: new Blob(['word\n']), throwOnError: true });
while (((await api.execGet({ path: one, throwOnError: true })).data.stdout_bytes ?? 0) === 0)       // until it has said what it read
        await new Promise(resolve => setTimeout(resolve, 20));
await api.execSignal({ path: one, body: { signal: 15 }, throwOnError: true });
const over = await api.execAttach({ path: one, query: { wait: true }, headers: { Accept: 'application/json' }, throwOnError: true });

// Events of the daemon, as they come, each with its type.
const heard: string[] = [];
const leave = new AbortController();
const watching = await api.watch({ query: { id: box.id }, signal: leave.signal });
const first = watching.stream.next().then(r => { heard.push(r.value ? r.value.event : ''); });
while (heard.length === 0) {       // it listens at some time after this, and hears what comes then
        await api.execStart({ path, body: { argv: ['true'] }, throwOnError: true });
        await Promise.race([first, new Promise(resolve => setTimeout(resolve, 20))]);
}
leave.abort();

await api.filePut({ path, query: { path: 'a.txt', mode: '0640' }, body: new Blob(['first']), throwOnError: true });
await api.fileWrite({ path, body: { files: [{ path: 'b.txt', content: 'second', mode: 0o600 }] }, throwOnError: true });
await api.fileMkdir({ path, body: { path: 'd/e', recursive: true }, throwOnError: true });
await api.fileMove({ path, body: { path: 'b.txt', target: 'd/c.txt' }, throwOnError: true });
const read = await api.fileRead({ path, query: { path: 'd/c.txt' }, parseAs: 'blob', throwOnError: true });
const list = await api.fileList({ path, query: { path: '.', depth: 2 }, throwOnError: true });
const stat = await api.fileStat({ path, query: { path: 'a.txt' }, throwOnError: true });
const gone = await api.fileRemove({ path, query: { path: 'd', recursive: true }, throwOnError: true });
const entry: FileEntry = stat.data, truncated: boolean = list.data.truncated ?? false;

const longer = await api.extend({ path, body: { duration_ms: 60_000 }, throwOnError: true });
const paused = await api.pause({ path });
const resumed = await api.resume({ path });
const refused = await api.extend({ path, body: { duration_ms: 0 } });
assert(refused.error);
const all = await api.list({ throwOnError: true });
const stopped = await api.stop({ path, throwOnError: true });

console.log(JSON.stringify({
        status: box.status, same: again.data?.id === box.id, state: result.state, outcome: result.outcome, exit_code: result.exit_code, stdout: result.stdout, stderr: result.stderr,
        background: back.response.status, input: over.data.stdout, ended: over.data.outcome, signal: over.data.signal, heard,
        read: await (read.data as Blob).text(), names: list.data.items.map(i => i.path).sort(), kind: entry.kind, mode: entry.mode, removed: gone.data.existed, truncated,
        longer: (longer.data.timeout_ms ?? 0) > 600_000, paused: paused.data?.status ?? paused.error?.error.code, resumed: resumed.data?.status ?? resumed.error?.error.code, code: refused.error.error.code,
        listed: all.data.items.some(i => i.id === box.id), stopped: stopped.data.existed,
}));
process.exit(0);     // a stream that was left may try again
