/*
 * client.ts - every operation of a Carrel daemon as a method. Names and units are those of the daemon's own OpenAPI page
 * (GET /v1/openapi.json): what goes in and what comes out is its JSON, unchanged.
 *
 * `null` stands for what is not there; everything else that does not work throws a CarrelError.
 */
import { bytes_of, CarrelError, Transport } from './http.ts';
import type { Place } from './http.ts';

export type Status = 'pending' | 'running' | 'paused' | 'stopping' | 'stopped' | 'failed';
export type Outcome = 'exited' | 'signaled' | 'timed_out' | 'oom_killed' | 'cpu_limit' | 'killed' | 'policy_killed' | 'lost';

export interface SandboxEntry {
        id: string;
        name?: string;
        status: Status;
        created_at_ms: number;
        /** Milliseconds that are left. */
        timeout_ms?: number;
        delete_at_ms?: number;
        owner?: string;
        provider?: string;
        runtime?: string;
        workspace?: string;
        ports?: number[];
        read_only?: boolean;
        cause?: string;
        metadata?: unknown;
        warnings?: { code?: string; at?: string; message?: string }[];
        /** What its commands made or changed in the workspace that programs of the host act on: the first 16 and the last 16, and how many more. */
        left_behind?: LeftBehind[];
        left_behind_more?: number;
}

/** A name in the workspace that a command made or changed and that programs of the host act on. */
export interface LeftBehind {
        at_ms: number;
        /** moved, made, changed, repository, gitlink, ... */
        what: string;
        host_path: string;
        /** Where it is now. */
        kept_at?: string;
        /** What git would run, or the key that was restored. */
        reason?: string;
        /** Of how many names; host_path is the first. */
        count?: number;
        /** What happened, and the command to type. */
        message: string;
        /** takeLeftBehind() or `carrel exec` has returned it before. */
        shown: boolean;
}

export interface SandboxRequest {
        name?: string;
        /** The sandbox block as an object, or the text of a SANDBOX.md. */
        manifest?: object | string;
        manifest_name?: string;
        /** Absolute directory of the host that mounts of the workspace mean. */
        workspace?: string;
        runtime?: string;
        timeout_ms?: number;
        delete_at_ms?: number;
        env?: Record<string, string>;
        ports?: number[];
        metadata?: unknown;
        /** Make it now, and not at its first use. */
        start?: boolean;
        key?: string;
}

export interface ExecRequest {
        /** A program and its arguments; or `command`, a line for the sandbox's shell. */
        argv?: string[];
        command?: string;
        cwd?: string;
        env?: Record<string, string>;
        timeout_ms?: number;
        cpu_ms?: number;
        background?: boolean;
        /** Keep standard input open for stdin(). */
        stdin?: boolean;
        /** Standard input, given at once. */
        input?: string;
        tty?: boolean;
        rows?: number;
        columns?: number;
        keep_bytes?: number;
        output_bytes?: number;
        lossless?: boolean;
        kill_rest?: boolean;
        /** Answer as soon as a declared port listens (`port` says which), the command ends, or wait_ports_ms is over. The command goes on. */
        wait_ports?: boolean;
        /** The longest time to wait for a port. Default: until the command ends. */
        wait_ports_ms?: number;
        task?: string;
        key?: string;
}

export interface Exec {
        exec: number;
        state: 'starting' | 'running' | 'ended' | 'failed';
        command?: string;
        pid?: number;
        task?: string;
        key?: string;
        background?: boolean;
        started_at_ms?: number;
        outcome?: Outcome;
        exit_code?: number;
        signal?: number;
        duration_ms?: number;
        cpu_ms?: number;
        memory_peak_kb?: number;
        stdout?: string;
        stderr?: string;
        stdout_bytes?: number;
        stderr_bytes?: number;
        stdout_offset?: number;
        stderr_offset?: number;
        dropped_bytes?: number;
        /** Limits that it met and that did not end it. */
        limits_reached?: ('disk_mb' | 'pids')[];
        /** What it asked of the network and was refused, where there was any: the first 16 different things, and how many more requests. */
        denied?: { reason: string; host: string; port?: number; address?: string; said?: string; count: number; message: string }[];
        denied_more?: number;
        /** The declared port that was waited for and listens. */
        port?: number;
}

