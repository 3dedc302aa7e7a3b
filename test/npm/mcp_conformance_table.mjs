/*
 * mcp_conformance_table.mjs - every server scenario of both MCP conformance suites, and what it gives. Not a test.
 *
 * A row is [shipped, fixture, why]: passed/failed/not judged, as the suite counts its checks, for the program that is shipped and for a build with
 * -Dtest_switches=true whose URL says test_fixture=true (src/mcp/fixture.h). The suite is written for a server with tools, resources and prompts of
 * certain names; the fixture has those that leave through code that ships. A row that does not pass whole in both columns names its reason, and the
 * test asserts what the reason says: the shipped server answers -32601 to each of `methods` and -32602 to each of `tools`, in both eras.
 * Not judged are the checks that the suite itself skips or only warns about.
 */
const TOOL = {
        why: 'asks for tools of certain names: passes with the fixture',
        tools: ['test_simple_text', 'test_image_content', 'test_audio_content', 'test_embedded_resource', 'test_multiple_content_types',
                'test_error_handling', 'test_tool_with_progress', 'json_schema_2020_12_tool'],
};
const RESOURCES = {
        why: 'resources are not offered, files are read with the tool read_file: passes with the fixture',
        methods: ['resources/list', 'resources/templates/list', 'resources/read'],
};
const PROMPTS = {
        why: 'prompts are not offered, a sandbox has none to suggest: passes with the fixture',
        methods: ['prompts/list', 'prompts/get'],
};
const LISTS = {
        why: 'three checks ask for lists of prompts, resources and templates, which are not offered: passes with the fixture',
        methods: ['prompts/list', 'resources/list', 'resources/templates/list'],
};
const RESOURCE_DATA = {
        why: 'no resource is offered; with the fixture the code is -32602, and the URI in the data of the error (a SHOULD) is not given',
        methods: ['resources/read'],
};
const SUBSCRIPTION = {
        why: 'nothing changes that a client could subscribe to: resources are not offered, and 2026-07-28 removed these methods',
        methods: ['resources/subscribe', 'resources/unsubscribe'],
};
const LOGGING = {
        why: 'logging is not offered: 2026-07-28 deprecates it, and what would be logged is in the log of the daemon',
        methods: ['logging/setLevel'],
        tools: ['test_tool_with_logging'],
};
const COMPLETION = {
        why: 'completion is about arguments of prompts and resource templates, which are not offered',
        methods: ['completion/complete'],
};
const SAMPLING = {
        why: 'the server sends no request to its client: no tool of Carrel needs a model, and 2026-07-28 deprecates sampling',
        tools: ['test_sampling'],
};
const ELICITATION = {
        why: 'the server sends no request to its client: no tool of Carrel asks people anything',
        tools: ['test_elicitation', 'test_elicitation_sep1034_defaults', 'test_elicitation_sep1330_enums'],
};
const INPUT = {
        why: 'no tool of Carrel wants input in the middle of a call: what passes is the schema of the messages, and that nothing is accepted',
        tools: ['test_input_required_result_elicitation', 'test_input_required_result_sampling', 'test_input_required_result_list_roots',
                'test_input_required_result_request_state', 'test_input_required_result_multiple_inputs', 'test_input_required_result_multi_round',
                'test_input_required_result_tampered_state', 'test_input_required_result_capabilities'],
};
const INPUT_PROMPT = {
        why: 'no prompt wants input, because prompts are not offered',
        methods: ['prompts/get'],
};
const SESSION = {
        why: 'no session is kept, as in 2026-07-28, so the suite has none to begin with: many calls at once are in mcp_clients_test',
        tools: ['test_reconnection'],
};
const DIAGNOSTIC = {
        why: 'four checks ask for tools that elicit, log or need a capability of the client; five are about subscriptions, which are not offered',
        methods: ['subscriptions/listen'],
        tools: ['test_missing_capability', 'test_streaming_elicitation', 'test_logging_tool'],
};
const TASKS = {
        why: 'the tasks extension is not offered: what runs long is a background process, asked for by its number',
        methods: ['tasks/get', 'tasks/update', 'tasks/cancel'],
        tools: ['greet', 'slow_compute', 'failing_job', 'protocol_error_job'],
};
const PARAM_HEADER = {
        why: 'no tool of Carrel has x-mcp-header: none has an argument that a proxy would have to read',
        tools: ['test_headers', 'test_custom_headers'],
};
const SKILLS = {
        why: 'the skills extension is not offered, and no revision requires it: the suite does not run these',
        methods: ['skills/list', 'skills/get'],
};

