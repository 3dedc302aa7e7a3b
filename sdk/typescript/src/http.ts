/*
 * http.ts - one HTTP request to the daemon, over its unix socket or over loopback TCP, and the reading of a stream of events.
 *
 * Knows node:http and nothing of sandboxes. Every answer that is no success becomes a CarrelError.
 */
import * as http from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';

/** Where the daemon is. Without any of these: CARREL_URL, then CARREL_STATE, then the place a daemon of this user has by default. */
export interface Place {
        /** Its unix socket. */
        socket?: string;
        /** Its state directory; the socket in it is used. */
        state?: string;
        /** http://127.0.0.1:PORT, when it listens on TCP. */
        url?: string;
        /** The token that TCP asks for; the environment's CARREL_TOKEN stands in. */
        token?: string;
}

/** What the daemon said instead of doing it. `code` is stable; `hint` says what to do next. */
export class CarrelError extends Error {
        readonly code: string;
        readonly status: number;
        /** Place in the caller's own input, slash-separated. */
        readonly path?: string;
        readonly line?: number;
        readonly column?: number;
        readonly reason?: string;
        readonly hint?: string;

        constructor(said: { code?: string; message?: string; path?: string; line?: number; column?: number; reason?: string; hint?: string }, status: number, cause?: unknown) {
                super(said.message ?? `the daemon answered ${status}`, cause === undefined ? undefined : { cause });
                this.name = 'CarrelError';
                this.code = said.code ?? 'protocol_error';
                this.status = status;
                this.path = said.path;
                this.line = said.line;
                this.column = said.column;
                this.reason = said.reason;
                this.hint = said.hint;
        }
}

export interface Call {
        method: string;
        path: string;
        query?: Record<string, string | number | boolean | undefined>;
        /** An object goes as JSON, bytes as they are. */
        body?: object | Buffer;
        headers?: Record<string, string>;
        signal?: AbortSignal;
}

/** One event of a stream: its name, and its data as JSON. */
export interface StreamEvent {
        event: string;
        data: any;
}

function default_state(): string {
        if (process.getuid?.() === 0)
                return '/var/lib/carrel';
        return path.join(process.env['XDG_STATE_HOME'] || path.join(os.homedir(), '.local', 'state'), 'carrel');
}

/** The request options that lead to the daemon. */
function target(place: Place): http.RequestOptions {
        const is_silent = !place.socket && !place.state;
        const url = place.url ?? (is_silent ? process.env['CARREL_URL'] : undefined);

        if (url) {
                const u = new URL(url);
                return { host: u.hostname, port: u.port || 80, setHost: true };
        }
        const socket = place.socket ?? path.join(place.state ?? process.env['CARREL_STATE'] ?? default_state(), 'carrel.sock');
        return { socketPath: socket, host: 'localhost' };
}

async function text_of(answer: http.IncomingMessage): Promise<string> {
        return (await bytes_of(answer)).toString('utf8');
}

export async function bytes_of(answer: http.IncomingMessage): Promise<Buffer> {
        const parts: Buffer[] = [];
        for await (const part of answer)
                parts.push(part as Buffer);
        return Buffer.concat(parts);
}

export class Transport {
        private readonly to: http.RequestOptions;
        private readonly token?: string;
        /** How people find what was asked: the socket's path, or host and port. */
        readonly where: string;

        constructor(place: Place) {
                this.to = target(place);
                this.token = place.token ?? process.env['CARREL_TOKEN'];
                this.where = this.to.socketPath ?? `${this.to.host}:${this.to.port}`;
        }

        /** Sends it; the answer's body is still to be read. Throws a CarrelError for anything but a success. */
        async open(call: Call): Promise<http.IncomingMessage> {
                const answer = await this.send(call);
                const status = answer.statusCode ?? 0;

                if (status >= 200 && status < 300)
                        return answer;
                const said = await text_of(answer);
                let error: any = {};
                try {
                        error = JSON.parse(said).error ?? {};
                } catch {
                        error = { message: said.trim() || undefined };
                }
                throw new CarrelError(error, status);
        }

        /** The answer as JSON; undefined where it has no body. */
        async json(call: Call): Promise<any> {
                const text = await text_of(await this.open(call));
                return text === '' ? undefined : JSON.parse(text);
        }

        /** The events of a stream, until it ends. Leaving the loop closes the connection. */
        async *events(call: Call): AsyncGenerator<StreamEvent, void, void> {
                const answer = await this.open({ ...call, headers: { ...call.headers, accept: 'text/event-stream' } });
                try {
                        yield* read_events(answer);
                } finally {
                        answer.destroy();
                }
        }

        private send(call: Call): Promise<http.IncomingMessage> {
                const query = new URLSearchParams();
                for (const [name, value] of Object.entries(call.query ?? {}))
                        if (value !== undefined)
                                query.set(name, String(value));
                const is_raw = Buffer.isBuffer(call.body);
                const body = call.body === undefined ? undefined : is_raw ? (call.body as Buffer) : Buffer.from(JSON.stringify(call.body));
                const headers: Record<string, string> = { ...call.headers };
                if (body !== undefined)
                        headers['content-type'] ??= is_raw ? 'application/octet-stream' : 'application/json';
                if (body !== undefined)
                        headers['content-length'] = String(body.length);
                if (this.token !== undefined)
                        headers['authorization'] = `Bearer ${this.token}`;
                const tail = query.size > 0 ? `?${query}` : '';
                // A connection each: one that was idle may be closed just as it is used again, and the socket is near.
                const options = { ...this.to, agent: false as const, method: call.method, path: call.path + tail, headers, signal: call.signal };

                return new Promise((resolve, reject) => {
                        const request = http.request(options, resolve);
                        request.on('error', e => reject(this.explain(e as NodeJS.ErrnoException)));
                        request.end(body);
                });
        }

        private explain(e: NodeJS.ErrnoException): Error {
                if (e.code !== 'ENOENT' && e.code !== 'ECONNREFUSED')
                        return e;
                return new CarrelError({ code: 'daemon_unreachable', message: `no daemon answers at ${this.where}`, hint: 'Start one with `carrel serve`.' }, 0, e);
        }
}

/** Server-sent events: blocks of `event:` and `data:` lines, an empty line after each. */
async function* read_events(answer: http.IncomingMessage): AsyncGenerator<StreamEvent, void, void> {
        let rest = '';
        let event = '';
        let data: string[] = [];

        answer.setEncoding('utf8');
        for await (const part of answer) {
                const lines = (rest + part).split('\n');
                rest = lines.pop() ?? '';
                for (const raw of lines) {
                        const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
                        if (line === '') {
                                if (data.length > 0)
                                        yield { event: event || 'message', data: JSON.parse(data.join('\n')) };
                                event = '';
                                data = [];
                        } else if (line.startsWith('event:')) {
                                event = line.slice(6).trim();
                        } else if (line.startsWith('data:')) {
                                data.push(line.slice(line[5] === ' ' ? 6 : 5));
                        }
                }
        }
}
