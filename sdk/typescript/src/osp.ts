/*
 * osp.ts - OSP's sandbox interface (os://protocol, system/sandbox) over a Carrel daemon.
 *
 * The types are those of the protocol, word for word. What the protocol has no word for travels under `metadata`: in create(),
 * `metadata.carrel` says more than OSP can (CarrelExtensions below); in a result, `metadata` holds what Carrel knows beyond it.
 * A fourth argument of exec() does the same for one command; callers of the bare interface never see it.
 */
import { CarrelClient } from './client.ts';
import type { Exec, ExecRequest, SandboxEntry as CarrelEntry } from './operations.ts';
import { CarrelError } from './http.ts';
import type { Place } from './http.ts';

export type SandboxStatus = 'pending' | 'running' | 'stopping' | 'stopped' | 'failed';

export interface SandboxEntry {
        /** Unique sandbox identifier */
        id: string;
        /** Current lifecycle status */
        status: SandboxStatus;
        /** When the sandbox was created (Unix ms) */
        createdAt: number;
        /** Remaining time before auto-stop (ms) */
        timeout?: number;
        /** Extensible metadata for provider-specific data */
        metadata?: Record<string, unknown>;
}

export interface SandboxConfig {
        /** Runtime or template identifier (e.g., "node24", "python3.13") */
        runtime?: string;
        /** Initial timeout in milliseconds before auto-stop */
        timeout?: number;
        /** Environment variables to inject */
        env?: Record<string, string>;
        /** Ports to expose for external access */
        ports?: number[];
        /** Extensible metadata for provider-specific data */
        metadata?: Record<string, unknown>;
}

export interface CommandResult {
        /** Process exit code (0 = success) */
        exitCode: number;
        /** Standard output */
        stdout: string;
        /** Standard error */
        stderr: string;
        /** Extensible metadata for provider-specific data */
        metadata?: Record<string, unknown>;
}

export interface SandboxFile {
        /** File path within the sandbox */
        path: string;
        /** File contents */
        content: string;
}

export interface Sandbox {
        create(config?: SandboxConfig): Promise<SandboxEntry>;
        get(id: string): Promise<SandboxEntry | null>;
        list(): Promise<SandboxEntry[]>;
        stop(id: string): Promise<boolean>;
        exec(id: string, command: string, args?: string[]): Promise<CommandResult>;
        readFile(id: string, path: string): Promise<string | null>;
        writeFiles(id: string, files: SandboxFile[]): Promise<void>;
        getUrl(id: string, port: number): Promise<string | null>;
        extendTimeout(id: string, duration: number): Promise<void>;
}

export type SandboxContext = Pick<Sandbox, 'get' | 'list'>;
export type SandboxActions = Omit<Sandbox, 'get' | 'list'>;

/** How one command runs, beyond its words. */
export interface ExecOptions {
        cwd?: string;
        env?: Record<string, string>;
        /** Given to its standard input, which then ends. */
        stdin?: string;
        /** Milliseconds until its process tree is killed (exitCode 124). */
        timeout?: number;
        /** Answer at once; metadata.exec is the number to ask for later. */
        background?: boolean;
}

/** `metadata.carrel` of create(): what OSP has no field for. */
export interface CarrelExtensions {
        /** A sandbox block, or the text of a SANDBOX.md. */
        manifest?: object | string;
        /** Absolute directory of the host that the manifest's mounts mean. */
        workspace?: string;
        /** A name; there is never a second sandbox of it. */
        name?: string;
        /** For every exec() in this sandbox that does not say otherwise. */
        exec?: Omit<ExecOptions, 'stdin'>;
}

/** What exec() has to know of a sandbox: kept after the first look, because neither part ever changes. */
interface Known {
        has_ports: boolean;
        defaults: ExecOptions;
}

const KNOWN_MAX = 1000;

/** Without a limit on the time of a command: OSP knows the sandbox's time alone. */
const PLAIN = { provider: 'local', config: {} };

export class CarrelOsp implements Sandbox {
        readonly client: CarrelClient;
        private readonly known = new Map<string, Known>();

        constructor(place: Place | CarrelClient = {}) {
                this.client = place instanceof CarrelClient ? place : new CarrelClient(place);
        }

        async create(config: SandboxConfig = {}): Promise<SandboxEntry> {
                const { manifest, workspace, name, ...kept } = extensions_of(config.metadata);
                const { runtime, timeout, env, ports } = config;
                // A manifest has a field of its own, and metadata has a bound: it is not sent twice.
                const metadata = manifest === undefined ? config.metadata : { ...config.metadata, carrel: { ...kept, workspace, name } };
                const entry = await this.client.create({ runtime, timeout_ms: timeout, env, ports, metadata, manifest: manifest ?? PLAIN, workspace, name });

                this.learn(entry);
                return entry_of(entry);
        }

        async get(id: string): Promise<SandboxEntry | null> {
                const entry = may_be(id) ? await this.client.get(id) : null;
                return entry && entry_of(entry);
        }

        async list(): Promise<SandboxEntry[]> {
                return (await this.client.list()).map(entry_of);
        }

        async stop(id: string): Promise<boolean> {
                this.known.delete(id);
                return may_be(id) && this.client.stop(id);
        }

