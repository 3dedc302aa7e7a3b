export { CarrelClient } from './client.ts';
export type { DaemonEvent, Denial, Exec, ExecEvent, ExecRequest, FileEntry, FileInput, Outcome, SandboxEntry, SandboxRequest, Status, Volume } from './client.ts';
export { CarrelError } from './http.ts';
export type { Place } from './http.ts';
