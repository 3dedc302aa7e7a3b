"""What the daemon can be asked, and what it answers.

Printed by `tools/python-client operations`; `./dev docs` writes it. Do not edit.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from ._answer import Answer, Operation

API_VERSION = "0.1.0"

OPERATIONS: Dict[str, Operation] = {
    "create": Operation(
        "POST", "/v1/sandboxes",
        query=(),
        body=('name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'risk', 'key'),
        has_key=True, is_raw=False,
    ),
    "list": Operation(
        "GET", "/v1/sandboxes",
        query=('limit', 'cursor'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "claim": Operation(
        "POST", "/v1/claims",
        query=(),
        body=('name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'risk', 'key'),
        has_key=True, is_raw=False,
    ),
    "get": Operation(
        "GET", "/v1/sandboxes/{id}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "stop": Operation(
        "DELETE", "/v1/sandboxes/{id}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "extend": Operation(
        "POST", "/v1/sandboxes/{id}/extend",
        query=(),
        body=('duration_ms', 'key'),
        has_key=True, is_raw=False,
    ),
    "pause": Operation(
        "POST", "/v1/sandboxes/{id}/pause",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "resume": Operation(
        "POST", "/v1/sandboxes/{id}/resume",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "url": Operation(
        "GET", "/v1/sandboxes/{id}/ports/{port}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "instructions": Operation(
        "GET", "/v1/sandboxes/{id}/instructions",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "event": Operation(
        "POST", "/v1/sandboxes/{id}/events",
        query=(),
        body=('event',),
        has_key=False, is_raw=False,
    ),
    "task.begin": Operation(
        "POST", "/v1/sandboxes/{id}/tasks",
        query=(),
        body=('task', 'timeout_ms'),
        has_key=False, is_raw=False,
    ),
    "task.end": Operation(
        "DELETE", "/v1/sandboxes/{id}/tasks/{task}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "exec.start": Operation(
        "POST", "/v1/sandboxes/{id}/execs",
        query=('encoding',),
        body=('argv', 'command', 'cwd', 'env', 'timeout_ms', 'cpu_ms', 'background', 'stdin', 'input', 'tty', 'rows', 'columns', 'keep_bytes', 'output_bytes', 'lossless', 'kill_rest', 'wait_ports', 'wait_ports_ms', 'task', 'key', 'encoding'),
        has_key=True, is_raw=False,
    ),
    "exec.list": Operation(
        "GET", "/v1/sandboxes/{id}/execs",
        query=('limit', 'cursor'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "code.run": Operation(
        "POST", "/v1/sandboxes/{id}/code",
        query=('encoding',),
        body=('language', 'code', 'cwd', 'env', 'timeout_ms', 'cpu_ms', 'background', 'stdin', 'input', 'tty', 'rows', 'columns', 'keep_bytes', 'output_bytes', 'lossless', 'kill_rest', 'wait_ports', 'wait_ports_ms', 'task', 'key', 'encoding'),
        has_key=True, is_raw=False,
    ),
    "exec.get": Operation(
        "GET", "/v1/sandboxes/{id}/execs/{exec}",
        query=('wait_ports', 'wait_ports_ms', 'encoding'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "exec.kill": Operation(
        "DELETE", "/v1/sandboxes/{id}/execs/{exec}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "exec.attach": Operation(
        "GET", "/v1/sandboxes/{id}/execs/{exec}/output",
        query=('stdout_offset', 'stderr_offset', 'lossless', 'keep_bytes', 'encoding', 'wait', 'stream', 'follow'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "exec.signal": Operation(
        "POST", "/v1/sandboxes/{id}/execs/{exec}/signal",
        query=(),
        body=('signal',),
        has_key=False, is_raw=False,
    ),
    "file.read": Operation(
        "GET", "/v1/sandboxes/{id}/files",
        query=('path', 'offset', 'length'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "file.write": Operation(
        "POST", "/v1/sandboxes/{id}/files",
        query=(),
        body=('files',),
        has_key=True, is_raw=False,
    ),
    "file.remove": Operation(
        "DELETE", "/v1/sandboxes/{id}/files",
        query=('path', 'recursive'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "file.put": Operation(
        "PUT", "/v1/sandboxes/{id}/files",
        query=('path', 'mode'),
        body=(),
        has_key=True, is_raw=True,
    ),
    "file.list": Operation(
        "GET", "/v1/sandboxes/{id}/files/list",
        query=('path', 'depth', 'limit', 'cursor', 'encoding'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "file.stat": Operation(
        "GET", "/v1/sandboxes/{id}/files/stat",
        query=('path', 'encoding'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "file.mkdir": Operation(
        "POST", "/v1/sandboxes/{id}/files/mkdir",
        query=(),
        body=('path', 'mode', 'recursive'),
        has_key=False, is_raw=False,
    ),
    "file.move": Operation(
        "POST", "/v1/sandboxes/{id}/files/move",
        query=(),
        body=('path', 'target'),
        has_key=False, is_raw=False,
    ),
    "token.create": Operation(
        "POST", "/v1/tokens",
        query=(),
        body=('owner', 'scope'),
        has_key=False, is_raw=False,
    ),
    "token.list": Operation(
        "GET", "/v1/tokens",
        query=('limit', 'cursor'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "token.revoke": Operation(
        "DELETE", "/v1/tokens/{id}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "volume.create": Operation(
        "POST", "/v1/volumes",
        query=(),
        body=('name',),
        has_key=False, is_raw=False,
    ),
    "volume.list": Operation(
        "GET", "/v1/volumes",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "volume.remove": Operation(
        "DELETE", "/v1/volumes/{name}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "approval.list": Operation(
        "GET", "/v1/approvals",
        query=('limit', 'cursor'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "approval.get": Operation(
        "GET", "/v1/approvals/{id}",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "approval.answer": Operation(
        "POST", "/v1/approvals/{id}",
        query=(),
        body=('verdict', 'reason'),
        has_key=False, is_raw=False,
    ),
    "info": Operation(
        "GET", "/v1/info",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "usage": Operation(
        "GET", "/v1/sandboxes/{id}/usage",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "usage.list": Operation(
        "GET", "/v1/usage",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "metrics": Operation(
        "GET", "/metrics",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "watch": Operation(
        "GET", "/v1/events",
        query=('id', 'encoding'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "denials": Operation(
        "GET", "/v1/sandboxes/{id}/denials",
        query=('limit', 'cursor'),
        body=(),
        has_key=False, is_raw=False,
    ),
    "left.take": Operation(
        "POST", "/v1/sandboxes/{id}/left-behind",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "network": Operation(
        "PUT", "/v1/sandboxes/{id}/network",
        query=(),
        body=('egress',),
        has_key=False, is_raw=False,
    ),
    "limits": Operation(
        "GET", "/v1/sandboxes/{id}/limits",
        query=(),
        body=(),
        has_key=False, is_raw=False,
    ),
    "limits.set": Operation(
        "PATCH", "/v1/sandboxes/{id}/limits",
        query=(),
        body=('timeout_ms', 'memory_mb', 'cpu_millicores', 'pids', 'io_read_bps', 'io_write_bps', 'output_bytes', 'open_files', 'disk_mb'),
        has_key=False, is_raw=False,
    ),
    "exec.stdin": Operation(
        "POST", "/v1/sandboxes/{id}/execs/{exec}/stdin",
        query=('end',),
        body=(),
        has_key=False, is_raw=True,
    ),
    "exec.resize": Operation(
        "POST", "/v1/sandboxes/{id}/execs/{exec}/resize",
        query=(),
        body=('rows', 'columns'),
        has_key=False, is_raw=False,
    ),
}


@dataclass(frozen=True)
class PortUrl(Answer):
    url: str
    """URL of a port, for programs."""
    browser_url: Optional[str] = None
    """URL of a port, with its own origin, for browsers (they resolve names below localhost)."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    token: Optional[str] = None
    """A credential; only in this response."""


