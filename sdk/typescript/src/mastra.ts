/*
 * mastra.ts - a Carrel sandbox as a sandbox provider of Mastra (@mastra/core/workspace).
 *
 * The provider's id is the sandbox's name in the daemon: whoever constructs one of the same id, in this program or in another,
 * speaks to the same sandbox. stop() freezes it, start() finds or makes it and thaws it, destroy() ends it with all that is only in it.
 */
import { randomUUID } from 'node:crypto';
import * as path from 'node:path';

import type {
        CommandResult, ExecuteCommandOptions, MastraSandboxOptions, MountManager, MountResult, ProviderStatus, SandboxFileInput, SandboxInfo, SandboxNetworking,
        WorkspaceFilesystem, WriteFilesOptions,
} from '@mastra/core/workspace';

import { CarrelClient } from './client.ts';
import type { SandboxEntry, SandboxRequest } from './operations.ts';
import { CarrelError } from './http.ts';
import type { Place } from './http.ts';
import { workspace } from './mastra_core.ts';
import { CarrelProcessManager } from './mastra_process.ts';
import type { CarrelSpawnOptions } from './mastra_process.ts';

export { CarrelProcessManager } from './mastra_process.ts';
export type { CarrelSpawnOptions } from './mastra_process.ts';

export interface CarrelSandboxOptions extends Omit<MastraSandboxOptions, 'processes'>, Place {
        /** Its name in the daemon: [a-z0-9][a-z0-9_.-]{0,63}. One is made up where there is none. */
        id?: string;
        /** What it may do: a sandbox block, or the text of a SANDBOX.md. */
        manifest?: object | string;
        /** Absolute directory of the host that the manifest's mounts mean. */
        workspace?: string;
        runtime?: string;
        /** Ports that getPortUrl() may be asked for. */
        ports?: number[];
        /** Milliseconds until it ends by itself. */
        timeout?: number;
        metadata?: Record<string, unknown>;
        /** Milliseconds that a command may take that says nothing of its own. */
        commandTimeout?: number;
        /** Words for the agent's system message, in place of the daemon's, or made from them. */
        instructions?: string | ((daemon: string) => string);
}

const BEFORE_START = 'Commands run in a Carrel sandbox: isolated by the kernel, without a network unless its manifest names one. It is made at the first command.';

export class CarrelSandbox extends workspace.MastraSandbox<SandboxEntry> {
        readonly id: string;
        readonly name = 'CarrelSandbox';
        readonly provider = 'carrel';
        status: ProviderStatus = 'pending';
        error?: string;
        declare readonly mounts: MountManager;
        declare readonly processes: CarrelProcessManager;
        readonly client: CarrelClient;
        override readonly networking: SandboxNetworking = { getPortUrl: port => this.port_url(port) };
        private readonly options: CarrelSandboxOptions;
        private entry?: SandboxEntry;
        private told?: string;
        /** What mount() brought in: at most one directory of the host, because a manifest has one workspace. */
        private mounted?: { at: string; base: string };
        private is_used = false;

        constructor(options: CarrelSandboxOptions = {}) {
                super({ ...options, name: 'CarrelSandbox', processes: new CarrelProcessManager() });
                this.options = options;
                this.id = options.id ?? `mastra-${randomUUID()}`;
                this.client = new CarrelClient(options);
        }

        // -- lifecycle: the base class calls these three, and keeps status and order -----------------------------------

        protected override async find(): Promise<SandboxEntry | undefined> {
                const entry = await this.client.get(this.id);
                return entry && (entry.status === 'pending' || entry.status === 'running' || entry.status === 'paused') ? entry : undefined;
        }

        protected override async connect(entry: SandboxEntry): Promise<void> {
                if (entry.status === 'paused')
                        entry = await this.client.resume(entry.id);
                await this.adopt(entry);
        }

