/*
 * agentskit.ts - a Carrel sandbox as a SandboxBackend of AgentsKit (@agentskit/sandbox), without needing that package.
 *
 * Network and memory are properties of a sandbox, and options of a call here: so a backend has one sandbox for each pair, made at its
 * first use. Files in it stay from one call to the next; dispose() ends them all.
 */
import { CarrelClient } from './client.ts';
import { CarrelError } from './http.ts';
import type { Place } from './http.ts';
import type { Exec } from './operations.ts';
import { SandboxError } from './agentskit_error.ts';

export { SandboxError } from './agentskit_error.ts';
export type { SandboxErrorCode } from './agentskit_error.ts';
export { createMandatorySandbox } from './agentskit_policy.ts';
export type { MandatoryOptions, MandatorySandbox, PolicyEvent, SandboxPolicy, ToolDefinition, Validator } from './agentskit_policy.ts';

export interface ExecuteOptions {
        /** javascript (default), typescript, python, shell, bash, ruby, perl, ...: what the sandbox has an interpreter for. */
        language?: string;
        /** Milliseconds (30,000): then everything that the code started is killed. */
        timeout?: number;
        /** false (default): no network at all. true: the hosts of the backend's `egress`. */
        network?: boolean;
        /** '512mb': all that the code and its files in memory may take. Without it: the manifest's own limit. */
        memoryLimit?: string;
        /** Bytes kept of stdout and stderr together (1 MiB); what is more is dropped, and standard error says so. */
        maxOutputBytes?: number;
        /** Called with text as it comes. */
        onStdout?: (text: string) => void;
        onStderr?: (text: string) => void;
        /** Standard input of the code. */
        stdin?: string;
        env?: Record<string, string>;
        cwd?: string;
        /** Aborting kills everything that the code started. */
        signal?: AbortSignal;
}

export interface ExecuteResult {
        stdout: string;
        stderr: string;
        /** As in a shell: its own, 128 + signal, 124 timed out, 137 killed. */
        exitCode: number;
        durationMs: number;
        /** exited, signaled, timed_out, oom_killed, ... */
        outcome?: string;
}

export interface SandboxBackend {
        execute(code: string, options?: ExecuteOptions): Promise<ExecuteResult>;
        dispose(): Promise<void>;
}

export interface CarrelBackendOptions extends Place, Pick<ExecuteOptions, 'language' | 'timeout' | 'network' | 'memoryLimit' | 'maxOutputBytes'> {
        /** Hosts that network: true opens: 'api.example.com', '*.example.com:443'. */
        egress?: string[];
        /** The sandbox block (default: no network, no mounts, a private home). Its network and memory limit are replaced by those of the call. */
        manifest?: Record<string, any>;
        /** Absolute directory of the host that the manifest's mounts mean. */
        workspace?: string;
        /** A template of the daemon: python3.13, node24. */
        runtime?: string;
        /** Longest time that a call may ask for, in milliseconds (600,000, or `timeout`). */
        maxTimeout?: number;
        /** Milliseconds after which a sandbox ends by itself, should this program not dispose of it (3,600,000). */
        lifetime?: number;
        /** Asked with what went wrong before a sandbox could be used. Default: this user's daemon. */
        client?: CarrelClient;
}

const TIMEOUT_MS = 30_000, MAX_TIMEOUT_MS = 600_000, LIFETIME_MS = 3_600_000, OUTPUT_BYTES = 1 << 20, MEMORY_MAX_MB = 1 << 30;
const UNITS: Record<string, number> = { '': 1, b: 1, k: 2 ** 10, kb: 2 ** 10, kib: 2 ** 10, m: 2 ** 20, mb: 2 ** 20, mib: 2 ** 20, g: 2 ** 30, gb: 2 ** 30, gib: 2 ** 30, t: 2 ** 40, tb: 2 ** 40, tib: 2 ** 40 };

/** '512mb' in MiB, rounded up. Units are powers of two: what is asked for as a limit is not exceeded by their other reading. */
export function memoryMb(text: string): number {
        const [, digits, unit] = /^\s*(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]{0,3})\s*$/i.exec(String(text)) ?? [];
        const scale = digits === undefined ? undefined : UNITS[unit!.toLowerCase()];
        const mb = scale === undefined ? NaN : Math.ceil(Number(digits) * scale / 2 ** 20);

        if (!(mb >= 1 && mb <= MEMORY_MAX_MB))
                throw new SandboxError('AK_CONFIG_INVALID', `memoryLimit ${JSON.stringify(text)} is no amount of memory`, { hint: "For example '512mb' or '2gb'." });
        return mb;
}

