/*
 * operations.ts - what the daemon can be asked, and what it answers.
 *
 * Printed by `tools/typescript-client`; `./dev docs` writes it. Do not edit.
 */

export type Status = 'pending' | 'running' | 'paused' | 'stopping' | 'stopped' | 'failed';
export type Outcome = 'exited' | 'signaled' | 'timed_out' | 'oom_killed' | 'cpu_limit' | 'killed' | 'policy_killed' | 'lost';

export interface SandboxEntry {
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id: string;
        /** A name of the caller's choice, unique among one owner's sandboxes. */
        name?: string;
        /** pending, running, paused, stopping, stopped or failed. */
        status: Status;
        /** Time of creation, in milliseconds since 1970. */
        created_at_ms: number;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** Time of its scheduled deletion, in milliseconds since 1970, which no other setting moves; 0: never. */
        delete_at_ms?: number;
        /** Owner of the sandbox. */
        owner?: string;
        /** The provider of its manifest. */
        provider?: string;
        /** Why `provider: auto` became its provider. Absent if the manifest names one. */
        chosen?: string;
        /** Isolation tier of its provider: T1 to T4. */
        tier?: string;
        /** How its virtual machine starts: saved (from a saved machine) or booted. Absent without one. */
        machine_start?: string;
        /** Why its virtual machine boots. */
        machine_why?: string;
        /** The image whose files are its root, by digest: NAME@sha256:HEX. Absent for the programs of the host. */
        image?: string;
        /** A template: python3, python3.11, node24, ... */
        runtime?: string;
        /** Absolute path of the workspace on the host. */
        workspace?: string;
        /** Where its /tmp and home are stored: memory, image (a file system of fixed size on the host's disk) or directory (on the host's disk; the sandbox is ended above disk_mb). */
        disk?: string;
        /** The directory of the host that holds them. Absent if they are memory. */
        disk_at?: string;
        /** How much they may hold, in MiB (limits.disk_mb). */
        disk_mb?: number;
        /** Ports that can be reached from outside, by a URL with a token. */
        ports: number[];
        /** Its manifest permits no command and no writing. */
        read_only?: boolean;
        /** Why it was stopped or failed: stopped, deadline, oom, disk_mb, policy, lost, event, deleted, damaged, replaced (it had failed, and a new sandbox took its name), later_version (it runs: a later version of carrel started it). */
        cause?: string;
        /** The caller's own data, returned unchanged. */
        metadata?: unknown;
        /** Warnings about the manifest: code, at, message. */
        warnings: ManifestWarning[];
        /** What commands made or changed in the workspace, if anything, that programs of the host act on: repositories, hooks, protected names. The first 16 and the last 16. */
        left_behind?: LeftBehind[];
        /** Number of further ones, between the first and the last. */
        left_behind_more?: number;
}