        protected override async create(): Promise<void> {
                try {
                        await this.adopt(await this.client.create(this.request()));
                } catch (e) {
                        // Someone made the same name in the meantime: it is his as much as ours.
                        const other = e instanceof CarrelError && e.status === 409 ? await this.find() : undefined;
                        if (!other)
                                throw e;
                        await this.connect(other);
                }
        }

        /** Freezes it: no process of it runs until it is started again. Where the host cannot freeze, what runs is killed. */
        override async stop(): Promise<void> {
                try {
                        await this.client.pause(this.boxId);
                } catch (e) {
                        if (!(e instanceof CarrelError) || e.code !== 'capability_unavailable') {
                                if (e instanceof CarrelError && e.code === 'sandbox_not_found')
                                        return;
                                throw e;
                        }
                        for (const exec of await this.client.execs(this.boxId))
                                await this.client.kill(this.boxId, exec.exec);
                }
        }

        override async destroy(): Promise<void> {
                await this.client.stop(this.entry?.id ?? this.id);
        }

        isReady(): boolean {
                return this.status === 'running';
        }

        /** Was a call refused because the sandbox has ended, or has failed for good? */
        async is_over(e: unknown): Promise<boolean> {
                if (!(e instanceof CarrelError) || !this.entry)
                        return false;
                if (e.code === 'sandbox_not_found')
                        return true;
                if (e.code !== 'sandbox_backend_failed' && e.code !== 'sandbox_oom')
                        return false;
                return (await this.client.get(this.entry.id))?.status === 'failed';
        }

        /** The sandbox under its id is gone: makes it anew. False where that is not ours to do. */
        async revive(): Promise<boolean> {
                if (this.status !== 'running')
                        return false;
                this.entry = undefined;
                this.is_used = false;
                this.status = 'stopped';
                await this.ensureRunning();
                return true;
        }

        // -- what commands need -----------------------------------------------------------------------------------

        /** Its id in the daemon. */
        get boxId(): string {
                if (!this.entry)
                        throw new workspace.SandboxNotReadyError(this.id);
                this.is_used = true;
                return this.entry.id;
        }

        /** Where a command starts: `cwd`, beneath the working directory if it is relative. */
        directory(cwd: string | undefined): string | undefined {
                if (!cwd || !this.workingDirectory)
                        return cwd || this.workingDirectory;
                return path.posix.resolve(this.workingDirectory, cwd);
        }

        override async executeCommand(command: string, args: string[] = [], options: ExecuteCommandOptions = {}): Promise<CommandResult> {
                const line = [command, ...args.map(quoted)].join(' ');
                const how: CarrelSpawnOptions = {
                        ...options, timeout: options.timeout ?? this.options.commandTimeout, maxRetainedBytes: options.maxRetainedBytes ?? Infinity, stdinMode: 'ignore', held: true,
                };
                const handle = await this.processes.spawn(line, how);
                try {
                        return { ...(await handle.wait()), command: line };
                } finally {
                        this.processes.release(handle.pid);
                }
        }

        override async writeFiles(files: SandboxFileInput[], options: WriteFilesOptions = {}): Promise<void> {
                for (const file of files)
                        if (file.mode !== undefined)
                                workspace.validateSandboxFileMode(file.mode);
                if (options.abortSignal?.aborted)
                        throw new workspace.SandboxAbortError('writeFiles', options.abortSignal.reason);
                await this.ensureRunning();
                try {
                        await this.client.writeFiles(this.boxId, files.map(f => ({ ...f, path: this.directory(f.path) ?? f.path })), { signal: options.abortSignal });
                } catch (e) {
                        if (options.abortSignal?.aborted)
                                throw new workspace.SandboxAbortError('writeFiles', options.abortSignal.reason);
                        throw e;
                }
        }

        // -- what it says of itself ----------------------------------------------------------------------------------

