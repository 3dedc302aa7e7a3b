"""openapi - reads what `build/carrel docs openapi` prints, for the tools that write the clients in sdk/."""
import json
import subprocess


def program(*words):
    return subprocess.run(["build/carrel", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout


def document():
    return json.loads(program("docs", "openapi"))


def each_operation(api):
    """Yields (name, method, route, operation) for each operation that a client calls by its name."""
    for route, methods in api["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in ("openapi", "health"):
                yield operation["operationId"], method.upper(), route, operation


def json_schema(content):
    return (content or {}).get("application/json", {}).get("schema", {})


def places(operation):
    """Where the arguments go: the names in the query, in headers and in a body of JSON; and whether the body is raw bytes."""
    where = {place: tuple(p["name"] for p in operation.get("parameters", ()) if p["in"] == place) for place in ("query", "header")}
    content = operation.get("requestBody", {}).get("content")
    return where["query"], where["header"], tuple(json_schema(content).get("properties", ())), "application/octet-stream" in (content or ())


def answer_schema(api, name):
    """The schema of a component, or of the answer of an operation."""
    if name in api["components"]["schemas"]:
        return api["components"]["schemas"][name]
    found = {id_: operation for id_, _, _, operation in each_operation(api)}
    return json_schema(found[name]["responses"]["200"]["content"])


def request_schema(api, name):
    """The schema of the body of an operation."""
    found = {id_: operation for id_, _, _, operation in each_operation(api)}
    return json_schema(found[name]["requestBody"]["content"])
