/*
 * client.ts - every operation of a Carrel daemon as a method. Names and units are those of the daemon's own OpenAPI page
 * (GET /v1/openapi.json): what goes in and what comes out is its JSON, unchanged. Routes and types are printed from it: operations.ts.
 *
 * `null` stands for what is not there; everything else that does not work throws a CarrelError.
 */
import { bytes_of, CarrelError, Transport } from './http.ts';
import type { Call, Place } from './http.ts';
import { OPERATIONS } from './operations.ts';
import type {
        Approval, CodeRequest, DaemonEvent, DaemonInfo, Denial, Exec, ExecRequest, FileEntry, LeftBehind, Limits, LimitsRequest, Operation, OperationName, PortUrl, SandboxEntry, SandboxRequest, Token, Usage, Volume,
} from './operations.ts';

/** One part of a list. With next_cursor there is more: give it as cursor. */
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

export interface FileInput {
        path: string;
        content: string | Uint8Array;
        mode?: number;
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

        private ask(name: OperationName, args: object = {}, more: Partial<Call> = {}): Promise<any> {
                return this.transport.json(call_of(name, args, more));
        }

        // -- the daemon ---------------------------------------------------------------------------------------

        info(): Promise<DaemonInfo> {
                return this.ask('info');
        }

        /**
         * What happens, as it happens, in one sandbox or in all of the caller's; with last_event_id what happened after that event.
         * If that is no longer kept, the first event is `missed`: list what there is.
         */
        async *watch(options: { id?: string; last_event_id?: string } & WithSignal = {}): AsyncGenerator<DaemonEvent, void, void> {
                const headers = options.last_event_id === undefined ? undefined : { 'last-event-id': options.last_event_id };
                for await (const e of this.transport.events(call_of('watch', { id: options.id }, { headers, signal: options.signal })))
                        yield { ...e.data, event: e.data.event ?? e.event };
        }

        /** A token; scope `read` sees get and list; `approve` also answers requests for approval. Its value is shown this once. */
        createToken(request: { owner?: string; scope?: 'all' | 'read' | 'approve' } = {}): Promise<Token & { token: string }> {
                return this.ask('token.create', request);
        }

        /** The tokens there are, without their values. */
        async tokens(): Promise<Token[]> {
                return (await this.ask('token.list')).items ?? [];
        }

        async revokeToken(id: string): Promise<boolean> {
                return (await this.ask('token.revoke', { id })).existed;
        }

        // -- volumes ------------------------------------------------------------------------------------------

        /** Creates a volume of the caller; an existing one is not changed. */
        createVolume(name: string): Promise<Volume> {
                return this.ask('volume.create', { name });
        }

        async volumes(): Promise<Volume[]> {
                return (await this.ask('volume.list')).items ?? [];
        }

        /** Removes a volume with its content. An error while a sandbox uses it. */
        async removeVolume(name: string): Promise<boolean> {
                return (await this.ask('volume.remove', { name })).existed;
        }

        /** What the caller's sandboxes have used, also those that ended. The one without an id is the sum. */
        async usages(): Promise<Usage[]> {
                return (await this.ask('usage.list')).items ?? [];
        }

        /** What one sandbox has used since it started. A figure that the daemon's machine does not measure is absent. */
        usage(id: string): Promise<Usage> {
                return this.ask('usage', { id });
        }

        // -- approvals ----------------------------------------------------------------------------------------

        /** Requests for approval of the caller's sandboxes: those that wait, and those that were answered lately. */
        async approvals(): Promise<Approval[]> {
                return (await this.ask('approval.list')).items ?? [];
        }

        /** One request, with everything that the answer binds. */
        approval(id: string): Promise<Approval> {
                return this.ask('approval.get', { id });
        }

        /** Answers a request, once. For users of this machine, and tokens of scope `approve`. */
        answerApproval(id: string, verdict: 'approve' | 'deny', reason?: string): Promise<Approval> {
                return this.ask('approval.answer', { id, verdict, reason });
        }

        // -- sandboxes ----------------------------------------------------------------------------------------

        create(request: SandboxRequest = {}): Promise<SandboxEntry> {
                return this.ask('create', request);
        }

        /** One out of the pool of ready ones. */
        claim(request: SandboxRequest = {}): Promise<SandboxEntry> {
                return this.ask('claim', request);
        }

        get(id: string): Promise<SandboxEntry | null> {
                return or_null(['sandbox_not_found'], this.ask('get', { id }));
        }

        async list(): Promise<SandboxEntry[]> {
                return (await this.ask('list')).items ?? [];
        }

        /** The same in parts, for long lists: of sandboxes, of one sandbox's execs and denials, of tokens. */
        listPage(options: PageOptions = {}): Promise<Page<SandboxEntry>> {
                return this.ask('list', options);
        }

