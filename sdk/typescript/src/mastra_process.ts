/*
 * mastra_process.ts - a process in a Carrel sandbox as Mastra sees it.
 *
 * Who dies with whom. A command that Mastra waits for, and a process spawned with an abort signal, is *held*: it runs on the connection
 * of this program, and its whole tree is killed when the signal fires, when this program ends, or when it is killed. A process
 * spawned without one (the tool's `abortSignal: null` or `false`) is *left*: the daemon keeps it, and any later program finds it by its pid.
 * Either way its output has byte offsets, so a connection that breaks (a daemon that is restarted) is taken up where it broke.
 */
import { randomUUID } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

import type { CommandResult, ProcessHandle, ProcessInfo, SpawnProcessOptions } from '@mastra/core/workspace';

import type { CarrelClient, ExecEvent } from './client.ts';
import type { Exec, ExecRequest } from './operations.ts';
import { CarrelError } from './http.ts';
import type { CarrelSandbox } from './mastra.ts';
import { workspace } from './mastra_core.ts';

/** How long a lost connection is tried again before a process counts as lost. */
const RECONNECT_MS = 30_000;
const RECONNECT_STEP_MS = 100;

type Output = Pick<SpawnProcessOptions, 'maxRetainedBytes' | 'onStdout' | 'onStderr'>;

/** What spawn() takes beyond Mastra's own options. */
export interface CarrelSpawnOptions extends SpawnProcessOptions {
        /** Hold it (see above) even without an abort signal. */
        held?: boolean;
}

/** A connection that broke, as opposed to a daemon that said no. */
function is_broken(e: unknown): boolean {
        return !(e instanceof CarrelError) || e.code === 'daemon_unreachable' || e.code === 'unavailable';
}

/** Tries again while the connection breaks: the idempotency key in what is asked gives it one effect. */
async function persist<T>(attempt: () => Promise<T>): Promise<T> {
        const end = Date.now() + RECONNECT_MS;

        for (;;) {
                try {
                        return await attempt();
                } catch (e) {
                        if (!is_broken(e) || Date.now() > end || (e instanceof CarrelError && e.code === 'daemon_unreachable'))
                                throw e;
                        await sleep(RECONNECT_STEP_MS);
                }
        }
}

class CarrelProcess extends workspace.ProcessHandle {
        readonly pid: string;
        exitCode: number | undefined;
        private readonly client: CarrelClient;
        private readonly box: string;
        private readonly exec: number;
        private readonly has_stdin: boolean;
        private readonly timeout?: number;
        private readonly started = Date.now();
        private readonly offsets = { stdout: 0, stderr: 0 };
        private readonly decoders = { stdout: new StringDecoder(), stderr: new StringDecoder() };
        private readonly finished: Promise<CommandResult>;
        private settle!: (result: CommandResult) => void;
        private typed: Promise<void> = Promise.resolve();

        constructor(client: CarrelClient, box: string, exec: number, options: Output & { has_stdin?: boolean; timeout?: number } = {}) {
                super(options);
                this.client = client;
                this.box = box;
                this.exec = exec;
                this.pid = String(exec);
                this.has_stdin = options.has_stdin ?? true;
                this.timeout = options.timeout;
                this.finished = new Promise(resolve => (this.settle = resolve));
        }

        override async wait(): Promise<CommandResult> {
                return this.finished;
        }

        async kill(): Promise<boolean> {
                if (this.exitCode !== undefined)
                        return false;
                return this.client.kill(this.box, this.exec);
        }

        async sendStdin(data: string): Promise<void> {
                this.check_stdin();
                return this.type(data, false);
        }

        override async closeStdin(): Promise<void> {
                this.check_stdin();
                return this.type('', true);
        }

        /** What it has said until now, from a look at an exec that someone else began. */
        take(look: Exec): void {
                for (const name of ['stdout', 'stderr'] as const)
                        this.said(name, look[`${name}_offset`] ?? 0, Buffer.from(look[name] ?? '', 'base64'));
                if (look.state === 'ended' || look.state === 'failed')
                        this.end(look);
        }

        /** Follows it to its end; never throws. Without events it first connects. */
        async follow(events?: AsyncGenerator<ExecEvent, void, void>): Promise<void> {
                let end = Date.now() + RECONNECT_MS;

                while (this.exitCode === undefined) {
                        try {
                                const from = { stdout_offset: this.offsets.stdout, stderr_offset: this.offsets.stderr, lossless: true };
                                for await (const e of events ?? this.client.attach(this.box, this.exec, from)) {
                                        end = Date.now() + RECONNECT_MS;
                                        this.hear(e);
                                }
                        } catch (e) {
                                if (!is_broken(e))
                                        return this.end({ exec: this.exec, state: 'ended', outcome: 'lost', stderr: (e as Error).message });
                        }
                        events = undefined;
                        if (this.exitCode === undefined && Date.now() > end)
                                return this.end({ exec: this.exec, state: 'ended', outcome: 'lost', stderr: 'the daemon does not answer' });
                        if (this.exitCode === undefined)
                                await sleep(RECONNECT_STEP_MS);
                }
        }

        private hear(e: ExecEvent): void {
                if (e.event === 'stdout' || e.event === 'stderr')
                        this.said(e.event, e.offset, e.data);
                else if (e.event === 'end')
                        this.end(e.result);
        }

        private said(name: 'stdout' | 'stderr', offset: number, data: Buffer): void {
                this.offsets[name] = offset + data.length;
                this.emit_text(name, this.decoders[name].write(data));
        }