export interface Exec {
        /** Number of the exec within its sandbox. */
        exec: number;
        /** A command line for the sandbox's shell, instead of argv. In a response: the beginning of the running command line. */
        command?: string;
        /** starting, running, ended or failed. */
        state: 'starting' | 'running' | 'ended' | 'failed';
        /** Process id inside. */
        pid?: number;
        /** The task an exec belongs to, 1 to 63 characters. */
        task?: string;
        /** Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused. */
        key?: string;
        /** Return at once; the exec keeps running when its caller disconnects. */
        background?: boolean;
        /** Start time, in milliseconds since 1970. */
        started_at_ms?: number;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** Source of the time limit of an exec: call, manifest (limits.timeout_ms) or host (limits_max.timeout_ms of the host file). */
        timeout_by?: 'call' | 'manifest' | 'host';
        /** exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost. */
        outcome?: Outcome;
        /** 0 to 255 of a command that exited; 128 + signal, 124 timed out, 125 lost, else 137. */
        exit_code?: number;
        /** Number of a signal. In a response: only with the outcome signaled. */
        signal?: number;
        /** Milliseconds: to add to the timeout, or the run time of an exec. */
        duration_ms?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** Largest resident size of a process, in KiB. */
        memory_peak_kb?: number;
        /** Limits that the command reached, if any: disk_mb (the private disk was full at its end; with the outcome policy_killed: /tmp and the home took more than that on the host's disk), pids (a process or thread could not be started; known if a control group counts). With the outcome timed_out, which outer limit ended it: per_task_loop (timeout_ms of task.begin), per_sandbox_lifetime (timeout_ms of create); neither: timeout_by. */
        limits_reached?: ('disk_mb' | 'pids' | 'per_task_loop' | 'per_sandbox_lifetime')[];
        /** Standard output. */
        stdout?: string;
        /** Standard error. */
        stderr?: string;
        /** Bytes written to standard output so far, kept or not. */
        stdout_bytes?: number;
        /** Bytes written to standard error so far, kept or not. */
        stderr_bytes?: number;
        /** Bytes of output that are missing in this response, counted from the requested offset (0): older than stdout_offset and stderr_offset, or above limits.output_bytes. */
        dropped_bytes?: number;
        /** What was removed from the output of the command, if something is to be (sanitize_output): a number for each kind that is looked for. Absent while the command runs. */
        sanitized?: Sanitized;
        /** Return standard output from this byte on. In a response: the oldest byte that is kept. */
        stdout_offset?: number;
        /** Return standard error from this byte on. In a response: the oldest byte that is kept. */
        stderr_offset?: number;
        /** Refused network requests, if any: host, port, reason, message (with the fix), count; the first 16 different ones. */
        denied?: Denial[];
        /** Number of further refused requests, not counted in the list. */
        denied_more?: number;
        /** TCP port inside, 1 to 65535. */
        port?: number;
        /** Where the start of the command is in the audit log of the sandbox's owner: audit://CHAIN/NUMBER. Absent for a command that ended before the daemon was restarted. */
        audit_ref?: string;
        /** base64: values that are bytes are written so. */
        encoding?: 'base64';
}

export interface FileEntry {
        /** Path inside the sandbox; a relative path starts at the working directory. */
        path: string;
        /** file, directory, link, fifo, socket or device. */
        kind: 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device';
        /** Bytes. */
        size?: number;
        /** Permission bits; set-id and sticky bits are removed. */
        mode?: number;
        /** Time of the last change, in milliseconds since 1970. */
        modified_at_ms?: number;
        /** Second path: the destination of a move, or the target of a link. */
        target?: string;
}

export interface Token {
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id: string;
        /** A credential; only in this response. */
        token?: string;
        /** Owner of the sandbox. */
        owner?: string;
        /** all; read: get and list only; approve: the same, and answers to requests for approval. */
        scope?: 'all' | 'read';
        /** Time of creation, in milliseconds since 1970. */
        created_at_ms?: number;
}

export interface Volume {
        /** A name of the caller's choice, unique among one owner's sandboxes. */
        name: string;
        /** Bytes. */
        size?: number;
        /** Number of files, directories and links. */
        file_count?: number;
        /** Only a part was counted: at most 20000 entries (2000 if the owner is not the daemon's own user), 48 levels deep. */
        partial?: boolean;
        /** When a sandbox last started or stopped using it, or when it was created, in milliseconds since 1970. */
        used_at_ms?: number;
        /** Id of a sandbox that uses it now; absent if not in use. */
        used_by?: string;
}

export interface Approval {
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id: string;
        /** starting, running, ended or failed. */
        state: 'starting' | 'running' | 'ended' | 'failed';
        /** The operation that waits: exec.start, file.write, network, ... */
        operation: string;
        /** Id of the sandbox. */
        sandbox: string;
        /** A name of the caller's choice, unique among one owner's sandboxes. */
        name?: string;
        /** Owner of the sandbox. */
        owner?: string;
        /** Who asked: the owner, and how (socket or token). */
        asked_by: string;
        /** Time, in milliseconds since 1970. */
        at_ms: number;
        /** Without an answer until then it is denied. An approval must be used before then. In milliseconds since 1970. */
        expires_at_ms: number;
        /** Who answered: the owner (uid:1000), and how (socket, or a token of scope approve). */
        answered_by?: string;
        /** A more specific reason within the code. */
        reason?: string;
        /** SHA-256 of everything that the approval binds. */
        digest: string;
        /** SHA-256 of the rules that hold: host file and manifest. */
        policy_version: string;
        /** What an approval binds, a line each: arguments, directory, environment, files with their digests. Control and invisible characters are escaped; a long value is cut and has its digest. */
        bound: string[];
        /** Who must approve, by requirements of the policy: a text for each, such as `user://ann or user://bob`. All of them must hold. Absent: everybody who may answer. */
        approval_from: string[];
}

