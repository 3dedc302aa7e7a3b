"""An exception for each error code of docs/ERRORS.md.

Printed by `tools/python-client codes`; `./dev docs` writes it. Do not edit.
"""

import builtins
from typing import Dict, Type

from ._error import (
    AuthenticationError,
    BadRequestError,
    CarrelError,
    ConflictError,
    LimitError,
    NotAvailableError,
    NotFoundError,
    QuotaError,
    RefusedError,
    TooLargeError,
    UnprocessableError,
)


class SandboxManifestSyntaxError(UnprocessableError):
    """Correct the file at the line and column shown."""

    code = "sandbox_manifest_syntax"
    http_status = 422
    exit_status = 126


class SandboxSchemaInvalidError(UnprocessableError):
    """carrel schema` prints every field with its type and bounds."""

    code = "sandbox_schema_invalid"
    http_status = 422
    exit_status = 126


class SandboxConfigInvalidError(UnprocessableError):
    """carrel schema` prints the settings of each provider."""

    code = "sandbox_config_invalid"
    http_status = 422
    exit_status = 126


class SandboxFormConflictError(UnprocessableError):
    """Keep exactly one of inline, ref or file."""

    code = "sandbox_form_conflict"
    http_status = 422
    exit_status = 126


class SandboxFormMissingError(UnprocessableError):
    """Write the block under `inline`, or name a file with `ref`."""

    code = "sandbox_form_missing"
    http_status = 422
    exit_status = 126


class SandboxAliasConflictError(UnprocessableError):
    """Keep one spelling of the field."""

    code = "sandbox_alias_conflict"
    http_status = 422
    exit_status = 126


class SandboxPlaintextCredentialError(UnprocessableError):
    """Move the value to a secret source and name it through env.auth."""

    code = "sandbox_plaintext_credential"
    http_status = 422
    exit_status = 126


class SandboxEnvConflictError(UnprocessableError):
    """List each name once: as a secret or as passthrough."""

    code = "sandbox_env_conflict"
    http_status = 422
    exit_status = 126


class SandboxEgressInvalidError(UnprocessableError):
    """Entries are host names: api.example.com, *.example.com, host:port."""

    code = "sandbox_egress_invalid"
    http_status = 422
    exit_status = 126


class SandboxMountInvalidError(UnprocessableError):
    """A mount has a source, an absolute path `at`, and a mode."""

    code = "sandbox_mount_invalid"
    http_status = 422
    exit_status = 126


class SandboxRefUnresolvableError(UnprocessableError):
    """A ref is ./path, ../sibling/path or @owner/slug."""

    code = "sandbox_ref_unresolvable"
    http_status = 422
    exit_status = 126


class SandboxProviderUnknownError(UnprocessableError):
    """carrel providers` lists the providers of this host."""

    code = "sandbox_provider_unknown"
    http_status = 422
    exit_status = 126


class SandboxProviderConflictError(ConflictError):
    """Choose another provider id."""

    code = "sandbox_provider_conflict"
    http_status = 409
    exit_status = 126


class SandboxProviderUntrustedError(RefusedError):
    """Use an isolated provider, or mark the manifest trusted in the host file."""

    code = "sandbox_provider_untrusted"
    http_status = 403
    exit_status = 126


class SandboxAuthUnresolvableError(UnprocessableError):
    """Name the secret in SECRETS.md and configure a source that holds it."""

    code = "sandbox_auth_unresolvable"
    http_status = 422
    exit_status = 126


class SandboxEgressNotPermittedError(RefusedError):
    """Ask the host's administrator to permit this destination."""

    code = "sandbox_egress_not_permitted"
    http_status = 403
    exit_status = 126


class SandboxEgressUnenforceableError(NotAvailableError):
    """Remove network.egress: an empty list means no way out, and is enforced."""

    code = "sandbox_egress_unenforceable"
    http_status = 501
    exit_status = 126


class SandboxPassthroughDeniedError(RefusedError):
    """Use env.auth for credentials, or have the host file allow the name."""

    code = "sandbox_passthrough_denied"
    http_status = 403
    exit_status = 126


class SandboxMountUnresolvableError(UnprocessableError):
    """Check that the source exists and that the host file permits it."""

    code = "sandbox_mount_unresolvable"
    http_status = 422
    exit_status = 126


class SandboxPolicyDeniedError(RefusedError):
    """Add a grant for this action to the policy block."""

    code = "sandbox_policy_denied"
    http_status = 403
    exit_status = 126


