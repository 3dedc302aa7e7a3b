/*
 * mastra_check.ts - compiles when our provider is what Mastra's Workspace takes.
 */
import { Workspace } from '@mastra/core/workspace';
import type { MastraSandbox, SandboxProcessManager, WorkspaceSandbox } from '@mastra/core/workspace';
import { CarrelSandbox } from 'carrel-sandbox/mastra';

const ours = new CarrelSandbox({ id: 'typed', env: { A: '1' }, ports: [3000] });
export const sandbox: WorkspaceSandbox = ours;
export const base: MastraSandbox = ours;
export const processes: SandboxProcessManager = ours.processes;
export const workspace = new Workspace({ sandbox: ours });
