/*
 * agentskit_check.ts - compiles when our backend is the SandboxBackend of AgentsKit's page and of its code, and when defineSandbox()
 * takes what AIP-36's signature says.
 */
import { carrelBackend, createMandatorySandbox, createSandbox } from 'carrel-sandbox/agentskit';
import type * as ours from 'carrel-sandbox/agentskit';
import { defineSandbox } from 'carrel-sandbox/define';
import type { SandboxHandle } from 'carrel-sandbox/define';

// AgentsKit's page, "Backends"; the options are those of its code.
interface ExecuteOptions { language?: 'javascript' | 'python'; timeout?: number; network?: boolean; memoryLimit?: string; maxOutputBytes?: number }
interface ExecuteResult { stdout: string; stderr: string; exitCode: number; durationMs: number }
interface PageBackend {
        execute(code: string, options?: ExecuteOptions): Promise<ExecuteResult>;
        dispose(): Promise<void>;
}

export const as_a_backend: PageBackend = carrelBackend({ memoryLimit: '512mb' });
export const in_front: PageBackend = createSandbox({ backend: carrelBackend() });
export const wrapped: ours.ToolDefinition[] = createMandatorySandbox({ name: 'shell', execute: async () => 1 }, { allow: ['ls'], validators: { shell: args => args.cmd.length < 256 || 'too long' } }, in_front);
export const form_of_code: ours.MandatorySandbox = createMandatorySandbox({ sandbox: { name: 'x', execute() {} }, policy: { deny: ['y'], validators: { z() { throw new Error(); } } } });

// AIP-36, "defineSandbox standard signature".
interface SandboxDefinition {
        schema?: 'sandbox/v1';
        id?: string;
        version?: string;
        provider: string;
        config: Record<string, unknown>;
        limits?: { timeoutMs?: number; memoryMb?: number; cpuMs?: number };
        env?: { auth?: { ref?: string; state?: { env?: string[] } }; passthrough?: string[] };
        network?: { egress: string[] };
        lifecycle?: { pauseAfterIdleMs?: number; destroyOnWorkspaceClose?: boolean };
        readOnly?: boolean;
        metadata?: Record<string, unknown>;
}

export const standard: (definition: SandboxDefinition) => SandboxHandle = defineSandbox;
const handle = defineSandbox({ provider: 'local', config: {} });
// @ts-expect-error a handle is read-only
handle.readOnly = true;
// @ts-expect-error provider and config are required
defineSandbox({ provider: 'local' });