@dataclass(frozen=True)
class DaemonInfo(Answer):
    version: str
    """Version of Carrel."""
    runtimes: List[str] = field(default_factory=list)
    """Templates of this host."""
    sandboxes: Optional[int] = None
    """Number of sandboxes."""
    pool: Optional[int] = None
    """Number of ready sandboxes in the pool."""


@dataclass(frozen=True)
class Sanitized(Answer):
    control: Optional[int] = None
    """Terminal control sequences and control characters that were removed or replaced."""
    hidden: Optional[int] = None
    """Characters that cannot be seen, and that were removed."""
    secrets: Optional[int] = None
    """Secrets of known form that were replaced by [redacted:RULE]."""


@dataclass(frozen=True)
class LeftBehind(Answer):
    at_ms: int
    """Time, in milliseconds since 1970."""
    what: str
    """What happened to a name: moved, made, changed, restored, refused, stuck, repository, bare-repository, gitlink, submodule, gitfile, index-unread, in-package, in-repository, closed, more, bounded."""
    host_path: str
    """A name that programs of the host act on, and that a command created or changed."""
    message: str
    """One sentence."""
    shown: bool
    """`carrel exec` has printed it, or another call of left.take returned it."""
    kept_at: Optional[str] = None
    """Where that name is now, on the daemon's host."""
    reason: Optional[str] = None
    """A more specific reason within the code."""
    count: Optional[int] = None
    """Number of occurrences."""