export interface Usage {
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id?: string;
        /** Owner of the sandbox. */
        owner?: string;
        /** Time, in milliseconds since 1970. */
        at_ms: number;
        /** Time since the sandbox started, without the time it was paused, in milliseconds. */
        wall_ms?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** Largest resident size of a process, in KiB. */
        memory_peak_kb?: number;
        /** Memory in use, summed over time: bytes times seconds. Looked at each second while a command runs, otherwise each minute. */
        memory_byte_seconds?: number;
        /** What its private places hold on a disk and its volumes hold, summed over time: bytes times seconds. Looked at each second while a command runs, otherwise each minute; volumes when a command has ended. */
        storage_byte_seconds?: number;
        /** Number of commands that were started. */
        execs?: number;
        /** Bytes that the commands wrote to standard output and standard error, also those that were not kept. */
        output_total_bytes?: number;
        /** Bytes that were sent over connections out of the sandbox. */
        bytes_out?: number;
        /** Bytes that were received over connections out of the sandbox. */
        bytes_in?: number;
}

export interface Limits {
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id: string;
        /** pending, running, paused, stopping, stopped or failed. */
        status: Status;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** limits.memory_mb: memory of the whole sandbox, MiB. */
        memory_mb?: number;
        /** Memory that is in use, in bytes, as the control group counts it: with files that the kernel may forget. */
        memory_used_bytes?: number;
        /** limits.cpu_millicores: share of the processors; 1000 is one of them. */
        cpu_millicores?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** limits.pids: processes and threads at once. */
        pids?: number;
        /** Processes and threads now, with Carrel's own in the sandbox. */
        pids_used?: number;
        /** limits.io_read_bps: bytes read per second, each block device. */
        io_read_bps?: number;
        /** limits.io_write_bps: bytes written per second, each block device. */
        io_write_bps?: number;
        /** Output beyond this is dropped and counted. */
        output_bytes?: number;
        /** limits.open_files: open descriptors of one process. */
        open_files?: number;
        /** How much they may hold, in MiB (limits.disk_mb). */
        disk_mb?: number;
        /** Limits that this machine cannot enforce. */
        not_enforced?: string[];
}

