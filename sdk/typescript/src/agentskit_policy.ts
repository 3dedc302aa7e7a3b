/*
 * agentskit_policy.ts - AgentsKit's mandatory sandbox: which calls of tools may be made, and which must run in the sandbox.
 *
 * Its page and its code differ, and both work. On the page, lists hold programs, a validator returns a sentence, and
 * createMandatorySandbox(tool, policy, sandbox) gives a list of tools. In the code, lists hold tools, a validator throws, and
 * createMandatorySandbox({ sandbox, policy }) gives wrap() and check(). Programs are judged by `carrel policy test`, which reads a
 * command with the grammar of bash: never by text here. What cannot be judged is denied.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

import type { ExecuteOptions, ExecuteResult } from './agentskit.ts';
import { SandboxError } from './agentskit_error.ts';

/** A tool of AgentsKit, as far as it is looked at. */
export interface ToolDefinition {
        name: string;
        execute?: (args: any, context?: any) => unknown;
        [member: string]: any;
}

/** true, undefined: it may be called. false or a sentence: it may not, and why. Throwing says the same. */
export type Validator = (args: any) => boolean | string | void;

export interface SandboxPolicy {
        /** The page: programs that a command may run. The code: tools that may be called. Without it: all that are not denied. */
        allow?: string[];
        /** Wins over `allow`. */
        deny?: string[];
        /** Tools whose calls run in the sandbox, and nowhere else. */
        requireSandbox?: string[] | '*';
        validators?: Record<string, Validator>;
        onPolicyEvent?: (event: PolicyEvent) => void;
}

export type PolicyEvent =
        | { type: 'allow'; tool: string; reason: 'explicit-allow' | 'not-restricted' }
        | { type: 'deny'; tool: string; reason: 'denied' | 'not-in-allow-list' | 'validation-failed'; error?: unknown }
        | { type: 'sandbox-required'; tool: string };

export interface MandatorySandbox {
        wrap<T extends ToolDefinition>(tool: T): T;
        check(tool: string | ToolDefinition): PolicyEvent;
}

export interface MandatoryOptions {
        /** The `carrel` program that judges commands (default: CARREL, else `carrel` in PATH). */
        carrel?: string;
}

/** What a policy runs code with: createSandbox(), or a backend. */
interface Runner {
        execute(code: string, options?: ExecuteOptions): Promise<ExecuteResult>;
}

/** The policy as it is now: a list that is changed later changes nothing. */
function snapshot(policy: SandboxPolicy): SandboxPolicy {
        const list = (name: 'allow' | 'deny') => {
                const words = policy[name];
                if (words !== undefined && (!Array.isArray(words) || words.some(w => typeof w !== 'string')))
                        throw new SandboxError('AK_CONFIG_INVALID', `${name} is a list of names`);
                return words === undefined ? undefined : [...words];
        };
        const required = policy.requireSandbox;

        if (required !== undefined && required !== '*' && !Array.isArray(required))
                throw new SandboxError('AK_CONFIG_INVALID', "requireSandbox is a list of tools, or '*'");
        return { allow: list('allow'), deny: list('deny'), requireSandbox: Array.isArray(required) ? [...required] : required, validators: { ...policy.validators }, onPolicyEvent: policy.onPolicyEvent };
}

function needs_execute(tool: ToolDefinition): void {
        if (typeof tool?.execute !== 'function')
                throw new SandboxError('AK_SANDBOX_INVALID_TOOL', `the tool ${JSON.stringify(tool?.name ?? null)} has no execute function`, { hint: 'Correct the definition of the tool before it is wrapped.' });
}

function is_required(policy: SandboxPolicy, tool: string): boolean {
        return policy.requireSandbox === '*' || (policy.requireSandbox ?? []).includes(tool);
}

function tell(policy: SandboxPolicy, event: PolicyEvent): PolicyEvent {
        policy.onPolicyEvent?.(event);
        return event;
}

function denied(policy: SandboxPolicy, tool: string, reason: 'denied' | 'not-in-allow-list' | 'validation-failed', message: string, hint: string, error?: unknown): never {
        tell(policy, { type: 'deny', tool, reason, ...(error === undefined ? {} : { error }) });
        throw new SandboxError('AK_SANDBOX_DENIED', message, { hint, cause: error });
}

// -- the form of the code: lists of tools ---------------------------------------------------------

