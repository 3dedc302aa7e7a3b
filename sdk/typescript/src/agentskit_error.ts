/*
 * agentskit_error.ts - AgentsKit's typed errors: which of its codes an error of the daemon is.
 */
import { CarrelError } from './http.ts';

export type SandboxErrorCode =
        /** What runs the code is not there: the daemon, the `carrel` program, or an interpreter in the sandbox. */
        | 'AK_SANDBOX_PEER_MISSING'
        /** The backend could not make a sandbox, or lost it. */
        | 'AK_SANDBOX_BACKEND_FAILED'
        /** A policy refused it: of the caller, of the manifest, or of the host. */
        | 'AK_SANDBOX_DENIED'
        /** A tool to be wrapped has no execute function. */
        | 'AK_SANDBOX_INVALID_TOOL'
        /** An option is wrong. */
        | 'AK_CONFIG_INVALID';

const CODES: Record<string, SandboxErrorCode> = {
        daemon_unreachable: 'AK_SANDBOX_PEER_MISSING', runtime_unknown: 'AK_SANDBOX_PEER_MISSING', command_not_found: 'AK_SANDBOX_PEER_MISSING',
        sandbox_policy_denied: 'AK_SANDBOX_DENIED', sandbox_read_only: 'AK_SANDBOX_DENIED', sandbox_egress_not_permitted: 'AK_SANDBOX_DENIED', sandbox_provider_untrusted: 'AK_SANDBOX_DENIED',
        mount_denied: 'AK_SANDBOX_DENIED', sandbox_mount_read_only: 'AK_SANDBOX_DENIED', forbidden: 'AK_SANDBOX_DENIED', permission_denied: 'AK_SANDBOX_DENIED',
        invalid_argument: 'AK_CONFIG_INVALID', request_too_large: 'AK_CONFIG_INVALID', sandbox_schema_invalid: 'AK_CONFIG_INVALID', sandbox_config_invalid: 'AK_CONFIG_INVALID',
        sandbox_egress_invalid: 'AK_CONFIG_INVALID', sandbox_mount_invalid: 'AK_CONFIG_INVALID', sandbox_alias_conflict: 'AK_CONFIG_INVALID', sandbox_form_conflict: 'AK_CONFIG_INVALID',
};

/** `code` is stable; `hint` says what to do next; `cause` is the daemon's error, with its own code and path. */
export class SandboxError extends Error {
        readonly code: SandboxErrorCode;
        readonly hint?: string;

        constructor(code: SandboxErrorCode, message: string, more: { hint?: string; cause?: unknown } = {}) {
                super(message, more.cause === undefined ? undefined : { cause: more.cause });
                this.name = 'SandboxError';
                this.code = code;
                this.hint = more.hint;
        }

        /** An error of the client as one of AgentsKit; an abort, and what already is one, as it was. */
        static of(e: unknown): unknown {
                if (e instanceof CarrelError)
                        return new SandboxError(CODES[e.code] ?? 'AK_SANDBOX_BACKEND_FAILED', e.message, { hint: e.hint, cause: e });
                return e;
        }
}