export interface DaemonEvent {
        /** Name of an event: exec-ended, stopped, ... In a call: a name of the caller's own, such as turn-end or workspace-close. */
        event: string;
        /** Time, in milliseconds since 1970. */
        at_ms?: number;
        /** Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}. */
        id?: string;
        /** pending, running, paused, stopping, stopped or failed. */
        status?: Status;
        /** Why it was stopped or failed: stopped, deadline, oom, disk_mb, policy, lost, event, deleted, damaged, replaced (it had failed, and a new sandbox took its name), later_version (it runs: a later version of carrel started it). */
        cause?: string;
        /** Number of the exec within its sandbox. */
        exec?: number;
        /** exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost. */
        outcome?: Outcome;
        /** 0 to 255 of a command that exited; 128 + signal, 124 timed out, 125 lost, else 137. */
        exit_code?: number;
        /** Number of a signal. In a response: only with the outcome signaled. */
        signal?: number;
        /** Milliseconds: to add to the timeout, or the run time of an exec. */
        duration_ms?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** Largest resident size of a process, in KiB. */
        memory_peak_kb?: number;
        /** Limits that the command reached, if any: disk_mb (the private disk was full at its end; with the outcome policy_killed: /tmp and the home took more than that on the host's disk), pids (a process or thread could not be started; known if a control group counts). With the outcome timed_out, which outer limit ended it: per_task_loop (timeout_ms of task.begin), per_sandbox_lifetime (timeout_ms of create); neither: timeout_by. */
        limits_reached?: ('disk_mb' | 'pids' | 'per_task_loop' | 'per_sandbox_lifetime')[];
        /** Bytes written to standard output so far, kept or not. */
        stdout_bytes?: number;
        /** Bytes written to standard error so far, kept or not. */
        stderr_bytes?: number;
        /** Bytes of output that are missing in this response, counted from the requested offset (0): older than stdout_offset and stderr_offset, or above limits.output_bytes. */
        dropped_bytes?: number;
        /** What was removed from the output of the command, if something is to be (sanitize_output): a number for each kind that is looked for. Absent while the command runs. */
        sanitized?: Sanitized;
        /** Name of the secret in its SECRETS.md; never its value. */
        slug?: string;
        /** The user for whom a secret was revealed or denied. */
        actor?: string;
        /** The variable for the secret, or the place in a manifest that was refused. */
        purpose?: string;
        /** The grant that gave access, as role:ops; or owner. */
        granted_by?: string;
        /** The task an exec belongs to, 1 to 63 characters. */
        task?: string;
        /** A name that programs of the host act on, and that a command created or changed. */
        host_path?: string;
        /** Where that name is now, on the daemon's host. */
        kept_at?: string;
        /** A more specific reason within the code. */
        reason?: string;
        /** The requested name. */
        host?: string;
        /** TCP port inside, 1 to 65535. */
        port?: number;
        /** The address of the connection, inside the sandbox. */
        address?: string;
        /** The contradicting name, from TLS or from a request. */
        said?: string;
        /** Process id inside. */
        pid?: number;
        /** Path inside the sandbox; a relative path starts at the working directory. */
        path?: string;
        /** A command line for the sandbox's shell, instead of argv. In a response: the beginning of the running command line. */
        command?: string;
        /** Number of words of a command. */
        argc?: number;
        /** Bytes that were sent over connections out of the sandbox. */
        bytes_out?: number;
        /** Bytes that were received over connections out of the sandbox. */
        bytes_in?: number;
        /** Milliseconds during which connections were open. */
        open_ms?: number;
        /** Number of occurrences. */
        count?: number;
        /** One sentence. */
        message?: string;
        /** Id of a request for approval. */
        approval?: string;
        /** The operation that waits: exec.start, file.write, network, ... */
        operation?: string;
        /** Who answered: the owner (uid:1000), and how (socket, or a token of scope approve). */
        answered_by?: string;
        /** Without an answer until then it is denied. An approval must be used before then. In milliseconds since 1970. */
        expires_at_ms?: number;
        /** Position of the event in the caller's events; use it as Last-Event-ID. */
        event_id?: string;
}

export interface Denial {
        /** Number of the exec within its sandbox. */
        exec?: number;
        /** Time, in milliseconds since 1970. */
        at_ms?: number;
        /** A more specific reason within the code. */
        reason: string;
        /** The requested name. */
        host: string;
        /** TCP port inside, 1 to 65535. */
        port?: number;
        /** The address of the connection, inside the sandbox. */
        address?: string;
        /** The contradicting name, from TLS or from a request. */
        said?: string;
        /** Number of occurrences. */
        count: number;
        /** One sentence. */
        message: string;
}

export interface ManifestWarning {
        /** Error code, stable. */
        code: string;
        /** Place in the caller's input, separated by slashes. */
        at?: string;
        /** One sentence. */
        message: string;
        /** Line in the manifest. */
        line?: number;
        /** Column in the manifest. */
        column?: number;
}

export interface LeftBehind {
        /** Time, in milliseconds since 1970. */
        at_ms: number;
        /** What happened to a name: moved, made, changed, restored, refused, stuck, repository, bare-repository, gitlink, submodule, gitfile, index-unread, in-package, in-repository, closed, more, bounded. */
        what: string;
        /** A name that programs of the host act on, and that a command created or changed. */
        host_path: string;
        /** Where that name is now, on the daemon's host. */
        kept_at?: string;
        /** A more specific reason within the code. */
        reason?: string;
        /** Number of occurrences. */
        count?: number;
        /** One sentence. */
        message: string;
        /** `carrel exec` has printed it, or another call of left.take returned it. */
        shown: boolean;
}

export interface Sanitized {
        /** Terminal control sequences and control characters that were removed or replaced. */
        control?: number;
        /** Characters that cannot be seen, and that were removed. */
        hidden?: number;
        /** Secrets of known form that were replaced by [redacted:RULE]. */
        secrets?: number;
}

export interface DaemonInfo {
        /** Version of Carrel. */
        version: string;
        /** Templates of this host. */
        runtimes: string[];
        /** Number of sandboxes. */
        sandboxes?: number;
        /** Number of ready sandboxes in the pool. */
        pool?: number;
}