        execsPage(id: string, options: PageOptions = {}): Promise<Page<Exec>> {
                return this.ask('exec.list', { id, ...options });
        }

        denialsPage(id: string, options: PageOptions = {}): Promise<Page<Denial>> {
                return this.ask('denials', { id, ...options });
        }

        tokensPage(options: PageOptions = {}): Promise<Page<Token>> {
                return this.ask('token.list', options);
        }

        /** Stops and destroys it; says whether it existed. */
        async stop(id: string): Promise<boolean> {
                return (await this.ask('stop', { id })).existed;
        }

        /** Adds to the time it has left. */
        extend(id: string, duration_ms: number, key?: string): Promise<SandboxEntry> {
                return this.ask('extend', { id, duration_ms, key });
        }

        pause(id: string): Promise<SandboxEntry> {
                return this.ask('pause', { id });
        }

        resume(id: string): Promise<SandboxEntry> {
                return this.ask('resume', { id });
        }

        /** What its commands left in the workspace, since the last such call, that programs of the host act on. */
        async takeLeftBehind(id: string): Promise<LeftBehind[]> {
                return (await this.ask('left.take', { id })).left_behind ?? [];
        }

        /** What its commands asked of the network and were refused, oldest first. */
        async denials(id: string): Promise<Denial[]> {
                return (await this.ask('denials', { id })).items ?? [];
        }

        /** Gives it another network.egress, whole or not at all; what that no longer allows is closed. */
        setNetwork(id: string, egress: string[]): Promise<SandboxEntry> {
                return this.ask('network', { id, egress });
        }

        /** Its limits, and what is used of them now. */
        limits(id: string): Promise<Limits> {
                return this.ask('limits', { id });
        }

        /** Changes the limits that are named: all of them, or none. Nothing is killed: memory that is in use is limit_in_use. */
        setLimits(id: string, limits: LimitsRequest): Promise<Limits> {
                return this.ask('limits.set', { id, ...limits });
        }

        /** A URL with a token that reaches a declared port. */
        url(id: string, port: number): Promise<PortUrl> {
                return this.ask('url', { id, port });
        }

        /** What a model should know about this sandbox, in words. */
        async instructions(id: string): Promise<string> {
                return (await this.ask('instructions', { id })).text;
        }

        event(id: string, event: string): Promise<SandboxEntry> {
                return this.ask('event', { id, event });
        }

        async beginTask(id: string, task: string, timeout_ms: number): Promise<void> {
                await this.ask('task.begin', { id, task, timeout_ms });
        }

        async endTask(id: string, task: string): Promise<boolean> {
                return (await this.ask('task.end', { id, task })).existed;
        }

        // -- execs --------------------------------------------------------------------------------------------

        /** Runs it and waits for its end (with background: only for its beginning). Abandoning a foreground exec kills its tree. */
        exec(id: string, request: ExecRequest, options: WithSignal = {}): Promise<Exec> {
                return this.ask('exec.start', { id, ...with_input(request) }, options);
        }

        /** Runs it and says what it says, as it says it. Leaving the loop kills the tree of a foreground exec. */
        stream(id: string, request: ExecRequest, options: WithSignal = {}): AsyncGenerator<ExecEvent, void, void> {
                return exec_events(this.transport.events(call_of('exec.start', { id, ...with_input(request) }, { ...options, query: { encoding: 'base64' } })));
        }

        /** Runs code with the interpreter of the sandbox and waits for its end; otherwise like exec(). */
        runCode(id: string, request: CodeRequest, options: WithSignal = {}): Promise<Exec> {
                return this.ask('code.run', { id, ...with_input(request) }, options);
        }

        /** Runs code and says what it says, as it says it. Leaving the loop kills everything that the code started. */
        streamCode(id: string, request: CodeRequest, options: WithSignal = {}): AsyncGenerator<ExecEvent, void, void> {
                return exec_events(this.transport.events(call_of('code.run', { id, ...with_input(request) }, { ...options, query: { encoding: 'base64' } })));
        }

        /** What it said from these bytes on, to its end. Leaving the loop leaves it alone. */
        attach(id: string, exec: number, options: { stdout_offset?: number; stderr_offset?: number; lossless?: boolean } & WithSignal = {}): AsyncGenerator<ExecEvent, void, void> {
                const { signal, ...from } = options;
                return exec_events(this.transport.events(call_of('exec.attach', { id, exec, encoding: 'base64', ...from }, { signal })));
        }

        async execs(id: string): Promise<Exec[]> {
                return (await this.ask('exec.list', { id })).items ?? [];
        }