function check_tool(policy: SandboxPolicy, tool: string): PolicyEvent {
        if (policy.deny?.includes(tool))
                return { type: 'deny', tool, reason: 'denied' };
        if (policy.allow && !policy.allow.includes(tool))
                return { type: 'deny', tool, reason: 'not-in-allow-list' };
        if (is_required(policy, tool))
                return { type: 'sandbox-required', tool };
        return { type: 'allow', tool, reason: policy.allow ? 'explicit-allow' : 'not-restricted' };
}

function mandatory(sandbox: ToolDefinition, policy: SandboxPolicy): MandatorySandbox {
        needs_execute(sandbox);
        return {
                check: tool => check_tool(policy, typeof tool === 'string' ? tool : tool.name),
                wrap: tool => {
                        const verdict = check_tool(policy, tool.name);

                        if (verdict.type !== 'sandbox-required')
                                needs_execute(tool);
                        return {
                                ...tool,
                                execute: async (args: any, context?: any) => {
                                        if (verdict.type === 'deny')
                                                denied(policy, tool.name, verdict.reason, `Tool "${tool.name}" is ${verdict.reason} by sandbox policy`, 'Add the tool to allow, or change what the agent plans.');
                                        const result = validated(policy, tool.name, args, true);
                                        if (result !== undefined)
                                                denied(policy, tool.name, 'validation-failed', `Tool "${tool.name}": ${result}`, 'Change the arguments of the call.');
                                        tell(policy, verdict);
                                        return (verdict.type === 'sandbox-required' ? sandbox : tool).execute!(args, context);
                                },
                        };
                },
        };
}

/** The sentence of a validator that refuses. One that throws: with `rethrows` its own error, as AgentsKit's code has it. */
function validated(policy: SandboxPolicy, tool: string, args: any, rethrows: boolean): string | undefined {
        const validator = Object.hasOwn(policy.validators!, tool) ? policy.validators![tool] : undefined;
        let said: unknown;

        if (!validator)
                return undefined;
        try {
                said = validator(args);
        } catch (error) {
                tell(policy, { type: 'deny', tool, reason: 'validation-failed', error });
                if (rethrows)
                        throw error;
                throw new SandboxError('AK_SANDBOX_DENIED', `Tool "${tool}": ${error instanceof Error ? error.message : String(error)}`, { hint: 'Change the arguments of the call.', cause: error });
        }
        if (said === true || said === undefined)
                return undefined;
        return typeof said === 'string' && said !== '' ? said : 'its validator refused the arguments';
}

// -- the form of the page: lists of programs ------------------------------------------------------

/** The command line of a call, or undefined: the tool runs no command. */
function command_of(args: any): string | undefined {
        const text = args?.cmd ?? args?.command;

        if (typeof text !== 'string')
                return undefined;
        return [text, ...(Array.isArray(args.args) ? args.args.map((a: unknown) => `'${String(a).replaceAll("'", "'\\''")}'`) : [])].join(' ');
}

/** Asks the `carrel` program: 0 allow, 1 ask, 126 deny. */
function judge(carrel: string, rules: string, command: string): Promise<{ status: number; said: string }> {
        return new Promise((resolve, reject) => {
                execFile(carrel, ['policy', '-c', command, 'test', rules], { timeout: 10_000, killSignal: 'SIGKILL', maxBuffer: 4 << 20 }, (e, out, err) => {
                        const status = e ? e.code as unknown : 0;

                        if (status === 'ENOENT' || status === 'EACCES')
                                reject(new SandboxError('AK_SANDBOX_PEER_MISSING', `the program ${carrel}, which judges commands, cannot be run`, { hint: 'Install Carrel, or name it: createMandatorySandbox(tool, policy, sandbox, { carrel: "/path/carrel" }).', cause: e }));
                        else
                                resolve({ status: typeof status === 'number' ? status : 125, said: (out || err).trim().replace(/^(deny|ask)\s+/, '') });
                });
        });
}

class Rules {
        private file?: string;
        private readonly policy: SandboxPolicy;
        private readonly carrel: string;

        constructor(policy: SandboxPolicy, carrel: string) {
                this.policy = policy;
                this.carrel = carrel;
        }