/** One part of a list. With next_cursor there is more: give it as cursor. */
export interface Volume {
        name: string;
        /** Bytes. */
        size?: number;
        file_count?: number;
        /** Only a part was counted. */
        partial?: boolean;
        used_at_ms?: number;
        /** Id of a sandbox that uses it now. */
        used_by?: string;
}

export interface Page<T> {
        items: T[];
        next_cursor?: string;
}

export interface PageOptions {
        /** The most entries, 1 to 1000. Default: all of them. */
        limit?: number;
        cursor?: string;
}

/** What a running exec says, in order; `end` is the last. With wait_ports, `port` or `port-timeout` comes once. */
export type ExecEvent =
        | { event: 'started'; exec: number; pid?: number }
        | { event: 'port'; exec: number; port: number }
        | { event: 'port-timeout'; exec: number }
        | { event: 'stdout' | 'stderr'; offset: number; data: Buffer }
        | { event: 'end'; result: Exec };

export interface FileEntry {
        path: string;
        kind: 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';
        size?: number;
        mode?: number;
        modified_at_ms?: number;
        target?: string;
}

export interface FileInput {
        path: string;
        content: string | Uint8Array;
        mode?: number;
}

/** What was refused a way out: `reason` for programs, `message` with what to do about it. */
export interface Denial {
        reason: string;
        host: string;
        port?: number;
        address?: string;
        said?: string;
        count: number;
        message: string;
        exec?: number;
        at_ms?: number;
}

export interface DaemonEvent {
        event: string;
        at_ms?: number;
        id?: string;
        exec?: number;
        status?: Status;
        cause?: string;
        outcome?: Outcome;
        exit_code?: number;
        signal?: number;
        duration_ms?: number;
        cpu_ms?: number;
        memory_peak_kb?: number;
        limits_reached?: string[];
        stdout_bytes?: number;
        stderr_bytes?: number;
        dropped_bytes?: number;
        /** Its place: `watch({ last_event_id })` goes on behind it. */
        event_id?: string;
}

/** What the daemon takes as one body of JSON. */
const BATCH_MAX = 1 << 20, BATCH_FILES_MAX = 1023;

interface WithSignal {
        signal?: AbortSignal;
}

export class CarrelClient {
        private readonly transport: Transport;

        constructor(place: Place = {}) {
                this.transport = new Transport(place);
        }

        // -- the daemon ---------------------------------------------------------------------------------------

        info(): Promise<{ version: string; runtimes?: string[]; sandboxes?: number; pool?: number }> {
                return this.transport.json({ method: 'GET', path: '/v1/info' });
        }

        /**
         * What happens, as it happens, in one sandbox or in all of the caller's; with last_event_id what happened after that event.
         * If that is no longer kept, the first event is `missed`: list what there is.
         */
        async *watch(options: { id?: string; last_event_id?: string } & WithSignal = {}): AsyncGenerator<DaemonEvent, void, void> {
                const headers = options.last_event_id === undefined ? undefined : { 'last-event-id': options.last_event_id };
                for await (const e of this.transport.events({ method: 'GET', path: '/v1/events', query: { id: options.id }, headers, signal: options.signal }))
                        yield { ...e.data, event: e.data.event ?? e.event };
        }

        /** A token; scope `read` sees get and list, and nothing else. Its value is shown this once. */
        createToken(request: { owner?: string; scope?: 'all' | 'read' } = {}): Promise<{ id: string; token: string; scope?: string }> {
                return this.transport.json({ method: 'POST', path: '/v1/tokens', body: request });
        }

        /** The tokens there are, without their values. */
        async tokens(): Promise<{ id: string; owner?: string; scope?: string; created_at_ms?: number }[]> {
                return (await this.transport.json({ method: 'GET', path: '/v1/tokens' })).items ?? [];
        }

