"""A tool server of MCP over standard streams, without dependencies: one tool that reads a file."""
import json
import sys

TOOL = {"name": "read", "description": "Reads a file of the workspace.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    try:
        with open(params["arguments"]["path"], encoding="utf-8") as f:
            return {"content": [{"type": "text", "text": f.read()}]}
    except OSError as e:
        return {"content": [{"type": "text", "text": str(e)}], "isError": True}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}), flush=True)
