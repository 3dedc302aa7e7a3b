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
        body=('name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'key'),
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
        body=('name', 'manifest', 'manifest_name', 'workspace', 'reads', 'runtime', 'timeout_ms', 'delete_at_ms', 'env', 'ports', 'metadata', 'start', 'key'),
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
        query=('path', 'depth', 'encoding'),
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
    "info": Operation(
        "GET", "/v1/info",
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
    "network": Operation(
        "PUT", "/v1/sandboxes/{id}/network",
        query=(),
        body=('egress',),
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
    """Where a port is reached from outside."""
    browser_url: Optional[str] = None
    """The same port, with an origin of its own: for browsers, which resolve names below localhost by themselves."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    token: Optional[str] = None
    """A credential. Shown once."""


@dataclass(frozen=True)
class DaemonInfo(Answer):
    version: str
    """Version of Carrel."""
    runtimes: List[str] = field(default_factory=list)
    """Templates of this host, once for each."""
    sandboxes: Optional[int] = None
    """How many there are."""
    pool: Optional[int] = None
    """Boxes that stand ready."""


@dataclass(frozen=True)
class ManifestWarning(Answer):
    code: str
    """Error code, stable."""
    message: str
    """One sentence."""
    at: Optional[str] = None
    """Place in the caller's own input, slash-separated."""
    line: Optional[int] = None
    """Line in the manifest."""
    column: Optional[int] = None
    """Column in the manifest."""


@dataclass(frozen=True)
class Denial(Answer):
    reason: str
    """A word that narrows the code."""
    host: str
    """The name that was asked for."""
    count: int
    """How often, one after another."""
    message: str
    """One sentence."""
    exec: Optional[int] = None
    """Number of the exec within its sandbox."""
    at_ms: Optional[int] = None
    """When, milliseconds since 1970."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    address: Optional[str] = None
    """The address that was connected to, inside."""
    said: Optional[str] = None
    """The name that contradicts it: of TLS, or of a request."""


@dataclass(frozen=True)
class Event(Answer):
    event: str
    """Name of an event: workspace-close, turn-end, exec-ended, ..."""
    at_ms: Optional[int] = None
    """When, milliseconds since 1970."""
    id: Optional[str] = None
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    exec: Optional[int] = None
    """Number of the exec within its sandbox."""
    status: Optional[str] = None
    """pending, running, paused, stopping, stopped or failed."""
    cause: Optional[str] = None
    """Why it is stopped or failed: stopped, deadline, oom, policy, lost, event, deleted, damaged, replaced (it had failed, and another of its name was created)."""
    outcome: Optional[str] = None
    """exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost."""
    exit_code: Optional[int] = None
    """0 to 255 of a command that exited; 124 timed out, 128 + signal."""
    stdout: Optional[str] = None
    """Standard output."""
    stderr: Optional[str] = None
    """Standard error."""
    slug: Optional[str] = None
    """Which secret, as its SECRETS.md calls it; never its value."""
    actor: Optional[str] = None
    """For whom a secret was revealed or denied."""
    purpose: Optional[str] = None
    """The variable that a secret was wanted for; or the place of a manifest that was refused."""
    granted_by: Optional[str] = None
    """The grant that gave access, as role:ops; or owner."""
    host_path: Optional[str] = None
    """A name on the host that programs there act on, and that a command made or changed."""
    kept_at: Optional[str] = None
    """Where that name is now: the sandbox's keeping, on the daemon's host."""
    reason: Optional[str] = None
    """A word that narrows the code."""
    host: Optional[str] = None
    """The name that was asked for."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    address: Optional[str] = None
    """The address that was connected to, inside."""
    said: Optional[str] = None
    """The name that contradicts it: of TLS, or of a request."""
    count: Optional[int] = None
    """How often, one after another."""
    message: Optional[str] = None
    """One sentence."""
    event_id: Optional[str] = None
    """Its place among the caller's events; Last-Event-ID takes it."""


@dataclass(frozen=True)
class Token(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    token: Optional[str] = None
    """A credential. Shown once."""
    owner: Optional[str] = None
    """Whose it is."""
    scope: Optional[str] = None
    """all, or read: get and list only."""
    created_at_ms: Optional[int] = None
    """When it was created, milliseconds since 1970."""


@dataclass(frozen=True)
class FileEntry(Answer):
    path: str
    """Path inside; a relative one begins at the working directory."""
    kind: str
    """file, directory, link, fifo, socket or device."""
    size: Optional[int] = None
    """Bytes."""
    mode: Optional[int] = None
    """Permission bits; set-id and sticky bits are taken away."""
    modified_at_ms: Optional[int] = None
    """Last change, milliseconds since 1970."""
    target: Optional[str] = None
    """The other path: where it goes, or where a link leads."""


@dataclass(frozen=True)
class ExecInfo(Answer):
    exec: int
    """Number of the exec within its sandbox."""
    state: str
    """starting, running, ended or failed."""
    command: Optional[str] = None
    """A command line for the sandbox's shell, in place of argv; in an answer the beginning of what runs."""
    pid: Optional[int] = None
    """Process id inside."""
    task: Optional[str] = None
    """The task an exec belongs to, 1 to 63 characters."""
    key: Optional[str] = None
    """Idempotency key, 1 to 63 characters: the same call with the same key has one effect; another call with it is refused."""
    background: Optional[bool] = None
    """Answer at once; the exec outlives its caller."""
    started_at_ms: Optional[int] = None
    """When it was started, milliseconds since 1970."""
    timeout_ms: Optional[int] = None
    """Of a sandbox: milliseconds until it is stopped (in an answer: what is left). Of an exec: milliseconds until all its processes are killed; above what the manifest or the host file sets it is refused."""
    timeout_by: Optional[str] = None
    """Who set the limit on the time of an exec: call, manifest (limits.timeout_ms) or host (limits_max.timeout_ms of the host file)."""
    outcome: Optional[str] = None
    """exited, signaled, timed_out, oom_killed, cpu_limit, killed, policy_killed or lost."""
    exit_code: Optional[int] = None
    """0 to 255 of a command that exited; 124 timed out, 128 + signal."""
    signal: Optional[int] = None
    """Number of a signal."""
    duration_ms: Optional[int] = None
    """Milliseconds: added to the timeout; or how long an exec took."""
    cpu_ms: Optional[int] = None
    """CPU time used; in a call, the most it may use."""
    memory_peak_kb: Optional[int] = None
    """Largest resident size of a process."""
    limits_reached: List[str] = field(default_factory=list)
    """Limits that the command met and that did not end it, where there were any: disk_mb (the private disk was full at its end), pids (a process or thread was not started; known where a control group counts)."""
    stdout_bytes: Optional[int] = None
    """Bytes written to standard output so far, kept or not."""
    stderr_bytes: Optional[int] = None
    """Bytes written to standard error so far, kept or not."""
    dropped_bytes: Optional[int] = None
    """Bytes of output that are missing here, from the offset asked for (0) on: older than stdout_offset and stderr_offset, or past limits.output_bytes."""
    stdout_offset: Optional[int] = None
    """Give standard output from this byte on; in an answer, the oldest byte that is kept."""
    stderr_offset: Optional[int] = None
    """Give standard error from this byte on; in an answer, the oldest byte that is kept."""
    denied: List[Denial] = field(default_factory=list)
    """What it asked of the network and was refused, where there was any: host, port, reason, message (with what to do), count; the first 16 different things."""
    denied_more: Optional[int] = None
    """How many more requests were refused than those that are listed, with their counts."""
    port: Optional[int] = None
    """TCP port inside, 1 to 65535."""
    _lists = {"denied": Denial}


@dataclass(frozen=True)
class SandboxInfo(Answer):
    id: str
    """Identifier of a sandbox, or its name: [a-z0-9][a-z0-9_.-]{0,63}."""
    status: str
    """pending, running, paused, stopping, stopped or failed."""
    created_at_ms: int
    """When it was created, milliseconds since 1970."""
    name: Optional[str] = None
    """A name of the caller's choice, unique among one owner's sandboxes."""
    timeout_ms: Optional[int] = None
    """Of a sandbox: milliseconds until it is stopped (in an answer: what is left). Of an exec: milliseconds until all its processes are killed; above what the manifest or the host file sets it is refused."""
    delete_at_ms: Optional[int] = None
    """When it is deleted whatever else happens (scheduled deletion), milliseconds since 1970; 0: never."""
    owner: Optional[str] = None
    """Whose it is."""
    provider: Optional[str] = None
    """The provider of its manifest."""
    runtime: Optional[str] = None
    """A template: python3, python3.11, node24, ..."""
    workspace: Optional[str] = None
    """Absolute directory of the host that mounts of the workspace mean."""
    ports: List[int] = field(default_factory=list)
    """Ports that may be reached from outside, through a URL with a token."""
    read_only: Optional[bool] = None
    """Its manifest permits no command and no writing."""
    cause: Optional[str] = None
    """Why it is stopped or failed: stopped, deadline, oom, policy, lost, event, deleted, damaged, replaced (it had failed, and another of its name was created)."""
    metadata: Any = None
    """The caller's own data, given back as it came."""
    warnings: List[ManifestWarning] = field(default_factory=list)
    """What was said about the manifest: code, at, message."""
    _lists = {"warnings": ManifestWarning}