class SandboxPolicyUnresolvableError(UnprocessableError):
    """Write the policy inline, or name one this host knows."""

    code = "sandbox_policy_unresolvable"
    http_status = 422
    exit_status = 126


class SandboxReadOnlyError(RefusedError):
    """Set read_only: false to permit commands."""

    code = "sandbox_read_only"
    http_status = 403
    exit_status = 126


class SandboxNotConfiguredError(NotFoundError):
    """Declare a sandbox: run `carrel init` in your project, or pass -f FILE."""

    code = "sandbox_not_configured"
    http_status = 404
    exit_status = 126


class SandboxNotFoundError(NotFoundError):
    """carrel ls` lists the sandboxes that exist."""

    code = "sandbox_not_found"
    http_status = 404
    exit_status = 126


class SandboxGoneError(NotFoundError):
    """Use a new key to create another sandbox."""

    code = "sandbox_gone"
    http_status = 410
    exit_status = 126


class SandboxExistsError(ConflictError):
    """Choose another name, or stop the sandbox that has this one."""

    code = "sandbox_exists"
    http_status = 409
    exit_status = 126


class SandboxMountReadOnlyError(RefusedError):
    """Write to a path mounted read-write."""

    code = "sandbox_mount_read_only"
    http_status = 403
    exit_status = 126


class SandboxTimeoutError(LimitError, builtins.TimeoutError):
    """Give it more time with --timeout (timeout_ms in a call), or raise limits.timeout_ms in SANDBOX.md."""

    code = "sandbox_timeout"
    http_status = 408
    exit_status = 124


class SandboxOomError(LimitError):
    """Raise limits.memory_mb. Files in /tmp and the home count too where they are memory: remove some, or set metadata.carrel.disk."""

    code = "sandbox_oom"
    http_status = 507
    exit_status = 137


class SandboxCpuLimitError(LimitError):
    """Raise limits.cpu_ms."""

    code = "sandbox_cpu_limit"
    http_status = 508
    exit_status = 137


class SandboxBackendFailedError(CarrelError):
    """carrel doctor` says what this machine can enforce."""

    code = "sandbox_backend_failed"
    http_status = 500
    exit_status = 125


class CapabilityUnavailableError(NotAvailableError):
    """carrel doctor` names the command that fixes it."""

    code = "capability_unavailable"
    http_status = 501
    exit_status = 126


class RuntimeUnknownError(UnprocessableError):
    """Choose one of the templates that the answer lists, or leave the runtime out."""

    code = "runtime_unknown"
    http_status = 422
    exit_status = 126


class InvalidArgumentError(BadRequestError, builtins.ValueError):
    """carrel COMMAND --help`, or GET /v1/openapi.json over HTTP, says what is allowed."""

    code = "invalid_argument"
    http_status = 400
    exit_status = 125


class CommandNotFoundError(NotFoundError, builtins.FileNotFoundError):
    """Check the name; it is looked up inside the sandbox."""

    code = "command_not_found"
    http_status = 404
    exit_status = 127


class CommandNotExecutableError(UnprocessableError):
    """Check the file's mode and its interpreter line."""

    code = "command_not_executable"
    http_status = 422
    exit_status = 126


class FileUnreadableError(UnprocessableError):
    """Check that the path names a readable regular file."""

    code = "file_unreadable"
    http_status = 422
    exit_status = 125


class WorkspaceNotFoundError(UnprocessableError, builtins.FileNotFoundError):
    """Name a directory that exists: -w DIR of a command, workspace of a call."""

    code = "workspace_not_found"
    http_status = 422
    exit_status = 125


class MountDeniedError(RefusedError):
    """The host file says what may be mounted (mount_roots) and brought in as tools (tool_roots): docs/HOST.md."""

    code = "mount_denied"
    http_status = 403
    exit_status = 126


class ImageInvalidError(UnprocessableError):
    """An image is an OCI layout, an archive of `docker save`, or a tar file of a root directory: docs/IMAGES.md."""

    code = "image_invalid"
    http_status = 422
    exit_status = 126


class ImageNotFoundError(NotFoundError):
    """carrel image ls` lists the images; `carrel image pull NAME` or `carrel image import SOURCE NAME` adds one."""

    code = "image_not_found"
    http_status = 404
    exit_status = 126


class ImagePullFailedError(CarrelError):
    """Check the name and the network. `skopeo inspect docker://NAME` shows whether the registry has the image, `skopeo login` stores a password."""

    code = "image_pull_failed"
    http_status = 502
    exit_status = 125


class StorageFullError(LimitError):
    """Free some disk space and try again."""

    code = "storage_full"
    http_status = 507
    exit_status = 125