function milliseconds(name: string, value: number | undefined, usual: number): number {
        if (value === undefined)
                return usual;
        if (!Number.isSafeInteger(value) || value < 1)
                throw new SandboxError('AK_CONFIG_INVALID', `${name} must be a whole number of milliseconds from 1 on, not ${value}`, { hint: `For example ${name}: 30_000.` });
        return value;
}

interface Wanted {
        network: boolean;
        memory_mb?: number;
}

/** Why it did not end by itself, for people and models who read standard error. */
function ending(exec: Exec, timeout: number, memory_mb: number | undefined): string | undefined {
        switch (exec.outcome) {
        case 'exited':
        case 'signaled':
                return undefined;
        case 'timed_out':
                return `Sandbox execution timed out after ${timeout}ms`;
        case 'oom_killed':
                return `Sandbox execution exceeded its memory limit${memory_mb === undefined ? '' : ` of ${memory_mb} MiB`} and was killed`;
        default:
                return `Sandbox execution was killed: ${exec.outcome}`;
        }
}

/** Text of one stream: whole characters, whatever the pieces. */
class Heard {
        private readonly decoder = new TextDecoder();
        private readonly tell?: (text: string) => void;
        text = '';

        constructor(tell?: (text: string) => void) {
                this.tell = tell;
        }

        add(bytes?: Uint8Array): void {
                const text = this.decoder.decode(bytes, { stream: bytes !== undefined });

                this.text += text;
                if (text !== '')
                        this.tell?.(text);
        }

        line(sentence: string): void {
                const text = `${this.text === '' || this.text.endsWith('\n') ? '' : '\n'}${sentence}\n`;

                this.text += text;
                this.tell?.(text);
        }
}

class CarrelBackend implements SandboxBackend {
        private readonly options: CarrelBackendOptions;
        private readonly client: CarrelClient;
        private readonly boxes = new Map<string, Promise<string>>();
        private is_disposed = false;

        constructor(options: CarrelBackendOptions) {
                this.options = options;
                this.client = options.client ?? new CarrelClient(options);
                // what is wrong with the options is said now, and not at the first call
                this.wanted({});
                milliseconds('timeout', options.timeout, TIMEOUT_MS);
                milliseconds('maxTimeout', options.maxTimeout, MAX_TIMEOUT_MS);
                milliseconds('lifetime', options.lifetime, LIFETIME_MS);
        }

        async execute(code: string, options: ExecuteOptions = {}): Promise<ExecuteResult> {
                const timeout = milliseconds('timeout', options.timeout ?? this.options.timeout, TIMEOUT_MS), wanted = this.wanted(options);

                if (typeof code !== 'string')
                        throw new SandboxError('AK_CONFIG_INVALID', `code must be a text, not ${typeof code}`);
                try {
                        return await this.run(await this.box(wanted), code, options, timeout, wanted);
                } catch (e) {
                        // a sandbox that ended meanwhile (its lifetime, a restarted daemon) started nothing: another one takes the call
                        if (!(e instanceof CarrelError && (e.code === 'sandbox_not_found' || e.code === 'sandbox_gone')) || this.is_disposed)
                                throw SandboxError.of(e);
                        this.boxes.delete(JSON.stringify(wanted));
                }
                try {
                        return await this.run(await this.box(wanted), code, options, timeout, wanted);
                } catch (e) {
                        throw SandboxError.of(e);
                }
        }

        async dispose(): Promise<void> {
                const boxes = [...this.boxes.values()];

                this.is_disposed = true;
                this.boxes.clear();
                for (const one of await Promise.allSettled(boxes))
                        if (one.status === 'fulfilled')
                                try {
                                        await this.client.stop(one.value);
                                } catch (e) {
                                        throw SandboxError.of(e);
                                }
        }

        [Symbol.for('Symbol.asyncDispose')](): Promise<void> {
                return this.dispose();
        }

        private wanted(options: ExecuteOptions): Wanted {
                const network = options.network ?? this.options.network ?? false, memory = options.memoryLimit ?? this.options.memoryLimit;

                if (network && this.egress().length === 0)
                        throw new SandboxError('AK_SANDBOX_DENIED', 'network: true opens the hosts of `egress`, and it lists none', { hint: "Name them: carrelBackend({ egress: ['api.example.com'] })." });
                return { network, memory_mb: memory === undefined ? undefined : memoryMb(memory) };
        }

        private egress(): string[] {
                return this.options.egress ?? this.options.manifest?.['network']?.egress ?? [];
        }