        /** Waits for the command's end; in a sandbox with declared ports, only until one of them listens. */
        async exec(id: string, command: string, args: string[] = [], options: ExecOptions = {}): Promise<CommandResult> {
                const { has_ports, defaults } = await this.know(id);
                const { cwd, env, stdin, timeout, background } = { ...defaults, ...options };
                const request: ExecRequest = { argv: [command, ...args], cwd, env: { ...defaults.env, ...env }, input: stdin, timeout_ms: timeout, background };

                if (has_ports && !background)
                        request.wait_ports = true;
                try {
                        return result_of(await this.client.exec(id, request));
                } catch (e) {
                        return not_started(command, e);
                }
        }

        async readFile(id: string, path: string): Promise<string | null> {
                if (!may_be(id))
                        return null;
                try {
                        return (await this.client.readFile(id, path))?.toString('utf8') ?? null;
                } catch (e) {
                        return null_if_absent(e);
                }
        }

        writeFiles(id: string, files: SandboxFile[]): Promise<void> {
                return this.client.writeFiles(id, files);
        }

        async getUrl(id: string, port: number): Promise<string | null> {
                if (!may_be(id) || !(Number.isInteger(port) && port > 0 && port < 65536))
                        return null;
                try {
                        return (await this.client.url(id, port)).url;
                } catch (e) {
                        return null_if_absent(e);
                }
        }

        async extendTimeout(id: string, duration: number): Promise<void> {
                await this.client.extend(id, duration);
        }

        /** The read-only half, for the context phase of an agent's loop. */
        context(): SandboxContext {
                return { get: id => this.get(id), list: () => this.list() };
        }

        /** The writing half, for its actions phase. */
        actions(): SandboxActions {
                return {
                        create: config => this.create(config), stop: id => this.stop(id), exec: (id, command, args) => this.exec(id, command, args),
                        writeFiles: (id, files) => this.writeFiles(id, files), readFile: (id, path) => this.readFile(id, path),
                        getUrl: (id, port) => this.getUrl(id, port), extendTimeout: (id, duration) => this.extendTimeout(id, duration),
                };
        }

        private async know(id: string): Promise<Known> {
                const known = this.known.get(id);
                if (known)
                        return known;
                const entry = may_be(id) ? await this.client.get(id) : null;
                if (!entry)
                        throw new CarrelError({ code: 'sandbox_not_found', message: `there is no sandbox ${id}`, hint: 'list() says which there are.' }, 404);
                return this.learn(entry);
        }

        private learn(entry: CarrelEntry): Known {
                const known = { has_ports: (entry.ports ?? []).length > 0, defaults: extensions_of(entry.metadata).exec ?? {} };

                if (this.known.size >= KNOWN_MAX)
                        this.known.clear();
                this.known.set(entry.id, known);
                return known;
        }
}

/** Can a sandbox be called so? No other word is asked about: it would not be one of the daemon's paths. */
function may_be(id: string): boolean {
        return /^[a-z0-9][a-z0-9_.-]{0,63}$/.test(id);
}

function extensions_of(metadata: unknown): CarrelExtensions {
        const own = (metadata as { carrel?: unknown } | null | undefined)?.carrel;
        return typeof own === 'object' && own !== null ? (own as CarrelExtensions) : {};
}

/** A frozen sandbox is a running one to OSP; metadata says that it is frozen. */
function entry_of(entry: CarrelEntry): SandboxEntry {
        const metadata: Record<string, unknown> = { ...(entry.metadata as object | undefined) };
        const beyond: Record<string, unknown> = { ...(metadata['carrel'] as object | undefined) };

        for (const key of ['name', 'runtime', 'provider', 'cause', 'ports', 'warnings'] as const)
                if (entry[key] !== undefined)
                        beyond[key] = entry[key];
        if (entry.status === 'paused')
                beyond['paused'] = true;
        return {
                id: entry.id, status: entry.status === 'paused' ? 'running' : entry.status, createdAt: entry.created_at_ms,
                ...(entry.timeout_ms === undefined ? {} : { timeout: entry.timeout_ms }), metadata: { ...metadata, carrel: beyond },
        };
}

/** What is still running has exit code 0 for now, and says so. */
function result_of(exec: Exec): CommandResult {
        const { stdout = '', stderr = '', exit_code, ...rest } = exec;
        const is_running = exec.state === 'running' || exec.state === 'starting';

        return { exitCode: exit_code ?? (is_running ? 0 : 1), stdout, stderr, metadata: { ...rest, running: is_running } };
}

/** What a shell says of a command that is not there (127) or is no program (126); anything else is still an error. */
function not_started(command: string, e: unknown): CommandResult {
        if (!(e instanceof CarrelError) || (e.code !== 'command_not_found' && e.code !== 'command_not_executable'))
                throw e;
        return { exitCode: e.code === 'command_not_found' ? 127 : 126, stdout: '', stderr: `${command}: ${e.message}\n`, metadata: { running: false, code: e.code, hint: e.hint } };
}

/** null for a sandbox, file or port that is not there; anything else is still an error. */
function null_if_absent(e: unknown): null {
        if (e instanceof CarrelError && e.status === 404)
                return null;
        throw e;
}