        /** Why the command may not run, or undefined. */
        async refusal(command: string): Promise<string | undefined> {
                const { allow, deny } = this.policy;

                if (!allow && !deny)
                        return undefined;
                const { status, said } = await judge(this.carrel, this.file ??= this.write({ ...(allow && { allow }), ...(deny && { deny }) }), command);
                return status === 0 ? undefined : status === 1 ? `a person would have to allow it: ${said}` : said === '' ? 'it could not be judged' : said;
        }

        private write(rules: object): string {
                const folder = mkdtempSync(path.join(os.tmpdir(), 'carrel-policy-')), file = path.join(folder, 'rules.json');

                writeFileSync(file, JSON.stringify(rules), { mode: 0o600 });
                process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
                return file;
        }
}

/** What a call of this tool is in the sandbox: code in a language; or undefined, if it cannot run there. */
function in_sandbox(args: any): [string, ExecuteOptions] | undefined {
        const command = command_of(args);

        if (command !== undefined)
                return [command, { language: 'shell', ...(typeof args.cwd === 'string' && { cwd: args.cwd }) }];
        if (typeof args?.code === 'string')
                return [args.code, typeof args.language === 'string' ? { language: args.language } : {}];
        if (typeof args?.path === 'string' && typeof args.content === 'string')
                return ['cat >"$CARREL_FILE"', { language: 'shell', stdin: args.content, env: { CARREL_FILE: args.path } }];
        return undefined;
}

function wrap_page(tool: ToolDefinition, policy: SandboxPolicy, rules: Rules, sandbox: Runner): ToolDefinition {
        const is_inside = is_required(policy, tool.name);

        if (!is_inside)
                needs_execute(tool);
        return {
                ...tool,
                metadata: { ...tool['metadata'], ...(is_inside && { sandbox: true, backend: 'carrel' }) },
                execute: async (args: any, context?: any) => {
                        const command = command_of(args), inside = is_inside ? in_sandbox(args) : undefined;

                        if (policy.deny?.includes(tool.name))
                                denied(policy, tool.name, 'denied', `Tool "${tool.name}" is denied by sandbox policy`, 'Remove the tool from deny, or change what the agent plans.');
                        const said = validated(policy, tool.name, args, false);
                        if (said !== undefined)
                                denied(policy, tool.name, 'validation-failed', `Tool "${tool.name}": ${said}`, 'Change the arguments of the call.');
                        const why = command === undefined ? undefined : await rules.refusal(command);
                        if (why !== undefined)
                                denied(policy, tool.name, policy.allow ? 'not-in-allow-list' : 'denied', `Tool "${tool.name}": the command is denied by sandbox policy: ${why}`, 'Add the program to allow, or change what the agent plans.');
                        if (is_inside && !inside)
                                denied(policy, tool.name, 'denied', `Tool "${tool.name}" must run in the sandbox, and a call of it is neither a command, code nor a file to write`, 'Take it out of requireSandbox, or write a tool that runs in the sandbox.');
                        tell(policy, inside ? { type: 'sandbox-required', tool: tool.name } : { type: 'allow', tool: tool.name, reason: policy.allow ? 'explicit-allow' : 'not-restricted' });
                        return inside ? sandbox.execute(...inside) : tool.execute!(args, context);
                },
        };
}

/** The form of AgentsKit's code: lists of tools. */
export function createMandatorySandbox(config: { sandbox: ToolDefinition; policy: SandboxPolicy }): MandatorySandbox;
/** The form of AgentsKit's page: lists of programs; gives the tools, wrapped. */
export function createMandatorySandbox(tool: ToolDefinition | ToolDefinition[], policy: SandboxPolicy, sandbox: Runner, options?: MandatoryOptions): ToolDefinition[];
export function createMandatorySandbox(first: any, policy?: SandboxPolicy, sandbox?: Runner, options: MandatoryOptions = {}): MandatorySandbox | ToolDefinition[] {
        if (policy === undefined && first?.policy)
                return mandatory(first.sandbox, snapshot(first.policy));
        if (!policy || typeof sandbox?.execute !== 'function')
                throw new SandboxError('AK_CONFIG_INVALID', 'createMandatorySandbox() takes (tool, policy, sandbox) or ({ sandbox, policy })');
        const own = snapshot(policy), rules = new Rules(own, options.carrel ?? process.env['CARREL'] ?? 'carrel');
        return (Array.isArray(first) ? first : [first]).map(tool => wrap_page(tool, own, rules, sandbox));
}