        override async getInfo(): Promise<SandboxInfo> {
                const entry = this.entry && (await this.client.get(this.entry.id));
                const { timeout_ms, created_at_ms, ...rest } = entry ?? { created_at_ms: Date.now(), timeout_ms: undefined };

                return {
                        id: this.id, name: this.name, provider: this.provider, status: this.status, createdAt: new Date(created_at_ms),
                        ...(timeout_ms === undefined ? {} : { timeoutAt: new Date(Date.now() + timeout_ms) }),
                        mounts: [...this.mounts.entries].map(([at, e]) => ({ path: at, filesystem: e.filesystem.name })),
                        metadata: { ...rest },
                };
        }

        /** For the agent's system message. Before it is started this says what is known without making one. */
        override getInstructions(): string {
                const told = this.told ?? BEFORE_START;
                const { instructions } = this.options;

                if (instructions === undefined)
                        return told;
                return typeof instructions === 'string' ? instructions : instructions(told);
        }

        // -- mounts ----------------------------------------------------------------------------------------------------

        /**
         * A local directory becomes the sandbox's workspace. What is mounted is part of the plan that is judged when a sandbox is made:
         * before its first use it is made anew for it, afterwards it is refused. Manifests of the caller's own name their mounts themselves.
         */
        override async mount(filesystem: WorkspaceFilesystem, at: string): Promise<MountResult> {
                const no = (error: string): MountResult => {
                        this.mounts.set(at, { filesystem, state: 'error', error });
                        return { success: false, mountPath: at, error };
                };
                const base = (filesystem as { basePath?: unknown }).basePath;

                if (this.mounted?.at === at && this.mounted.base === base)
                        return { success: true, mountPath: at };
                if (typeof base !== 'string')
                        return no(`only a local directory can be mounted, and ${filesystem.name} is none`);
                if (this.options.manifest !== undefined || this.options.workspace !== undefined)
                        return no('the manifest says what is mounted: write it there, under mounts');
                if (this.mounted)
                        return no(`${this.mounted.at} is mounted already, and there can be one`);
                if (this.is_used)
                        return no('the sandbox has been used: give the mounts before its first command');
                this.mounted = { at, base };
                await this.remake();
                this.mounts.set(at, { filesystem, state: 'mounted', config: filesystem.getMountConfig?.() });
                return { success: true, mountPath: at };
        }

        override async unmount(at: string): Promise<void> {
                if (this.mounted?.at !== at)
                        throw new workspace.MountError(`nothing is mounted at ${at}`, at);
                if (this.is_used)
                        throw new workspace.MountError('the sandbox has been used: destroy() it instead', at);
                this.mounted = undefined;
                await this.remake();
                this.mounts.delete(at);
        }

        private async remake(): Promise<void> {
                if (!this.entry)
                        return;
                await this.client.stop(this.entry.id);
                await this.adopt(await this.client.create(this.request()));
        }

        private request(): SandboxRequest {
                const { manifest, workspace, runtime, ports, timeout, metadata } = this.options;
                const mounts = this.mounted ? [{ source: 'workspace', at: this.mounted.at }] : [];
                // A manifest that says nothing of time lets a command run for half a minute; Mastra says for each command how long it may.
                const own = { provider: 'local', config: {}, mounts };

                return { name: this.id, manifest: manifest ?? own, workspace: workspace ?? this.mounted?.base, runtime, ports, timeout_ms: timeout, metadata };
        }

        private async adopt(entry: SandboxEntry): Promise<void> {
                this.entry = entry;
                this.told = await this.client.instructions(entry.id);
        }

        private async port_url(port: number): Promise<string | null> {
                if (this.status !== 'running' || !this.entry)
                        return null;
                try {
                        return (await this.client.url(this.entry.id, port)).url;
                } catch (e) {
                        if (e instanceof CarrelError && e.status >= 400 && e.status < 500)
                                return null;
                        throw e;
                }
        }
}

/** As one word of a shell's line. */
function quoted(word: string): string {
        return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