class StateInUseError(ConflictError):
    """Stop the other daemon, or choose another state directory with --state DIR."""

    code = "state_in_use"
    http_status = 409
    exit_status = 125


class StateUnusableError(CarrelError):
    """Use the Carrel that wrote this state directory, or choose another with --state DIR."""

    code = "state_unusable"
    http_status = 500
    exit_status = 125


class ExecNotFoundError(NotFoundError):
    """carrel ps ID` lists the execs of a sandbox."""

    code = "exec_not_found"
    http_status = 404
    exit_status = 126


class DaemonUnreachableError(NotAvailableError, builtins.ConnectionError):
    """Start a daemon with `carrel serve`, and leave it running."""

    code = "daemon_unreachable"
    http_status = 503
    exit_status = 125


class ConnectionLostError(NotAvailableError, builtins.ConnectionError):
    """Try again. Commands that were started keep running; `carrel ps ID` lists them."""

    code = "connection_lost"
    http_status = 503
    exit_status = 125


class CanceledError(ConflictError):
    """Nothing is wrong: the caller asked for it."""

    code = "canceled"
    http_status = 409
    exit_status = 125


class QuotaExceededError(QuotaError):
    """Stop a sandbox, or raise the host's quota."""

    code = "quota_exceeded"
    http_status = 429
    exit_status = 126


class LimitInUseError(ConflictError):
    """Ask for more than is in use, or end what uses it: `carrel limits ID` shows both."""

    code = "limit_in_use"
    http_status = 409
    exit_status = 126


class NoMemoryError(NotAvailableError):
    """Free some memory and try again."""

    code = "no_memory"
    http_status = 503
    exit_status = 125


class ProtocolError(CarrelError):
    """Two parts of Carrel disagree: reinstall so that both are of one version."""

    code = "protocol_error"
    http_status = 500
    exit_status = 125


class InternalError(CarrelError):
    """This is a mistake in Carrel; please report it with the command you ran."""

    code = "internal_error"
    http_status = 500
    exit_status = 125


class AuditUnavailableError(NotAvailableError):
    """Nothing was started, because it could not be recorded. Correct the cause, and try again."""

    code = "audit_unavailable"
    http_status = 503
    exit_status = 125


class AuditBrokenError(ConflictError):
    """carrel audit verify` names the first entry that is wrong. Keep the files, and begin a log in another directory."""

    code = "audit_broken"
    http_status = 409
    exit_status = 126


class DocumentDeniedError(RefusedError):
    """The document of this sandbox does not admit the risk: `carrel providers` lists the tier of each provider. low needs T1, medium T3, high T4."""

    code = "document_denied"
    http_status = 403
    exit_status = 126


class ApprovalRequiredError(BadRequestError):
    """A person must approve it: `carrel approvals` shows what waits. Then repeat the same call."""

    code = "approval_required"
    http_status = 428
    exit_status = 126


class ApprovalDeniedError(RefusedError):
    """A person refused it. Ask them before you repeat the call."""

    code = "approval_denied"
    http_status = 403
    exit_status = 126


class ApprovalExpiredError(RefusedError):
    """No person answered in time. Repeat the call while somebody can answer: `carrel approvals -f` shows what waits."""

    code = "approval_expired"
    http_status = 403
    exit_status = 126


class ApprovalNotFoundError(NotFoundError):
    """carrel approvals` lists what waits. A restart of the daemon withdraws what waited: repeat the call that asked."""

    code = "approval_not_found"
    http_status = 404
    exit_status = 126


class ApprovalAnsweredError(ConflictError):
    """Each request has one answer. `carrel approvals` lists what waits."""

    code = "approval_answered"
    http_status = 409
    exit_status = 126


class FileNotFoundError(NotFoundError, builtins.FileNotFoundError):
    """Check the path; it is looked up inside the sandbox."""

    code = "file_not_found"
    http_status = 404
    exit_status = 127


class FileExistsError(ConflictError, builtins.FileExistsError):
    """Remove what is there first, or choose another path."""

    code = "file_exists"
    http_status = 409
    exit_status = 125


class NotAFileError(UnprocessableError):
    """Name a regular file: directories, FIFOs, sockets and devices are not read or written."""

    code = "not_a_file"
    http_status = 422
    exit_status = 125


class NotADirectoryError(UnprocessableError, builtins.NotADirectoryError):
    """A part of the path, or the path itself, is no directory."""

    code = "not_a_directory"
    http_status = 422
    exit_status = 125