export interface PortUrl {
        /** URL of a port, for programs. */
        url: string;
        /** URL of a port, with its own origin, for browsers (they resolve names below localhost). */
        browser_url?: string;
        /** TCP port inside, 1 to 65535. */
        port?: number;
        /** A credential; only in this response. */
        token?: string;
}

export interface SandboxRequest {
        /** A name of the caller's choice, unique among one owner's sandboxes. */
        name?: string;
        /** The sandbox block, as an object, or the text of a SANDBOX.md. */
        manifest?: object | string;
        /** Name of the manifest in messages. */
        manifest_name?: string;
        /** Absolute path of the workspace on the host. */
        workspace?: string;
        /** Files that were read for the manifest, absolute or relative to the workspace. They are read-only inside. */
        reads?: string[];
        /** A template: python3, python3.11, node24, ... */
        runtime?: string;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** Time of its scheduled deletion, in milliseconds since 1970, which no other setting moves; 0: never. */
        delete_at_ms?: number;
        /** Environment variables: an object of names and values. */
        env?: Record<string, string>;
        /** Ports that can be reached from outside, by a URL with a token. */
        ports?: number[];
        /** The caller's own data, returned unchanged. */
        metadata?: unknown;
        /** Start it now instead of on first use. */
        start?: boolean;
        /** Risk of the work: low, medium or high. If the isolation tier of the sandbox is too low for it, it is refused (document_denied). low needs T1, medium T3, high T4. */
        risk?: string;
        /** Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused. */
        key?: string;
}

export interface ExecRequest {
        /** The command and its arguments. */
        argv?: string[];
        /** A command line for the sandbox's shell, instead of argv. In a response: the beginning of the running command line. */
        command?: string;
        /** Working directory of the command; a relative path starts at the sandbox's working directory. */
        cwd?: string;
        /** Environment variables: an object of names and values. */
        env?: Record<string, string>;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** Return at once; the exec keeps running when its caller disconnects. */
        background?: boolean;
        /** Keep standard input open, to write to it later. */
        stdin?: boolean;
        /** Standard input as one piece: text, or base64 with encoding: base64. */
        input?: string;
        /** Give it a terminal. */
        tty?: boolean;
        /** Rows of the terminal. */
        rows?: number;
        /** Columns of the terminal. */
        columns?: number;
        /** Output kept for each stream; older bytes are dropped and counted. */
        keep_bytes?: number;
        /** Output beyond this is dropped and counted. */
        output_bytes?: number;
        /** Apply back-pressure: block the command when the reader is slow instead of dropping output. */
        lossless?: boolean;
        /** When the command ends, kill the processes that it left running. */
        kill_rest?: boolean;
        /** Return as soon as one of the declared ports begins to listen (its number is `port`), the command ends, or wait_ports_ms has passed. The command keeps running. */
        wait_ports?: boolean;
        /** Maximum time to wait for a port (wait_ports), in milliseconds. After that the response has no `port`, and the command keeps running. Default: until the command ends. */
        wait_ports_ms?: number;
        /** The task an exec belongs to, 1 to 63 characters. */
        task?: string;
        /** Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused. */
        key?: string;
}

export interface CodeRequest {
        /** Language of the code: javascript, typescript, python, shell, bash, zsh, fish, ruby, perl, php, lua or julia, if its interpreter is in the sandbox. Also js, node, ts, py, python3, sh, rb, pl. */
        language: string;
        /** The code, at most 131,070 bytes without a NUL. */
        code: string;
        /** Working directory of the command; a relative path starts at the sandbox's working directory. */
        cwd?: string;
        /** Environment variables: an object of names and values. */
        env?: Record<string, string>;
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** CPU time used, in milliseconds. In a call: the maximum. */
        cpu_ms?: number;
        /** Return at once; the exec keeps running when its caller disconnects. */
        background?: boolean;
        /** Keep standard input open, to write to it later. */
        stdin?: boolean;
        /** Standard input as one piece: text, or base64 with encoding: base64. */
        input?: string;
        /** Give it a terminal. */
        tty?: boolean;
        /** Rows of the terminal. */
        rows?: number;
        /** Columns of the terminal. */
        columns?: number;
        /** Output kept for each stream; older bytes are dropped and counted. */
        keep_bytes?: number;
        /** Output beyond this is dropped and counted. */
        output_bytes?: number;
        /** Apply back-pressure: block the command when the reader is slow instead of dropping output. */
        lossless?: boolean;
        /** When the command ends, kill the processes that it left running. */
        kill_rest?: boolean;
        /** Return as soon as one of the declared ports begins to listen (its number is `port`), the command ends, or wait_ports_ms has passed. The command keeps running. */
        wait_ports?: boolean;
        /** Maximum time to wait for a port (wait_ports), in milliseconds. After that the response has no `port`, and the command keeps running. Default: until the command ends. */
        wait_ports_ms?: number;
        /** The task an exec belongs to, 1 to 63 characters. */
        task?: string;
        /** Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused. */
        key?: string;
        /** base64: values that are bytes are written so. */
        encoding?: 'base64' | 'utf-8';
}