        private emit_text(name: 'stdout' | 'stderr', text: string): void {
                if (text === '')
                        return;
                if (name === 'stdout')
                        this.emitStdout(text);
                else
                        this.emitStderr(text);
        }

        private end(result: Exec): void {
                const outcome = result.outcome ?? 'exited';
                const timed_out = outcome === 'timed_out';

                if (this.exitCode !== undefined)
                        return;
                for (const name of ['stdout', 'stderr'] as const)
                        this.emit_text(name, this.decoders[name].end());
                if (timed_out)
                        this.emitStderr(`\nProcess timed out after ${this.timeout ?? result.duration_ms}ms`);
                if (outcome === 'lost')
                        this.emitStderr(`\nProcess was lost: ${result.stderr || 'its sandbox is gone'}`);
                this.exitCode = result.exit_code ?? (timed_out ? 124 : 137);
                this.settle({
                        success: this.exitCode === 0, exitCode: this.exitCode, stdout: this.stdout, stderr: this.stderr,
                        executionTimeMs: result.duration_ms ?? Date.now() - this.started, killed: outcome !== 'exited', timedOut: timed_out,
                });
        }

        private check_stdin(): void {
                if (this.exitCode !== undefined)
                        throw new Error(`Process ${this.pid} has already exited with code ${this.exitCode}`);
                if (!this.has_stdin)
                        throw new Error(`Process ${this.pid} does not have stdin available`);
        }

        /** One after the other: two requests on two connections have no order. */
        private type(data: string, is_end: boolean): Promise<void> {
                const sent = this.typed.then(() => this.client.stdin(this.box, this.exec, data, { end: is_end || undefined }));
                this.typed = sent.catch(() => {});
                return sent;
        }
}

export class CarrelProcessManager extends workspace.SandboxProcessManager<CarrelSandbox> {
        override async spawn(command: string, options: CarrelSpawnOptions = {}): Promise<ProcessHandle> {
                const begin = () => this.begin(command, options);
                let handle: CarrelProcess;

                try {
                        handle = await begin();
                } catch (e) {
                        // Its time was over, someone stopped it, or it was lost with the machine's last start: the same name is made again, once.
                        if (!(await this.sandbox.is_over(e)) || !(await this.sandbox.revive()))
                                throw e;
                        handle = await begin();
                }
                this._tracked.set(handle.pid, handle);
                return handle;
        }

        /** What was spawned here, and what other programs left running in the same sandbox. */
        override async list(): Promise<ProcessInfo[]> {
                const listed = new Map<string, ProcessInfo>();

                for (const e of await this.sandbox.client.execs(this.sandbox.boxId)) {
                        const pid = String(e.exec);
                        if ((e.background || this._tracked.has(pid)) && !this._dismissed.has(pid))
                                listed.set(pid, { pid, command: shell_line(e.command), running: e.state === 'running' || e.state === 'starting', exitCode: e.exit_code });
                }
                for (const [pid, handle] of this._tracked)
                        listed.set(pid, { pid, command: handle.command, running: handle.exitCode === undefined, exitCode: handle.exitCode });
                return [...listed.values()];
        }

        override async get(pid: string): Promise<ProcessHandle | undefined> {
                const tracked = this._tracked.get(pid);

                if (tracked || !/^[1-9][0-9]{0,9}$/.test(pid))
                        return tracked;
                return this.find(Number(pid));
        }

        /** An exec that another program began. */
        private async find(exec: number): Promise<ProcessHandle | undefined> {
                const { client, boxId } = this.sandbox;
                const known = await client.execGet(boxId, exec);

                if (!known?.background)
                        return undefined;
                const handle = new CarrelProcess(client, boxId, exec);
                handle.command = shell_line(known.command);
                handle.take(await client.output(boxId, exec, { encoding: 'base64', keep_bytes: 8 << 20 }));
                this._tracked.set(handle.pid, handle);
                void handle.follow();
                return handle;
        }

        private async begin(command: string, options: CarrelSpawnOptions): Promise<CarrelProcess> {
                const { client, boxId } = this.sandbox;
                const is_held = options.held || options.abortSignal !== undefined;
                const has_stdin = options.stdinMode !== 'ignore';
                const request: ExecRequest = {
                        command, cwd: this.sandbox.directory(options.cwd), env: words({ ...this.env, ...options.env }), stdin: has_stdin || undefined,
                        timeout_ms: options.timeout ? Math.ceil(options.timeout) : undefined, lossless: true, key: randomUUID(), background: !is_held,
                };
                const shape = { ...options, has_stdin };

                if (!is_held) {
                        const { exec } = await persist(() => client.exec(boxId, request));
                        const left = new CarrelProcess(client, boxId, exec, shape);
                        void left.follow();
                        return left;
                }
                const { exec, events } = await persist(async () => {
                        const stream = client.stream(boxId, request);
                        const first = await stream.next();
                        if (first.done || first.value.event !== 'started')
                                throw new Error('the connection ended before the process began');
                        return { exec: first.value.exec, events: stream };
                });
                const held = new CarrelProcess(client, boxId, exec, shape);
                void held.follow(events);
                return held;
        }
}

/** What was spawned, without the shell that runs it. */
function shell_line(command: string | undefined): string | undefined {
        return command?.replace(/^\S*sh -c /, '');
}

function words(env: Record<string, string | undefined>): Record<string, string> | undefined {
        const set = Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined);
        return set.length > 0 ? Object.fromEntries(set) : undefined;
}