/* Of each run: its scenarios. */
export const RUNS = {
        '0.1.16': {
                'server-initialize': ['1/0/0', '1/0/0'],
                'logging-set-level': ['0/1/0', '0/1/0', LOGGING],
                'ping': ['1/0/0', '1/0/0'],
                'completion-complete': ['0/1/0', '0/1/0', COMPLETION],
                'tools-list': ['1/0/0', '1/0/0'],
                'tools-call-simple-text': ['0/1/0', '1/0/0', TOOL],
                'tools-call-image': ['0/1/0', '1/0/0', TOOL],
                'tools-call-audio': ['0/1/0', '1/0/0', TOOL],
                'tools-call-embedded-resource': ['0/1/0', '1/0/0', TOOL],
                'tools-call-mixed-content': ['0/1/0', '1/0/0', TOOL],
                'tools-call-with-logging': ['0/1/0', '0/1/0', LOGGING],
                'tools-call-error': ['0/1/0', '1/0/0', TOOL],
                'tools-call-with-progress': ['0/1/0', '1/0/0', TOOL],
                'tools-call-sampling': ['0/1/0', '0/1/0', SAMPLING],
                'tools-call-elicitation': ['0/1/0', '0/1/0', ELICITATION],
                'json-schema-2020-12': ['0/1/0', '4/0/0', TOOL],
                'elicitation-sep1034-defaults': ['0/1/0', '0/1/0', ELICITATION],
                'server-sse-polling': ['0/0/1', '0/0/1', SESSION],
                'server-sse-multiple-streams': ['0/0/1', '0/0/1', SESSION],
                'elicitation-sep1330-enums': ['0/1/0', '0/1/0', ELICITATION],
                'resources-list': ['0/1/0', '1/0/0', RESOURCES],
                'resources-read-text': ['0/1/0', '1/0/0', RESOURCES],
                'resources-read-binary': ['0/1/0', '1/0/0', RESOURCES],
                'resources-templates-read': ['0/1/0', '1/0/0', RESOURCES],
                'resources-subscribe': ['0/1/0', '0/1/0', SUBSCRIPTION],
                'resources-unsubscribe': ['0/1/0', '0/1/0', SUBSCRIPTION],
                'prompts-list': ['0/1/0', '1/0/0', PROMPTS],
                'prompts-get-simple': ['0/1/0', '1/0/0', PROMPTS],
                'prompts-get-with-args': ['0/1/0', '1/0/0', PROMPTS],
                'prompts-get-embedded-resource': ['0/1/0', '1/0/0', PROMPTS],
                'prompts-get-with-image': ['0/1/0', '1/0/0', PROMPTS],
                'dns-rebinding-protection': ['2/0/0', '2/0/0'],
        },
        '0.2.0-alpha.12, 2025-11-25': {
                'server-initialize': ['2/0/0', '2/0/0'],
                'logging-set-level': ['1/1/0', '1/1/0', LOGGING],
                'ping': ['2/0/0', '2/0/0'],
                'completion-complete': ['1/1/0', '1/1/0', COMPLETION],
                'tools-list': ['3/0/0', '3/0/0'],
                'tools-call-simple-text': ['1/1/0', '2/0/0', TOOL],
                'tools-call-image': ['1/1/0', '2/0/0', TOOL],
                'tools-call-audio': ['1/1/0', '2/0/0', TOOL],
                'tools-call-embedded-resource': ['1/1/0', '2/0/0', TOOL],
                'tools-call-mixed-content': ['1/1/0', '2/0/0', TOOL],
                'tools-call-with-logging': ['1/1/0', '1/1/0', LOGGING],
                'tools-call-error': ['1/1/0', '2/0/0', TOOL],
                'tools-call-with-progress': ['1/1/0', '2/0/0', TOOL],
                'tools-call-sampling': ['1/1/0', '1/1/0', SAMPLING],
                'tools-call-elicitation': ['1/1/0', '1/1/0', ELICITATION],
                'elicitation-sep1034-defaults': ['1/1/0', '1/1/0', ELICITATION],
                'server-sse-multiple-streams': ['0/0/1', '0/0/1', SESSION],
                'elicitation-sep1330-enums': ['1/1/0', '1/1/0', ELICITATION],
                'resources-list': ['1/1/0', '2/0/0', RESOURCES],
                'resources-read-text': ['1/1/0', '2/0/0', RESOURCES],
                'resources-read-binary': ['1/1/0', '2/0/0', RESOURCES],
                'resources-templates-read': ['1/1/0', '2/0/0', RESOURCES],
                'resources-subscribe': ['1/1/0', '1/1/0', SUBSCRIPTION],
                'resources-unsubscribe': ['1/1/0', '1/1/0', SUBSCRIPTION],
                'prompts-list': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-simple': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-with-args': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-embedded-resource': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-with-image': ['1/1/0', '2/0/0', PROMPTS],
                'dns-rebinding-protection': ['2/0/0', '2/0/0'],
                'server-session-lifecycle': ['0/0/0', '0/0/0', SESSION],
                'json-schema-2020-12': ['1/1/0', '8/0/0', TOOL],
                'server-sse-polling': ['0/0/1', '0/0/1', SESSION],
        },
        '0.2.0-alpha.12, 2026-07-28': {
                'server-stateless': ['21/4/5', '21/4/5', DIAGNOSTIC],
                'completion-complete': ['1/1/0', '1/1/0', COMPLETION],
                'tools-list': ['4/0/0', '4/0/0'],
                'tools-call-simple-text': ['1/1/0', '2/0/0', TOOL],
                'tools-call-image': ['1/1/0', '2/0/0', TOOL],
                'tools-call-audio': ['1/1/0', '2/0/0', TOOL],
                'tools-call-embedded-resource': ['1/1/0', '2/0/0', TOOL],
                'tools-call-mixed-content': ['1/1/0', '2/0/0', TOOL],
                'tools-call-error': ['1/1/0', '2/0/0', TOOL],
                'tools-call-with-progress': ['1/1/0', '2/0/0', TOOL],
                'server-sse-multiple-streams': ['1/0/0', '1/0/0'],
                'resources-list': ['1/1/0', '2/0/0', RESOURCES],
                'resources-read-text': ['1/1/0', '2/0/0', RESOURCES],
                'resources-read-binary': ['1/1/0', '2/0/0', RESOURCES],
                'resources-templates-read': ['1/1/0', '2/0/0', RESOURCES],
                'sep-2164-resource-not-found': ['2/0/2', '3/0/1', RESOURCE_DATA],
                'prompts-list': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-simple': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-with-args': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-embedded-resource': ['1/1/0', '2/0/0', PROMPTS],
                'prompts-get-with-image': ['1/1/0', '2/0/0', PROMPTS],
                'dns-rebinding-protection': ['2/0/0', '2/0/0'],
                'caching': ['4/3/1', '8/0/0', LISTS],
                'input-required-result-basic-elicitation': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-basic-sampling': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-basic-list-roots': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-request-state': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-multiple-input-requests': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-multi-round': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-missing-input-response': ['1/0/1', '1/0/1', INPUT],
                'input-required-result-non-tool-request': ['1/1/0', '1/1/0', INPUT_PROMPT],
                'input-required-result-result-type': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-unsupported-methods': ['2/0/0', '2/0/0'],
                'input-required-result-tampered-state': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-capability-check': ['1/1/0', '1/1/0', INPUT],
                'input-required-result-ignore-extra-params': ['1/0/1', '1/0/1', INPUT],
                'input-required-result-validate-input': ['3/0/0', '3/0/0', INPUT],
                'tasks-lifecycle': ['1/8/0', '1/8/0', TASKS],
                'tasks-capability-negotiation': ['1/4/0', '1/4/0', TASKS],
                'tasks-wire-fields': ['1/3/0', '1/3/0', TASKS],
                'tasks-request-state-removal': ['1/1/0', '1/1/0', TASKS],
                'tasks-mrtr-input': ['1/3/0', '1/3/0', TASKS],
                'tasks-request-headers': ['2/3/0', '2/3/0', TASKS],
                'tasks-dispatch-and-envelope': ['3/6/0', '3/6/0', TASKS],
                'tasks-status-notifications': ['0/0/1', '0/0/1', TASKS],
                'tasks-required-task-error': ['1/1/0', '1/1/0', TASKS],
                'tasks-mrtr-composition': ['1/1/0', '1/1/0', TASKS],
                'json-schema-2020-12': ['1/1/0', '8/0/0', TOOL],
                'http-header-validation': ['14/0/0', '14/0/0'],
                'http-custom-header-server-validation': ['1/5/0', '1/5/0', PARAM_HEADER],
        },
};

/* Of each suite: scenarios that it lists and that none of its runs has. */
export const NOT_RUN = {
        '0.1.16': {},
        '0.2.0-alpha.12': {
                'sep-2640-skills-directory': SKILLS,
                'sep-2640-skills-enumeration': SKILLS,
                'sep-2640-skills-manifest': SKILLS,
        },
};