        /** One exec as it stands; null where there is none of this number. */
        /** With wait_ports: as soon as a declared port listens, the exec ends, or wait_ports_ms is over. */
        execGet(id: string, exec: number, options: { wait_ports?: boolean; wait_ports_ms?: number } & WithSignal = {}): Promise<Exec | null> {
                const { signal, ...query } = options;
                return or_null(404, this.ask('exec.get', { id, exec, ...query }, { signal }));
        }

        /** Its output: the newest keep_bytes (1 MiB; at most 8 MiB) of each stream; with wait, after its end. With encoding base64 every byte is as it was. */
        output(id: string, exec: number, options: { wait?: boolean; encoding?: 'base64'; keep_bytes?: number } & WithSignal = {}): Promise<Exec> {
                const { signal, ...query } = options;
                return this.ask('exec.attach', { id, exec, ...query }, { signal });
        }

        async stdin(id: string, exec: number, data: string | Uint8Array, options: { end?: boolean } = {}): Promise<void> {
                await this.ask('exec.stdin', { id, exec, end: options.end }, { body: Buffer.from(data as Uint8Array) });
        }

        async resize(id: string, exec: number, rows: number, columns: number): Promise<void> {
                await this.ask('exec.resize', { id, exec, rows, columns });
        }

        /** Sends a signal, by its number, to its process group. */
        async signal(id: string, exec: number, signal: number): Promise<void> {
                await this.ask('exec.signal', { id, exec, signal });
        }

        /** Kills its whole tree; says whether it still ran. */
        async kill(id: string, exec: number): Promise<boolean> {
                return (await this.ask('exec.kill', { id, exec })).existed;
        }

        // -- files --------------------------------------------------------------------------------------------

        /** Its bytes, or those from offset on; null where there is no such file. */
        readFile(id: string, path: string, range: { offset?: number; length?: number } = {}): Promise<Buffer | null> {
                return or_null(['file_not_found'], this.transport.open(call_of('file.read', { id, path, ...range })).then(bytes_of));
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
                        await this.ask('file.write', { id }, { ...options, body, headers });
                        return;
                }
                for (const f of files)
                        await this.writeFile(id, f.path, f.content, { ...options, mode: f.mode });
        }

        /** One file of any size. */
        async writeFile(id: string, path: string, content: string | Uint8Array, options: { mode?: number } & WithSignal = {}): Promise<void> {
                await this.ask('file.put', { id, path, mode: options.mode }, { body: Buffer.from(content as Uint8Array), signal: options.signal });
        }

        /** What is in a directory; all of it, however much that is. */
        async listFiles(id: string, path: string, depth?: number): Promise<FileEntry[]> {
                const answer = await this.ask('file.list', { id, path, depth });
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
                return this.ask('file.list', { id, path, ...options });
        }

        stat(id: string, path: string): Promise<FileEntry | null> {
                return or_null(['file_not_found'], this.ask('file.stat', { id, path }));
        }

        async mkdir(id: string, path: string, options: { mode?: number; recursive?: boolean } = {}): Promise<void> {
                await this.ask('file.mkdir', { id, path, ...options });
        }

        async move(id: string, path: string, to: string): Promise<void> {
                await this.ask('file.move', { id, path, target: to });
        }

        async remove(id: string, path: string, recursive = false): Promise<boolean> {
                return (await this.ask('file.remove', { id, path, recursive })).existed;
        }
}

/** JSON of the daemon has no \u0000: an input that holds one goes as bytes. */
function with_input(request: ExecRequest | CodeRequest): object {
        return request.input?.includes('\0') ? { ...request, input: Buffer.from(request.input).toString('base64'), encoding: 'base64' } : request;
}

/**
 * The request of an operation: each argument is in the route, the query or the body, as its row says. One that no row has is sent
 * too: the daemon refuses it by its name.
 */
function call_of(name: OperationName, args: object, more: Partial<Call> = {}): Call {
        const o: Operation = OPERATIONS[name];
        const rest = new Map(Object.entries(args).filter(([, value]) => value !== undefined));
        const path = o.route.replace(/\{(\w+)\}/g, (_, word) => {
                const value = String(rest.get(word));

                rest.delete(word);
                return encodeURIComponent(value);
        });
        const is_bodiless = o.method === 'GET' || o.method === 'DELETE';
        const query: Record<string, any> = {}, body: Record<string, any> = {};

        for (const [word, value] of rest)
                (is_bodiless || (o.query.includes(word) && !o.body.includes(word)) ? query : body)[word] = value;
        return { method: o.method, path, body: o.body.length > 0 || Object.keys(body).length > 0 ? body : undefined, ...more, query: { ...query, ...more.query } };
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