        private manifest(wanted: Wanted): object {
                const base = this.options.manifest ?? { provider: 'local', config: {} }, { timeoutMs: _, memoryMb: own_mb, ...limits } = base['limits'] ?? {};
                const longest = this.options.maxTimeout ?? Math.max(MAX_TIMEOUT_MS, this.options.timeout ?? 0), memory_mb = wanted.memory_mb ?? limits.memory_mb ?? own_mb;

                return {
                        ...base,
                        limits: { ...limits, timeout_ms: longest, ...(memory_mb === undefined ? {} : { memory_mb }) },
                        network: { ...base['network'], egress: wanted.network ? this.egress() : [] },
                };
        }

        private box(wanted: Wanted): Promise<string> {
                const key = JSON.stringify(wanted);
                let box = this.boxes.get(key);

                if (this.is_disposed)
                        throw new SandboxError('AK_SANDBOX_BACKEND_FAILED', 'this backend was disposed of', { hint: 'Make another with carrelBackend().' });
                if (!box) {
                        box = this.create(wanted);
                        this.boxes.set(key, box);
                        box.catch(() => this.boxes.get(key) === box && this.boxes.delete(key));
                }
                return box;
        }

        private async create(wanted: Wanted): Promise<string> {
                const { workspace, runtime, lifetime } = this.options;
                const made = await this.client.create({ manifest: this.manifest(wanted), workspace, runtime, timeout_ms: lifetime ?? LIFETIME_MS });
                const loose = made.warnings?.find(w => w.code === 'limit_unenforceable:memory_mb');

                if (loose && wanted.memory_mb !== undefined) {
                        await this.client.stop(made.id);
                        throw new SandboxError('AK_SANDBOX_BACKEND_FAILED', `this host cannot enforce memoryLimit: ${loose.message}`, { hint: '`carrel doctor` names what is missing. Leave memoryLimit out to run without a limit.' });
                }
                return made.id;
        }

        private async run(box: string, code: string, options: ExecuteOptions, timeout: number, wanted: Wanted): Promise<ExecuteResult> {
                const { language, stdin, env, cwd, signal } = options, most = options.maxOutputBytes ?? this.options.maxOutputBytes ?? OUTPUT_BYTES;
                const out = new Heard(options.onStdout), err = new Heard(options.onStderr), began = performance.now();
                const request = { language: language ?? this.options.language ?? 'javascript', code, input: stdin, env, cwd, timeout_ms: timeout, output_bytes: most, lossless: true };

                for await (const e of this.client.streamCode(box, request, { signal })) {
                        if (e.event === 'stdout' || e.event === 'stderr')
                                (e.event === 'stdout' ? out : err).add(e.data);
                        if (e.event !== 'end')
                                continue;
                        if (e.result.outcome === 'lost')
                                throw new SandboxError('AK_SANDBOX_BACKEND_FAILED', 'the sandbox broke off before the end of the code was known');
                        out.add();
                        err.add();
                        if ((e.result.dropped_bytes ?? 0) > 0)
                                err.line(`[output truncated at ${most} bytes]`);
                        const sentence = ending(e.result, timeout, wanted.memory_mb);
                        if (sentence !== undefined)
                                err.line(sentence);
                        return { stdout: out.text, stderr: err.text, exitCode: e.result.exit_code ?? 137, durationMs: e.result.duration_ms ?? Math.round(performance.now() - began), outcome: e.result.outcome };
                }
                throw new SandboxError('AK_SANDBOX_BACKEND_FAILED', 'the daemon closed the connection before the end of the code');
        }
}

/** A backend whose sandboxes are of the Carrel daemon of this machine. Nothing is started before the first execute(). */
export function carrelBackend(options: CarrelBackendOptions = {}): SandboxBackend {
        return new CarrelBackend(options);
}

export interface SandboxConfig extends CarrelBackendOptions {
        /** Another backend; the other options then only give the defaults of a call. */
        backend?: SandboxBackend;
}

/** AgentsKit's createSandbox(): the defaults of a call, in front of a backend (default: carrelBackend()). */
export function createSandbox(config: SandboxConfig = {}): SandboxBackend {
        const { backend = carrelBackend(config), language = 'javascript', timeout = TIMEOUT_MS, network = false, memoryLimit, maxOutputBytes } = config;

        return {
                execute: (code, options) => backend.execute(code, { language, timeout, network, memoryLimit, maxOutputBytes, ...options }),
                dispose: () => backend.dispose(),
        };
}
