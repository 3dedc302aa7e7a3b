/*
 * osp_text.ts - the types of OSP's sandbox page (os://protocol, Sandbox, "TypeScript API"), transcribed from the text.
 *
 * What a caller of the protocol compiles against. Nothing here comes from Carrel.
 */
export type SandboxStatus = 'pending' | 'running' | 'stopping' | 'stopped' | 'failed';

export interface SandboxEntry {
        id: string;
        status: SandboxStatus;
        createdAt: number;
        timeout?: number;
        metadata?: Record<string, unknown>;
}

export interface SandboxConfig {
        runtime?: string;
        timeout?: number;
        env?: Record<string, string>;
        ports?: number[];
        metadata?: Record<string, unknown>;
}

export interface CommandResult {
        exitCode: number;
        stdout: string;
        stderr: string;
        metadata?: Record<string, unknown>;
}

export interface SandboxFile {
        path: string;
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

export interface SandboxContext {
        get(id: string): Promise<SandboxEntry | null>;
        list(): Promise<SandboxEntry[]>;
}

export interface SandboxActions {
        create(config?: SandboxConfig): Promise<SandboxEntry>;
        stop(id: string): Promise<boolean>;
        exec(id: string, command: string, args?: string[]): Promise<CommandResult>;
        writeFiles(id: string, files: SandboxFile[]): Promise<void>;
        readFile(id: string, path: string): Promise<string | null>;
        getUrl(id: string, port: number): Promise<string | null>;
        extendTimeout(id: string, duration: number): Promise<void>;
}