        async revokeToken(id: string): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: `/v1/tokens/${part(id)}` })).existed;
        }

        // -- volumes ------------------------------------------------------------------------------------------

        /** Creates a volume of the caller; an existing one is not changed. */
        createVolume(name: string): Promise<Volume> {
                return this.transport.json({ method: 'POST', path: '/v1/volumes', body: { name } });
        }

        async volumes(): Promise<Volume[]> {
                return (await this.transport.json({ method: 'GET', path: '/v1/volumes' })).items ?? [];
        }

        /** Removes a volume with its content. An error while a sandbox uses it. */
        async removeVolume(name: string): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: `/v1/volumes/${part(name)}` })).existed;
        }

        // -- sandboxes ----------------------------------------------------------------------------------------

        create(request: SandboxRequest = {}): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: '/v1/sandboxes', body: request });
        }

        /** One out of the pool of ready ones. */
        claim(request: SandboxRequest = {}): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: '/v1/claims', body: request });
        }

        get(id: string): Promise<SandboxEntry | null> {
                return or_null(['sandbox_not_found'], this.transport.json({ method: 'GET', path: sandbox(id) }));
        }

        async list(): Promise<SandboxEntry[]> {
                return (await this.transport.json({ method: 'GET', path: '/v1/sandboxes' })).items ?? [];
        }

        /** The same in parts, for long lists: of sandboxes, of one sandbox's execs and denials, of tokens. */
        listPage(options: PageOptions = {}): Promise<Page<SandboxEntry>> {
                return this.transport.json({ method: 'GET', path: '/v1/sandboxes', query: { ...options } });
        }

        execsPage(id: string, options: PageOptions = {}): Promise<Page<Exec>> {
                return this.transport.json({ method: 'GET', path: `${sandbox(id)}/execs`, query: { ...options } });
        }

        denialsPage(id: string, options: PageOptions = {}): Promise<Page<Denial>> {
                return this.transport.json({ method: 'GET', path: `${sandbox(id)}/denials`, query: { ...options } });
        }

        tokensPage(options: PageOptions = {}): Promise<Page<{ id: string; owner?: string; scope?: string; created_at_ms?: number }>> {
                return this.transport.json({ method: 'GET', path: '/v1/tokens', query: { ...options } });
        }

        /** Stops and destroys it; says whether it existed. */
        async stop(id: string): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: sandbox(id) })).existed;
        }

        /** Adds to the time it has left. */
        extend(id: string, duration_ms: number, key?: string): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: `${sandbox(id)}/extend`, body: { duration_ms, key } });
        }

        pause(id: string): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: `${sandbox(id)}/pause` });
        }

        resume(id: string): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: `${sandbox(id)}/resume` });
        }

        /** What its commands left in the workspace, since the last such call, that programs of the host act on. */
        async takeLeftBehind(id: string): Promise<LeftBehind[]> {
                return (await this.transport.json({ method: 'POST', path: `${sandbox(id)}/left-behind` })).left_behind ?? [];
        }

        /** What its commands asked of the network and were refused, oldest first. */
        async denials(id: string): Promise<Denial[]> {
                return (await this.transport.json({ method: 'GET', path: `${sandbox(id)}/denials` })).items ?? [];
        }

        /** Gives it another network.egress, whole or not at all; what that no longer allows is closed. */
        setNetwork(id: string, egress: string[]): Promise<SandboxEntry> {
                return this.transport.json({ method: 'PUT', path: `${sandbox(id)}/network`, body: { egress } });
        }

        /** A URL with a token that reaches a declared port. */
        url(id: string, port: number): Promise<{ url: string; browser_url?: string; port?: number; token?: string }> {
                return this.transport.json({ method: 'GET', path: `${sandbox(id)}/ports/${port}` });
        }

        /** What a model should know about this sandbox, in words. */
        async instructions(id: string): Promise<string> {
                return (await this.transport.json({ method: 'GET', path: `${sandbox(id)}/instructions` })).text;
        }

        event(id: string, event: string): Promise<SandboxEntry> {
                return this.transport.json({ method: 'POST', path: `${sandbox(id)}/events`, body: { event } });
        }

        async beginTask(id: string, task: string, timeout_ms: number): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/tasks`, body: { task, timeout_ms } });
        }

        async endTask(id: string, task: string): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: `${sandbox(id)}/tasks/${part(task)}` })).existed;
        }

        // -- execs --------------------------------------------------------------------------------------------

        /** Runs it and waits for its end (with background: only for its beginning). Abandoning a foreground exec kills its tree. */
        exec(id: string, request: ExecRequest, options: WithSignal = {}): Promise<Exec> {
                return this.transport.json({ method: 'POST', path: `${sandbox(id)}/execs`, body: with_input(request), signal: options.signal });
        }

        /** Runs it and says what it says, as it says it. Leaving the loop kills the tree of a foreground exec. */
        stream(id: string, request: ExecRequest, options: WithSignal = {}): AsyncGenerator<ExecEvent, void, void> {
                const call = { method: 'POST', path: `${sandbox(id)}/execs`, query: { encoding: 'base64' }, body: with_input(request), signal: options.signal };
                return exec_events(this.transport.events(call));
        }

        /** What it said from these bytes on, to its end. Leaving the loop leaves it alone. */
        attach(id: string, exec: number, options: { stdout_offset?: number; stderr_offset?: number; lossless?: boolean } & WithSignal = {}): AsyncGenerator<ExecEvent, void, void> {
                const { signal, ...from } = options;
                const call = { method: 'GET', path: `${sandbox(id)}/execs/${exec}/output`, query: { encoding: 'base64', ...from }, signal };
                return exec_events(this.transport.events(call));
        }

        async execs(id: string): Promise<Exec[]> {
                return (await this.transport.json({ method: 'GET', path: `${sandbox(id)}/execs` })).items ?? [];
        }

        /** One exec as it stands; null where there is none of this number. */
        /** With wait_ports: as soon as a declared port listens, the exec ends, or wait_ports_ms is over. */
        execGet(id: string, exec: number, options: { wait_ports?: boolean; wait_ports_ms?: number } & WithSignal = {}): Promise<Exec | null> {
                const { signal, ...query } = options;
                return or_null(404, this.transport.json({ method: 'GET', path: `${sandbox(id)}/execs/${exec}`, query, signal }));
        }

        /** Its output: the newest keep_bytes (1 MiB; at most 8 MiB) of each stream; with wait, after its end. With encoding base64 every byte is as it was. */
        output(id: string, exec: number, options: { wait?: boolean; encoding?: 'base64'; keep_bytes?: number } & WithSignal = {}): Promise<Exec> {
                const { signal, ...query } = options;
                return this.transport.json({ method: 'GET', path: `${sandbox(id)}/execs/${exec}/output`, query, signal });
        }

        async stdin(id: string, exec: number, data: string | Uint8Array, options: { end?: boolean } = {}): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/execs/${exec}/stdin`, query: { end: options.end }, body: Buffer.from(data as Uint8Array) });
        }

        async resize(id: string, exec: number, rows: number, columns: number): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/execs/${exec}/resize`, body: { rows, columns } });
        }

        /** Sends a signal, by its number, to its process group. */
        async signal(id: string, exec: number, signal: number): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/execs/${exec}/signal`, body: { signal } });
        }

        /** Kills its whole tree; says whether it still ran. */
        async kill(id: string, exec: number): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: `${sandbox(id)}/execs/${exec}` })).existed;
        }

        // -- files --------------------------------------------------------------------------------------------

        /** Its bytes, or those from offset on; null where there is no such file. */
        readFile(id: string, path: string, range: { offset?: number; length?: number } = {}): Promise<Buffer | null> {
                const call = { method: 'GET', path: `${sandbox(id)}/files`, query: { path, ...range } };
                return or_null(['file_not_found'], this.transport.open(call).then(bytes_of));
        }

        /** Each whole or not at all. Up to 1 MiB and 1023 files together none is put in place before all were received; beyond, one goes after the other. */
        async writeFiles(id: string, files: FileInput[], options: WithSignal = {}): Promise<void> {
                if (files.length === 0)
                        return;
                // JSON of the daemon has no \u0000: a text that holds one goes as bytes.
                const entries = files.map(f => typeof f.content === 'string' && !f.content.includes('\0')
                        ? { path: f.path, content: f.content, mode: f.mode }
                        : { path: f.path, content: Buffer.from(f.content).toString('base64'), encoding: 'base64', mode: f.mode });
                const body = Buffer.from(JSON.stringify({ files: entries }));

                if (body.length <= BATCH_MAX && files.length <= BATCH_FILES_MAX) {
                        const headers = { 'content-type': 'application/json' };
                        await this.transport.json({ method: 'POST', path: `${sandbox(id)}/files`, body, headers, signal: options.signal });
                        return;
                }
                for (const f of files)
                        await this.writeFile(id, f.path, f.content, { ...options, mode: f.mode });
        }

        /** One file of any size. */
        async writeFile(id: string, path: string, content: string | Uint8Array, options: { mode?: number } & WithSignal = {}): Promise<void> {
                const call = { method: 'PUT', path: `${sandbox(id)}/files`, query: { path, mode: options.mode }, body: Buffer.from(content as Uint8Array), signal: options.signal };
                await this.transport.json(call);
        }

        /** What is in a directory; all of it, however much that is. */
        async listFiles(id: string, path: string, depth?: number): Promise<FileEntry[]> {
                const answer = await this.transport.json({ method: 'GET', path: `${sandbox(id)}/files/list`, query: { path, depth } });
                if (!answer.truncated)
                        return answer.items ?? [];
                const all: FileEntry[] = [];
                for (let cursor: string | undefined; ;) {
                        const part = await this.listFilesPage(id, path, { depth, limit: 1000, cursor });
                        all.push(...part.items);
                        cursor = part.next_cursor;
                        if (cursor === undefined)
                                return all;
                }
        }

        /** The same in parts, in the order of names. What is there all the while is listed once, whatever else comes and goes. */
        listFilesPage(id: string, path: string, options: { depth?: number } & PageOptions = {}): Promise<Page<FileEntry>> {
                return this.transport.json({ method: 'GET', path: `${sandbox(id)}/files/list`, query: { path, ...options } });
        }

        stat(id: string, path: string): Promise<FileEntry | null> {
                return or_null(['file_not_found'], this.transport.json({ method: 'GET', path: `${sandbox(id)}/files/stat`, query: { path } }));
        }

        async mkdir(id: string, path: string, options: { mode?: number; recursive?: boolean } = {}): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/files/mkdir`, body: { path, ...options } });
        }

        async move(id: string, path: string, to: string): Promise<void> {
                await this.transport.json({ method: 'POST', path: `${sandbox(id)}/files/move`, body: { path, target: to } });
        }

        async remove(id: string, path: string, recursive = false): Promise<boolean> {
                return (await this.transport.json({ method: 'DELETE', path: `${sandbox(id)}/files`, query: { path, recursive } })).existed;
        }
}

/** JSON of the daemon has no \u0000: an input that holds one goes as bytes. */
function with_input(request: ExecRequest): object {
        return request.input?.includes('\0') ? { ...request, input: Buffer.from(request.input).toString('base64'), encoding: 'base64' } : request;
}

function part(text: string): string {
        return encodeURIComponent(text);
}

function sandbox(id: string): string {
        return `/v1/sandboxes/${part(id)}`;
}

/** The same promise, with null for the errors named (by code, or all of one status). */
async function or_null<T>(absent: string[] | number, promise: Promise<T>): Promise<T | null> {
        try {
                return await promise;
        } catch (e) {
                if (e instanceof CarrelError && (typeof absent === 'number' ? e.status === absent : absent.includes(e.code)))
                        return null;
                throw e;
        }
}

async function* exec_events(events: AsyncGenerator<{ event: string; data: any }, void, void>): AsyncGenerator<ExecEvent, void, void> {
        for await (const { event, data } of events) {
                if (event === 'started')
                        yield { event, exec: data.exec, pid: data.pid };
                else if (event === 'port')
                        yield { event, exec: data.exec, port: data.port };
                else if (event === 'port-timeout')
                        yield { event, exec: data.exec };
                else if (event === 'stdout' || event === 'stderr')
                        yield { event, offset: data.offset, data: Buffer.from(data.data, 'base64') };
                else if (event === 'end')
                        yield { event, result: data };
                else if (event === 'error')
                        throw new CarrelError(data.error ?? data, 200);
        }
}
