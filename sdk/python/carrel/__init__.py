"""Sandboxes of a Carrel daemon (`carrel serve`): run commands in them, move files, reach their ports.

    from carrel import Carrel

    with Carrel().create() as sandbox:
        print(sandbox.run(["echo", "hello"]).stdout_text)

AsyncCarrel is the same for asyncio. Every failure is a CarrelError; `errors` has a class for each code.
"""
from . import errors
from ._asyncio import AsyncApprovals, AsyncCarrel, AsyncChunks, AsyncEvents, AsyncFiles, AsyncLines, AsyncProcess, AsyncSandbox, AsyncStream, AsyncTokens, AsyncVolumes
from ._client import Approvals, Carrel, Chunks, Events, Files, Lines, Process, Sandbox, Stream, Tokens, Volumes
from ._error import CarrelError
from ._operations import API_VERSION as __version__
from ._operations import Approval, DaemonInfo, Denial, Event, ExecInfo, FileEntry, LeftBehind, Limits, ManifestWarning, PortUrl, SandboxInfo, Sanitized, Token, Usage, Volume
from ._process import CommandFailedError, Output, Result

__all__ = [
    "Approval", "Approvals", "AsyncApprovals", "AsyncCarrel", "AsyncChunks", "AsyncEvents", "AsyncFiles", "AsyncLines", "AsyncProcess", "AsyncSandbox", "AsyncStream", "AsyncTokens", "AsyncVolumes",
    "Carrel", "CarrelError", "Chunks", "CommandFailedError", "DaemonInfo", "Denial", "Event", "Events", "ExecInfo", "FileEntry", "Files",
    "LeftBehind", "Limits", "Lines", "ManifestWarning", "Output", "PortUrl", "Process", "Result", "Sandbox", "SandboxInfo", "Sanitized", "Stream", "Token", "Tokens", "Usage", "Volume", "Volumes", "errors",
    "__version__",
]
