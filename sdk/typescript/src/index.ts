export { CarrelClient } from './client.ts';
export type { ExecEvent, FileInput, Page, PageOptions } from './client.ts';
export type {
        Approval, CodeRequest, DaemonEvent, DaemonInfo, Denial, Exec, ExecRequest, FileEntry, LeftBehind, Limits, LimitsRequest, ManifestWarning, Outcome, PortUrl, SandboxEntry, SandboxRequest, Sanitized, Status, Token, Usage, Volume,
} from './operations.ts';
export { CarrelError } from './http.ts';
export type { Place } from './http.ts';