@dataclass(frozen=True)
class ManifestWarning(Answer):
    code: str
    """Error code, stable."""
    message: str
    """One sentence."""
    at: Optional[str] = None
    """Place in the caller's input, separated by slashes."""
    line: Optional[int] = None
    """Line in the manifest."""
    column: Optional[int] = None
    """Column in the manifest."""


@dataclass(frozen=True)
class Denial(Answer):
    reason: str
    """A more specific reason within the code."""
    host: str
    """The requested name."""
    count: int
    """Number of occurrences."""
    message: str
    """One sentence."""
    exec: Optional[int] = None
    """Number of the exec within its sandbox."""
    at_ms: Optional[int] = None
    """Time, in milliseconds since 1970."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    address: Optional[str] = None
    """The address of the connection, inside the sandbox."""
    said: Optional[str] = None
    """The contradicting name, from TLS or from a request."""


@dataclass(frozen=True)
class Event(Answer):
    event: str
    """Name of an event: exec-ended, stopped, ... In a call: a name of the caller's own, such as turn-end or workspace-close."""
    at_ms: Optional[int] = None
    """Time, in milliseconds since 1970."""
    id: Optional[str] = None
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    status: Optional[str] = None
    """pending, running, paused, stopping, stopped or failed."""
    cause: Optional[str] = None
    """Why it was stopped or failed: stopped, deadline, oom, disk_mb, policy, lost, event, deleted, damaged, replaced (it had failed, and a new sandbox took its name), later_version (it runs: a later version of carrel started it)."""
    exec: Optional[int] = None
    """Number of the exec within its sandbox."""
    outcome: Optional[str] = None
    """exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost."""
    exit_code: Optional[int] = None
    """0 to 255 of a command that exited; 128 + signal, 124 timed out, 125 lost, else 137."""
    signal: Optional[int] = None
    """Number of a signal. In a response: only with the outcome signaled."""
    duration_ms: Optional[int] = None
    """Milliseconds: to add to the timeout, or the run time of an exec."""
    cpu_ms: Optional[int] = None
    """CPU time used, in milliseconds. In a call: the maximum."""
    memory_peak_kb: Optional[int] = None
    """Largest resident size of a process, in KiB."""
    limits_reached: List[str] = field(default_factory=list)
    """Limits that the command reached, if any: disk_mb (the private disk was full at its end; with the outcome policy_killed: /tmp and the home took more than that on the host's disk), pids (a process or thread could not be started; known if a control group counts). With the outcome timed_out, which outer limit ended it: per_task_loop (timeout_ms of task.begin), per_sandbox_lifetime (timeout_ms of create); neither: timeout_by."""
    stdout_bytes: Optional[int] = None
    """Bytes written to standard output so far, kept or not."""
    stderr_bytes: Optional[int] = None
    """Bytes written to standard error so far, kept or not."""
    dropped_bytes: Optional[int] = None
    """Bytes of output that are missing in this response, counted from the requested offset (0): older than stdout_offset and stderr_offset, or above limits.output_bytes."""
    sanitized: Optional[Sanitized] = None
    """What was removed from the output of the command, if something is to be (sanitize_output): a number for each kind that is looked for. Absent while the command runs."""
    slug: Optional[str] = None
    """Name of the secret in its SECRETS.md; never its value."""
    actor: Optional[str] = None
    """The user for whom a secret was revealed or denied."""
    purpose: Optional[str] = None
    """The variable for the secret, or the place in a manifest that was refused."""
    granted_by: Optional[str] = None
    """The grant that gave access, as role:ops; or owner."""
    task: Optional[str] = None
    """The task an exec belongs to, 1 to 63 characters."""
    host_path: Optional[str] = None
    """A name that programs of the host act on, and that a command created or changed."""
    kept_at: Optional[str] = None
    """Where that name is now, on the daemon's host."""
    reason: Optional[str] = None
    """A more specific reason within the code."""
    host: Optional[str] = None
    """The requested name."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    address: Optional[str] = None
    """The address of the connection, inside the sandbox."""
    said: Optional[str] = None
    """The contradicting name, from TLS or from a request."""
    pid: Optional[int] = None
    """Process id inside."""
    path: Optional[str] = None
    """Path inside the sandbox; a relative path starts at the working directory."""
    command: Optional[str] = None
    """A command line for the sandbox's shell, instead of argv. In a response: the beginning of the running command line."""
    argc: Optional[int] = None
    """Number of words of a command."""
    bytes_out: Optional[int] = None
    """Bytes that were sent over connections out of the sandbox."""
    bytes_in: Optional[int] = None
    """Bytes that were received over connections out of the sandbox."""
    open_ms: Optional[int] = None
    """Milliseconds during which connections were open."""
    count: Optional[int] = None
    """Number of occurrences."""
    message: Optional[str] = None
    """One sentence."""
    approval: Optional[str] = None
    """Id of a request for approval."""
    operation: Optional[str] = None
    """The operation that waits: exec.start, file.write, network, ..."""
    answered_by: Optional[str] = None
    """Who answered: the owner (uid:1000), and how (socket, or a token of scope approve)."""
    expires_at_ms: Optional[int] = None
    """Without an answer until then it is denied. An approval must be used before then. In milliseconds since 1970."""
    event_id: Optional[str] = None
    """Position of the event in the caller's events; use it as Last-Event-ID."""
    _parts = {"sanitized": Sanitized}