export interface LimitsRequest {
        /** Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused. */
        timeout_ms?: number;
        /** limits.memory_mb: memory of the whole sandbox, MiB. */
        memory_mb?: number;
        /** limits.cpu_millicores: share of the processors; 1000 is one of them. */
        cpu_millicores?: number;
        /** limits.pids: processes and threads at once. */
        pids?: number;
        /** limits.io_read_bps: bytes read per second, each block device. */
        io_read_bps?: number;
        /** limits.io_write_bps: bytes written per second, each block device. */
        io_write_bps?: number;
        /** Output beyond this is dropped and counted. */
        output_bytes?: number;
        /** limits.open_files: open descriptors of one process. */
        open_files?: number;
        /** How much they may hold, in MiB (limits.disk_mb). */
        disk_mb?: number;
}

export interface Operation {
        method: string;
        route: string;
        /** Names of arguments that go there. */
        query: readonly string[];
        body: readonly string[];
}

export const OPERATIONS = {
        'create': { method: 'POST', route: '/v1/sandboxes', query: [], body: ['name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'risk', 'key'] },
        'list': { method: 'GET', route: '/v1/sandboxes', query: ['limit', 'cursor'], body: [] },
        'claim': { method: 'POST', route: '/v1/claims', query: [], body: ['name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'risk', 'key'] },
        'get': { method: 'GET', route: '/v1/sandboxes/{id}', query: [], body: [] },
        'stop': { method: 'DELETE', route: '/v1/sandboxes/{id}', query: [], body: [] },
        'extend': { method: 'POST', route: '/v1/sandboxes/{id}/extend', query: [], body: ['duration_ms', 'key'] },
        'pause': { method: 'POST', route: '/v1/sandboxes/{id}/pause', query: [], body: [] },
        'resume': { method: 'POST', route: '/v1/sandboxes/{id}/resume', query: [], body: [] },
        'url': { method: 'GET', route: '/v1/sandboxes/{id}/ports/{port}', query: [], body: [] },
        'instructions': { method: 'GET', route: '/v1/sandboxes/{id}/instructions', query: [], body: [] },
        'event': { method: 'POST', route: '/v1/sandboxes/{id}/events', query: [], body: ['event'] },
        'task.begin': { method: 'POST', route: '/v1/sandboxes/{id}/tasks', query: [], body: ['task', 'timeout_ms'] },
        'task.end': { method: 'DELETE', route: '/v1/sandboxes/{id}/tasks/{task}', query: [], body: [] },
        'exec.start': { method: 'POST', route: '/v1/sandboxes/{id}/execs', query: ['encoding'], body: ['argv', 'command', 'cwd', 'env', 'timeout_ms', 'cpu_ms', 'background', 'stdin', 'input', 'tty', 'rows', 'columns', 'keep_bytes', 'output_bytes', 'lossless', 'kill_rest', 'wait_ports', 'wait_ports_ms', 'task', 'key', 'encoding'] },
        'exec.list': { method: 'GET', route: '/v1/sandboxes/{id}/execs', query: ['limit', 'cursor'], body: [] },
        'code.run': { method: 'POST', route: '/v1/sandboxes/{id}/code', query: ['encoding'], body: ['language', 'code', 'cwd', 'env', 'timeout_ms', 'cpu_ms', 'background', 'stdin', 'input', 'tty', 'rows', 'columns', 'keep_bytes', 'output_bytes', 'lossless', 'kill_rest', 'wait_ports', 'wait_ports_ms', 'task', 'key', 'encoding'] },
        'exec.get': { method: 'GET', route: '/v1/sandboxes/{id}/execs/{exec}', query: ['wait_ports', 'wait_ports_ms', 'encoding'], body: [] },
        'exec.kill': { method: 'DELETE', route: '/v1/sandboxes/{id}/execs/{exec}', query: [], body: [] },
        'exec.attach': { method: 'GET', route: '/v1/sandboxes/{id}/execs/{exec}/output', query: ['stdout_offset', 'stderr_offset', 'lossless', 'keep_bytes', 'encoding', 'wait', 'stream', 'follow'], body: [] },
        'exec.signal': { method: 'POST', route: '/v1/sandboxes/{id}/execs/{exec}/signal', query: [], body: ['signal'] },
        'file.read': { method: 'GET', route: '/v1/sandboxes/{id}/files', query: ['path', 'offset', 'length'], body: [] },
        'file.write': { method: 'POST', route: '/v1/sandboxes/{id}/files', query: [], body: ['files'] },
        'file.remove': { method: 'DELETE', route: '/v1/sandboxes/{id}/files', query: ['path', 'recursive'], body: [] },
        'file.put': { method: 'PUT', route: '/v1/sandboxes/{id}/files', query: ['path', 'mode'], body: [] },
        'file.list': { method: 'GET', route: '/v1/sandboxes/{id}/files/list', query: ['path', 'depth', 'limit', 'cursor', 'encoding'], body: [] },
        'file.stat': { method: 'GET', route: '/v1/sandboxes/{id}/files/stat', query: ['path', 'encoding'], body: [] },
        'file.mkdir': { method: 'POST', route: '/v1/sandboxes/{id}/files/mkdir', query: [], body: ['path', 'mode', 'recursive'] },
        'file.move': { method: 'POST', route: '/v1/sandboxes/{id}/files/move', query: [], body: ['path', 'target'] },
        'token.create': { method: 'POST', route: '/v1/tokens', query: [], body: ['owner', 'scope'] },
        'token.list': { method: 'GET', route: '/v1/tokens', query: ['limit', 'cursor'], body: [] },
        'token.revoke': { method: 'DELETE', route: '/v1/tokens/{id}', query: [], body: [] },
        'volume.create': { method: 'POST', route: '/v1/volumes', query: [], body: ['name'] },
        'volume.list': { method: 'GET', route: '/v1/volumes', query: [], body: [] },
        'volume.remove': { method: 'DELETE', route: '/v1/volumes/{name}', query: [], body: [] },
        'approval.list': { method: 'GET', route: '/v1/approvals', query: ['limit', 'cursor'], body: [] },
        'approval.get': { method: 'GET', route: '/v1/approvals/{id}', query: [], body: [] },
        'approval.answer': { method: 'POST', route: '/v1/approvals/{id}', query: [], body: ['verdict', 'reason'] },
        'info': { method: 'GET', route: '/v1/info', query: [], body: [] },
        'usage': { method: 'GET', route: '/v1/sandboxes/{id}/usage', query: [], body: [] },
        'usage.list': { method: 'GET', route: '/v1/usage', query: [], body: [] },
        'metrics': { method: 'GET', route: '/metrics', query: [], body: [] },
        'watch': { method: 'GET', route: '/v1/events', query: ['id', 'encoding'], body: [] },
        'denials': { method: 'GET', route: '/v1/sandboxes/{id}/denials', query: ['limit', 'cursor'], body: [] },
        'left.take': { method: 'POST', route: '/v1/sandboxes/{id}/left-behind', query: [], body: [] },
        'network': { method: 'PUT', route: '/v1/sandboxes/{id}/network', query: [], body: ['egress'] },
        'limits': { method: 'GET', route: '/v1/sandboxes/{id}/limits', query: [], body: [] },
        'limits.set': { method: 'PATCH', route: '/v1/sandboxes/{id}/limits', query: [], body: ['timeout_ms', 'memory_mb', 'cpu_millicores', 'pids', 'io_read_bps', 'io_write_bps', 'output_bytes', 'open_files', 'disk_mb'] },
        'exec.stdin': { method: 'POST', route: '/v1/sandboxes/{id}/execs/{exec}/stdin', query: ['end'], body: [] },
        'exec.resize': { method: 'POST', route: '/v1/sandboxes/{id}/execs/{exec}/resize', query: [], body: ['rows', 'columns'] },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;