class DirectoryNotEmptyError(ConflictError):
    """Remove it with recursive: true."""

    code = "directory_not_empty"
    http_status = 409
    exit_status = 125


class PathTooLongError(UnprocessableError):
    """A path has at most 4095 bytes, a name 255."""

    code = "path_too_long"
    http_status = 422
    exit_status = 125


class PathLoopError(UnprocessableError):
    """Too many symbolic links lead to one another."""

    code = "path_loop"
    http_status = 422
    exit_status = 125


class PermissionDeniedError(RefusedError, builtins.PermissionError):
    """The sandbox's own user may not do this to this path."""

    code = "permission_denied"
    http_status = 403
    exit_status = 126


class FileTooLargeError(TooLargeError):
    """Write less, or raise the limit on a file's size."""

    code = "file_too_large"
    http_status = 413
    exit_status = 125


class FileBusyError(ConflictError):
    """Something inside is using it; try again when that has ended."""

    code = "file_busy"
    http_status = 409
    exit_status = 125


class UnauthenticatedError(AuthenticationError):
    """Send `Authorization: Bearer TOKEN`; the token's file lies in the state directory."""

    code = "unauthenticated"
    http_status = 401
    exit_status = 126


class ForbiddenError(RefusedError):
    """Ask as the owner, with a token of scope all, from a program and not from a foreign page."""

    code = "forbidden"
    http_status = 403
    exit_status = 126


class RequestMalformedError(BadRequestError):
    """Send HTTP/1.1 as RFC 9112 has it: one framing, CRLF, one Host."""

    code = "request_malformed"
    http_status = 400
    exit_status = 125


class RouteNotFoundError(NotFoundError):
    """GET /v1/openapi.json lists every route."""

    code = "route_not_found"
    http_status = 404
    exit_status = 125


class MethodNotAllowedError(BadRequestError):
    """The answer's Allow header says which methods this route has."""

    code = "method_not_allowed"
    http_status = 405
    exit_status = 125


class RequestTimeoutError(LimitError, builtins.TimeoutError):
    """Send the whole request without long pauses."""

    code = "request_timeout"
    http_status = 408
    exit_status = 125


class RequestTooLargeError(TooLargeError):
    """Send less at once; large files go as raw bodies with PUT."""

    code = "request_too_large"
    http_status = 413
    exit_status = 125


class TargetTooLongError(BadRequestError):
    """A request's target has at most 8 KiB."""

    code = "target_too_long"
    http_status = 414
    exit_status = 125


class MediaTypeUnsupportedError(BadRequestError):
    """Send `Content-Type: application/json`, without a content encoding."""

    code = "media_type_unsupported"
    http_status = 415
    exit_status = 125


class RangeUnsatisfiableError(BadRequestError):
    """The answer's Content-Range header says how long the file is."""

    code = "range_unsatisfiable"
    http_status = 416
    exit_status = 125


class ExpectationFailedError(BadRequestError):
    """The only supported expectation is 100-continue."""

    code = "expectation_failed"
    http_status = 417
    exit_status = 125


class HeadersTooLargeError(BadRequestError):
    """A request's head has at most 16 KiB and 64 headers."""

    code = "headers_too_large"
    http_status = 431
    exit_status = 125


class HttpVersionUnsupportedError(CarrelError):
    """Speak HTTP/1.1."""

    code = "http_version_unsupported"
    http_status = 505
    exit_status = 125


class PortUnreachableError(CarrelError):
    """Start a server inside that listens on this port."""

    code = "port_unreachable"
    http_status = 502
    exit_status = 125


class PortAnswerInvalidError(CarrelError):
    """The server inside did not answer in well-formed HTTP."""

    code = "port_answer_invalid"
    http_status = 502
    exit_status = 125


class UnavailableError(NotAvailableError):
    """Try again in a moment."""

    code = "unavailable"
    http_status = 503
    exit_status = 125


class VolumeNotFoundError(NotFoundError):
    """carrel volume ls` lists the volumes that exist."""

    code = "volume_not_found"
    http_status = 404
    exit_status = 126


class VolumeInUseError(ConflictError):
    """Wait until the sandbox that uses it has ended, or stop it."""

    code = "volume_in_use"
    http_status = 409
    exit_status = 126