@dataclass(frozen=True)
class Limits(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    status: str
    """pending, running, paused, stopping, stopped or failed."""
    timeout_ms: Optional[int] = None
    """Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused."""
    memory_mb: Optional[int] = None
    """limits.memory_mb: memory of the whole sandbox, MiB."""
    memory_used_bytes: Optional[int] = None
    """Memory that is in use, in bytes, as the control group counts it: with files that the kernel may forget."""
    cpu_millicores: Optional[int] = None
    """limits.cpu_millicores: share of the processors; 1000 is one of them."""
    cpu_ms: Optional[int] = None
    """CPU time used, in milliseconds. In a call: the maximum."""
    pids: Optional[int] = None
    """limits.pids: processes and threads at once."""
    pids_used: Optional[int] = None
    """Processes and threads now, with Carrel's own in the sandbox."""
    io_read_bps: Optional[int] = None
    """limits.io_read_bps: bytes read per second, each block device."""
    io_write_bps: Optional[int] = None
    """limits.io_write_bps: bytes written per second, each block device."""
    output_bytes: Optional[int] = None
    """Output beyond this is dropped and counted."""
    open_files: Optional[int] = None
    """limits.open_files: open descriptors of one process."""
    disk_mb: Optional[int] = None
    """How much they may hold, in MiB (limits.disk_mb)."""
    not_enforced: List[str] = field(default_factory=list)
    """Limits that this machine cannot enforce."""


@dataclass(frozen=True)
class Usage(Answer):
    at_ms: int
    """Time, in milliseconds since 1970."""
    id: Optional[str] = None
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    owner: Optional[str] = None
    """Owner of the sandbox."""
    wall_ms: Optional[int] = None
    """Time since the sandbox started, without the time it was paused, in milliseconds."""
    cpu_ms: Optional[int] = None
    """CPU time used, in milliseconds. In a call: the maximum."""
    memory_peak_kb: Optional[int] = None
    """Largest resident size of a process, in KiB."""
    memory_byte_seconds: Optional[int] = None
    """Memory in use, summed over time: bytes times seconds. Looked at each second while a command runs, otherwise each minute."""
    storage_byte_seconds: Optional[int] = None
    """What its private places hold on a disk and its volumes hold, summed over time: bytes times seconds. Looked at each second while a command runs, otherwise each minute; volumes when a command has ended."""
    execs: Optional[int] = None
    """Number of commands that were started."""
    output_total_bytes: Optional[int] = None
    """Bytes that the commands wrote to standard output and standard error, also those that were not kept."""
    bytes_out: Optional[int] = None
    """Bytes that were sent over connections out of the sandbox."""
    bytes_in: Optional[int] = None
    """Bytes that were received over connections out of the sandbox."""


@dataclass(frozen=True)
class Approval(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    state: str
    """starting, running, ended or failed."""
    operation: str
    """The operation that waits: exec.start, file.write, network, ..."""
    sandbox: str
    """Id of the sandbox."""
    asked_by: str
    """Who asked: the owner, and how (socket or token)."""
    at_ms: int
    """Time, in milliseconds since 1970."""
    expires_at_ms: int
    """Without an answer until then it is denied. An approval must be used before then. In milliseconds since 1970."""
    digest: str
    """SHA-256 of everything that the approval binds."""
    policy_version: str
    """SHA-256 of the rules that hold: host file and manifest."""
    name: Optional[str] = None
    """A name of the caller's choice, unique among one owner's sandboxes."""
    owner: Optional[str] = None
    """Owner of the sandbox."""
    answered_by: Optional[str] = None
    """Who answered: the owner (uid:1000), and how (socket, or a token of scope approve)."""
    reason: Optional[str] = None
    """A more specific reason within the code."""
    bound: List[str] = field(default_factory=list)
    """What an approval binds, a line each: arguments, directory, environment, files with their digests. Control and invisible characters are escaped; a long value is cut and has its digest."""
    approval_from: List[str] = field(default_factory=list)
    """Who must approve, by requirements of the policy: a text for each, such as `user://ann or user://bob`. All of them must hold. Absent: everybody who may answer."""


@dataclass(frozen=True)
class Volume(Answer):
    name: str
    """A name of the caller's choice, unique among one owner's sandboxes."""
    size: Optional[int] = None
    """Bytes."""
    file_count: Optional[int] = None
    """Number of files, directories and links."""
    partial: Optional[bool] = None
    """Only a part was counted: at most 20000 entries (2000 if the owner is not the daemon's own user), 48 levels deep."""
    used_at_ms: Optional[int] = None
    """When a sandbox last started or stopped using it, or when it was created, in milliseconds since 1970."""
    used_by: Optional[str] = None
    """Id of a sandbox that uses it now; absent if not in use."""


@dataclass(frozen=True)
class Token(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    token: Optional[str] = None
    """A credential; only in this response."""
    owner: Optional[str] = None
    """Owner of the sandbox."""
    scope: Optional[str] = None
    """all; read: get and list only; approve: the same, and answers to requests for approval."""
    created_at_ms: Optional[int] = None
    """Time of creation, in milliseconds since 1970."""


@dataclass(frozen=True)
class FileEntry(Answer):
    path: str
    """Path inside the sandbox; a relative path starts at the working directory."""
    kind: str
    """file, directory, link, fifo, socket or device."""
    size: Optional[int] = None
    """Bytes."""
    mode: Optional[int] = None
    """Permission bits; set-id and sticky bits are removed."""
    modified_at_ms: Optional[int] = None
    """Time of the last change, in milliseconds since 1970."""
    target: Optional[str] = None
    """Second path: the destination of a move, or the target of a link."""


@dataclass(frozen=True)
class ExecInfo(Answer):
    exec: int
    """Number of the exec within its sandbox."""
    state: str
    """starting, running, ended or failed."""
    command: Optional[str] = None
    """A command line for the sandbox's shell, instead of argv. In a response: the beginning of the running command line."""
    pid: Optional[int] = None
    """Process id inside."""
    task: Optional[str] = None
    """The task an exec belongs to, 1 to 63 characters."""
    key: Optional[str] = None
    """Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused."""
    background: Optional[bool] = None
    """Return at once; the exec keeps running when its caller disconnects."""
    started_at_ms: Optional[int] = None
    """Start time, in milliseconds since 1970."""
    timeout_ms: Optional[int] = None
    """Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused."""
    timeout_by: Optional[str] = None
    """Source of the time limit of an exec: call, manifest (limits.timeout_ms) or host (limits_max.timeout_ms of the host file)."""
    outcome: Optional[str] = None
    """exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost."""
    exit_code: Optional[int] = None
    """0 to 255 of a command that exited; 128 + signal, 124 timed out, 125 lost, else 137."""
    signal: Optional[int] = None
    """Number of a signal. In a response: only with the outcome signaled."""
    duration_ms: Optional[int] = None
    """Milliseconds: to add to the timeout, or the run time of an exec."""
    cpu_ms: Optional[int] = None
    """CPU time used, in milliseconds. In a call: the maximum."""
    memory_peak_kb: Optional[int] = None
    """Largest resident size of a process, in KiB."""
    limits_reached: List[str] = field(default_factory=list)
    """Limits that the command reached, if any: disk_mb (the private disk was full at its end; with the outcome policy_killed: /tmp and the home took more than that on the host's disk), pids (a process or thread could not be started; known if a control group counts). With the outcome timed_out, which outer limit ended it: per_task_loop (timeout_ms of task.begin), per_sandbox_lifetime (timeout_ms of create); neither: timeout_by."""
    stdout_bytes: Optional[int] = None
    """Bytes written to standard output so far, kept or not."""
    stderr_bytes: Optional[int] = None
    """Bytes written to standard error so far, kept or not."""
    dropped_bytes: Optional[int] = None
    """Bytes of output that are missing in this response, counted from the requested offset (0): older than stdout_offset and stderr_offset, or above limits.output_bytes."""
    sanitized: Optional[Sanitized] = None
    """What was removed from the output of the command, if something is to be (sanitize_output): a number for each kind that is looked for. Absent while the command runs."""
    stdout_offset: Optional[int] = None
    """Return standard output from this byte on. In a response: the oldest byte that is kept."""
    stderr_offset: Optional[int] = None
    """Return standard error from this byte on. In a response: the oldest byte that is kept."""
    denied: List[Denial] = field(default_factory=list)
    """Refused network requests, if any: host, port, reason, message (with the fix), count; the first 16 different ones."""
    denied_more: Optional[int] = None
    """Number of further refused requests, not counted in the list."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    audit_ref: Optional[str] = None
    """Where the start of the command is in the audit log of the sandbox's owner: audit://CHAIN/NUMBER. Absent for a command that ended before the daemon was restarted."""
    _lists = {"denied": Denial}
    _parts = {"sanitized": Sanitized}


@dataclass(frozen=True)
class SandboxInfo(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    status: str
    """pending, running, paused, stopping, stopped or failed."""
    created_at_ms: int
    """Time of creation, in milliseconds since 1970."""
    name: Optional[str] = None
    """A name of the caller's choice, unique among one owner's sandboxes."""
    timeout_ms: Optional[int] = None
    """Of a sandbox: milliseconds until it is stopped (in a response: the remaining time). Of an exec: milliseconds until all its processes are killed; a value above that of the manifest or the host file is refused."""
    delete_at_ms: Optional[int] = None
    """Time of its scheduled deletion, in milliseconds since 1970, which no other setting moves; 0: never."""
    owner: Optional[str] = None
    """Owner of the sandbox."""
    provider: Optional[str] = None
    """The provider of its manifest."""
    chosen: Optional[str] = None
    """Why `provider: auto` became its provider. Absent if the manifest names one."""
    tier: Optional[str] = None
    """Isolation tier of its provider: T1 to T4."""
    machine_start: Optional[str] = None
    """How its virtual machine starts: saved (from a saved machine) or booted. Absent without one."""
    machine_why: Optional[str] = None
    """Why its virtual machine boots."""
    image: Optional[str] = None
    """The image whose files are its root, by digest: NAME@sha256:HEX. Absent for the programs of the host."""
    runtime: Optional[str] = None
    """A template: python3, python3.11, node24, ..."""
    workspace: Optional[str] = None
    """Absolute path of the workspace on the host."""
    disk: Optional[str] = None
    """Where its /tmp and home are stored: memory, image (a file system of fixed size on the host's disk) or directory (on the host's disk; the sandbox is ended above disk_mb)."""
    disk_at: Optional[str] = None
    """The directory of the host that holds them. Absent if they are memory."""
    disk_mb: Optional[int] = None
    """How much they may hold, in MiB (limits.disk_mb)."""
    ports: List[int] = field(default_factory=list)
    """Ports that can be reached from outside, by a URL with a token."""
    read_only: Optional[bool] = None
    """Its manifest permits no command and no writing."""
    cause: Optional[str] = None
    """Why it was stopped or failed: stopped, deadline, oom, disk_mb, policy, lost, event, deleted, damaged, replaced (it had failed, and a new sandbox took its name), later_version (it runs: a later version of carrel started it)."""
    metadata: Any = None
    """The caller's own data, returned unchanged."""
    warnings: List[ManifestWarning] = field(default_factory=list)
    """Warnings about the manifest: code, at, message."""
    left_behind: List[LeftBehind] = field(default_factory=list)
    """What commands made or changed in the workspace, if anything, that programs of the host act on: repositories, hooks, protected names. The first 16 and the last 16."""
    left_behind_more: Optional[int] = None
    """Number of further ones, between the first and the last."""
    _lists = {"warnings": ManifestWarning, "left_behind": LeftBehind}