CODES: Dict[str, Type[CarrelError]] = {
    "sandbox_manifest_syntax": SandboxManifestSyntaxError,
    "sandbox_schema_invalid": SandboxSchemaInvalidError,
    "sandbox_config_invalid": SandboxConfigInvalidError,
    "sandbox_form_conflict": SandboxFormConflictError,
    "sandbox_form_missing": SandboxFormMissingError,
    "sandbox_alias_conflict": SandboxAliasConflictError,
    "sandbox_plaintext_credential": SandboxPlaintextCredentialError,
    "sandbox_env_conflict": SandboxEnvConflictError,
    "sandbox_egress_invalid": SandboxEgressInvalidError,
    "sandbox_mount_invalid": SandboxMountInvalidError,
    "sandbox_ref_unresolvable": SandboxRefUnresolvableError,
    "sandbox_provider_unknown": SandboxProviderUnknownError,
    "sandbox_provider_conflict": SandboxProviderConflictError,
    "sandbox_provider_untrusted": SandboxProviderUntrustedError,
    "sandbox_auth_unresolvable": SandboxAuthUnresolvableError,
    "sandbox_egress_not_permitted": SandboxEgressNotPermittedError,
    "sandbox_egress_unenforceable": SandboxEgressUnenforceableError,
    "sandbox_passthrough_denied": SandboxPassthroughDeniedError,
    "sandbox_mount_unresolvable": SandboxMountUnresolvableError,
    "sandbox_policy_denied": SandboxPolicyDeniedError,
    "sandbox_policy_unresolvable": SandboxPolicyUnresolvableError,
    "sandbox_read_only": SandboxReadOnlyError,
    "sandbox_not_configured": SandboxNotConfiguredError,
    "sandbox_not_found": SandboxNotFoundError,
    "sandbox_gone": SandboxGoneError,
    "sandbox_exists": SandboxExistsError,
    "sandbox_mount_read_only": SandboxMountReadOnlyError,
    "sandbox_timeout": SandboxTimeoutError,
    "sandbox_oom": SandboxOomError,
    "sandbox_cpu_limit": SandboxCpuLimitError,
    "sandbox_backend_failed": SandboxBackendFailedError,
    "capability_unavailable": CapabilityUnavailableError,
    "runtime_unknown": RuntimeUnknownError,
    "invalid_argument": InvalidArgumentError,
    "command_not_found": CommandNotFoundError,
    "command_not_executable": CommandNotExecutableError,
    "file_unreadable": FileUnreadableError,
    "workspace_not_found": WorkspaceNotFoundError,
    "mount_denied": MountDeniedError,
    "image_invalid": ImageInvalidError,
    "image_not_found": ImageNotFoundError,
    "image_pull_failed": ImagePullFailedError,
    "storage_full": StorageFullError,
    "state_in_use": StateInUseError,
    "state_unusable": StateUnusableError,
    "exec_not_found": ExecNotFoundError,
    "daemon_unreachable": DaemonUnreachableError,
    "connection_lost": ConnectionLostError,
    "canceled": CanceledError,
    "quota_exceeded": QuotaExceededError,
    "limit_in_use": LimitInUseError,
    "no_memory": NoMemoryError,
    "protocol_error": ProtocolError,
    "internal_error": InternalError,
    "audit_unavailable": AuditUnavailableError,
    "audit_broken": AuditBrokenError,
    "document_denied": DocumentDeniedError,
    "approval_required": ApprovalRequiredError,
    "approval_denied": ApprovalDeniedError,
    "approval_expired": ApprovalExpiredError,
    "approval_not_found": ApprovalNotFoundError,
    "approval_answered": ApprovalAnsweredError,
    "file_not_found": FileNotFoundError,
    "file_exists": FileExistsError,
    "not_a_file": NotAFileError,
    "not_a_directory": NotADirectoryError,
    "directory_not_empty": DirectoryNotEmptyError,
    "path_too_long": PathTooLongError,
    "path_loop": PathLoopError,
    "permission_denied": PermissionDeniedError,
    "file_too_large": FileTooLargeError,
    "file_busy": FileBusyError,
    "unauthenticated": UnauthenticatedError,
    "forbidden": ForbiddenError,
    "request_malformed": RequestMalformedError,
    "route_not_found": RouteNotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "request_timeout": RequestTimeoutError,
    "request_too_large": RequestTooLargeError,
    "target_too_long": TargetTooLongError,
    "media_type_unsupported": MediaTypeUnsupportedError,
    "range_unsatisfiable": RangeUnsatisfiableError,
    "expectation_failed": ExpectationFailedError,
    "headers_too_large": HeadersTooLargeError,
    "http_version_unsupported": HttpVersionUnsupportedError,
    "port_unreachable": PortUnreachableError,
    "port_answer_invalid": PortAnswerInvalidError,
    "unavailable": UnavailableError,
    "volume_not_found": VolumeNotFoundError,
    "volume_in_use": VolumeInUseError,
}
