/*
 * define.ts - AIP-36's defineSandbox(): checks a definition as `carrel check --stage validate` does, and gives it frozen.
 *
 * The check is Carrel's own, compiled to WebAssembly (wasm/define.c); this file hands values over and reads the verdict. No file,
 * no network, no clock, no daemon: what the module imports is answered with an error.
 */
import { DEFINE_WASM } from './define_wasm.ts';

export interface SandboxFinding {
        code: string;
        /** Place in the definition: network/egress/2. */
        path: string;
        reason: string;
        message: string;
        hint: string;
}

export interface SandboxWarning {
        name: string;
        path: string;
        message: string;
}

/** What was found, as `carrel check --json` says it. `norm` is there if `ok`. */
export interface SandboxVerdict {
        ok: boolean;
        errors: SandboxFinding[];
        warnings: SandboxWarning[];
        norm?: Record<string, any>;
}

/** The sandbox block in camelCase; snake_case is taken too, with a warning. */
export interface SandboxDefinition {
        /** Of standalone files: sandbox/v1, @owner/slug, a semantic version. */
        schema?: 'sandbox/v1';
        id?: string;
        version?: string;
        provider: string;
        config: Record<string, unknown>;
        limits?: { timeoutMs?: number; memoryMb?: number; cpuMs?: number };
        env?: { auth?: { ref?: string; state?: { env?: string[] } }; passthrough?: string[] };
        network?: { egress: string[] };
        mounts?: { source: string | { ref: string } | { file: string }; at: string; mode?: 'read-only' | 'read-write' }[];
        identity?: unknown;
        policy?: unknown;
        lifecycle?: { pauseAfterIdle?: string; pauseAfterIdleMs?: number; destroyOn?: string; destroyOnWorkspaceClose?: boolean };
        readOnly?: boolean;
        metadata?: Record<string, unknown>;
}

export interface SandboxEgress {
        readonly host: string;
        /** The entry was *.host: names below it, not the name itself. */
        readonly wildcard: boolean;
        readonly ports: readonly number[];
}

/** The checked definition with all defaults, deeply frozen. */
export interface SandboxHandle {
        readonly schema?: string;
        readonly id?: string;
        readonly version?: string;
        readonly provider: string;
        readonly config: Readonly<Record<string, unknown>>;
        readonly limits: { readonly timeoutMs: number; readonly memoryMb: number | null; readonly cpuMs: number | null };
        readonly env: { readonly auth: { readonly ref: string | null; readonly env: readonly string[] }; readonly passthrough: readonly string[] };
        readonly network: { readonly egress: readonly SandboxEgress[] };
        readonly mounts: readonly any[];
        readonly identity?: any;
        readonly policy?: any;
        readonly lifecycle?: any;
        readonly readOnly: boolean;
        readonly metadata: Readonly<Record<string, unknown>>;
        /** What was remarked, but is no error. */
        readonly warnings: readonly SandboxWarning[];
        /** A copy of the definition: what `create({ manifest })` of a client takes. */
        readonly definition: SandboxDefinition;
}

/** A definition that is wrong: the first error's members, and all of them. */
export class SandboxDefinitionError extends Error {
        readonly code: string;
        readonly path: string;
        readonly reason: string;
        readonly hint: string;
        readonly errors: readonly SandboxFinding[];
        readonly warnings: readonly SandboxWarning[];

        constructor(verdict: SandboxVerdict) {
                const first = verdict.errors[0]!;

                super(first.path === '' ? first.message : `${first.path}: ${first.message}`);
                this.name = 'SandboxDefinitionError';
                this.code = first.code;
                this.path = first.path;
                this.reason = first.reason;
                this.hint = first.hint;
                this.errors = verdict.errors;
                this.warnings = verdict.warnings;
        }
}

export interface CheckOptions {
        /** block (default): the sandbox block. standalone: a whole SANDBOX.md. parent: a manifest with a `sandbox` key. */
        kind?: 'standalone' | 'parent' | 'block';
        /** json (default): camelCase is silent. yaml: snake_case is silent. */
        syntax?: 'yaml' | 'json';
        /** A host file as an object: then the check goes on to authorise, as `carrel check --host` does. References are not followed. */
        host?: object;
        /** For `host`: the time, in seconds since 1970. */
        now?: number;
}

// -- values to bytes (text/tree_pack.h) -----------------------------------------------------------

const KIND = { null: 0, bool: 1, int: 2, float: 3, string: 4, list: 5, map: 6 };
const HEAD = 56, DEPTH_MAX = 64, NODES_MAX = 100_000, BYTES_MAX = 4 << 20, MOST_INT = 2 ** 63;
const encoder = new TextEncoder();

/** A value that no manifest can hold. */
class Unpackable extends Error {
        readonly path: string;
        readonly reason: string;

        constructor(path: readonly (string | number)[], reason: string, message: string) {
                super(message);
                this.path = path.join('/');
                this.reason = reason;
        }
}

class Packer {
        private parts: Uint8Array[] = [];
        private len = 0;
        private nodes = 0;
        private readonly path: (string | number)[] = [];
        private readonly open = new Set<object>();

        bytes(): Uint8Array {
                const all = new Uint8Array(this.len);
                let at = 0;

                for (const part of this.parts) {
                        all.set(part, at);
                        at += part.length;
                }
                return all;
        }

        add(value: unknown, key: string | null): void {
                if (value === null)
                        this.put(KIND.null, key, 'null', 0);
                else if (typeof value === 'boolean')
                        this.put(KIND.bool, key, String(value), 0, value);
                else if (typeof value === 'number')
                        this.number(value, key);
                else if (typeof value === 'string')
                        this.put(KIND.string, key, value, 0);
                else if (typeof value === 'object')
                        this.children(value, key);
                else
                        this.refuse('type', `a manifest has no ${typeof value}`);
        }

        private refuse(reason: string, message: string): never {
                throw new Unpackable(this.path, reason, message);
        }

        private number(value: number, key: string | null): void {
                if (!Number.isFinite(value))
                        this.refuse('json', `${value} is no number of JSON`);
                const is_int = Number.isInteger(value) && Math.abs(value) < MOST_INT && /^-?\d+$/.test(String(value));
                /* an integer is written in digits, as in a file, also one beyond 1e21 */
                this.put(is_int ? KIND.int : KIND.float, key, Number.isInteger(value) ? String(BigInt(value)) : String(value), value);
        }

        private children(value: object, key: string | null): void {
                if (this.open.has(value))
                        this.refuse('json', 'an object contains itself');
                if (this.open.size >= DEPTH_MAX)
                        this.refuse('too_large', `lists and maps are nested more than ${DEPTH_MAX} deep`);
                this.open.add(value);
                if (Array.isArray(value)) {
                        this.put(KIND.list, key, null, value.length);
                        for (let i = 0; i < value.length; i++)
                                this.child(i, value[i] === undefined ? null : value[i], null);
                } else {
                        const proto = Object.getPrototypeOf(value);
                        if (proto !== null && Object.getPrototypeOf(proto) !== null)
                                this.refuse('type', `a manifest has no ${value.constructor?.name ?? 'object of a class'}`);
                        const members = Object.entries(value).filter(([, v]) => v !== undefined);
                        this.put(KIND.map, key, null, members.length);
                        for (const [name, member] of members)
                                this.child(name, member, name);
                }
                this.open.delete(value);
        }

        private child(step: string | number, value: unknown, key: string | null): void {
                this.path.push(step);
                this.add(value, key);
                this.path.pop();
        }

        private text(text: string): Uint8Array {
                if (text.includes('\0'))
                        this.refuse('json', 'a text holds a NUL');
                if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text))
                        this.refuse('json', 'a text holds half a character');
                return encoder.encode(text + '\0');
        }

        /** `count` of a list or map, whose text is null; else the value of a number. */
        private put(kind: number, key: string | null, text: string | null, count: number, truth = false): void {
                const name = key === null ? new Uint8Array(1) : this.text(key), body = text === null ? new Uint8Array(1) : this.text(text);
                const head = new DataView(new ArrayBuffer(HEAD));

                if (++this.nodes > NODES_MAX || (this.len += HEAD + name.length + body.length) > BYTES_MAX)
                        this.refuse('too_large', 'the definition is too large');
                head.setUint32(0, kind, true);
                head.setUint32(20, key === null ? 0 : 1, true);
                head.setUint32(24, name.length - 1, true);
                head.setUint32(28, text === null ? count : body.length - 1, true);
                if (kind === KIND.int)
                        head.setBigInt64(32, BigInt(count), true);
                if (kind === KIND.int || kind === KIND.float)
                        head.setFloat64(40, count, true);
                head.setUint32(48, truth ? 1 : 0, true);
                this.parts.push(new Uint8Array(head.buffer), name, body);
        }
}

function pack(value: unknown): Uint8Array {
        const packer = new Packer();

        packer.add(value, null);
        return packer.bytes();
}

// -- the module -----------------------------------------------------------------------------------

interface Judge {
        memory: { buffer: ArrayBuffer };
        _initialize(): void;
        take(len: number): number;
        give_back(at: number): void;
        judge(tree: number, len: number, kind: number, syntax: number, host: number, host_len: number, now: number): number;
        answer_text(): number;
        answer_len(): number;
        answer_drop(): void;
}

// What of WebAssembly this file uses: the types of the DOM are not those of Node.
declare const WebAssembly: {
        Module: new (bytes: Uint8Array) => object;
        Instance: new (module: object, imports: object) => { exports: unknown };
};

const ENOSYS = 52;
let loaded: Judge | undefined;

function load(): Judge {
        if (!loaded) {
                const no = () => ENOSYS;
                const bytes = Uint8Array.from(atob(DEFINE_WASM), c => c.charCodeAt(0));
                const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { wasi_snapshot_preview1: { fd_close: no, fd_seek: no, fd_write: no } });

                loaded = exports as Judge;
                loaded._initialize();
        }
        return loaded;
}

function lend(judge: Judge, bytes: Uint8Array): number {
        const at = judge.take(bytes.length);

        if (at === 0)
                throw new RangeError('no memory for a sandbox definition');
        new Uint8Array(judge.memory.buffer, at, bytes.length).set(bytes);
        return at;
}

function ask(tree: Uint8Array, host: Uint8Array, options: CheckOptions): SandboxVerdict {
        const judge = load(), kinds = ['standalone', 'parent', 'block'], syntaxes = ['yaml', 'json'];
        const at = lend(judge, tree), host_at = lend(judge, host);

        try {
                if (judge.judge(at, tree.length, kinds.indexOf(options.kind ?? 'block'), syntaxes.indexOf(options.syntax ?? 'json'), host_at, host.length, options.now ?? 0) < 0)
                        throw new RangeError('no memory for a verdict');
                return JSON.parse(new TextDecoder().decode(new Uint8Array(judge.memory.buffer, judge.answer_text(), judge.answer_len())));
        } catch (e) {
                if (!(e instanceof RangeError))
                        loaded = undefined;     // its memory is in no known state
                throw e;
        } finally {
                if (loaded) {
                        judge.answer_drop();
                        judge.give_back(at);
                        judge.give_back(host_at);
                }
        }
}

/** The verdict on a definition, whatever it is: nothing is thrown for what it holds. */
export function checkSandbox(definition: unknown, options: CheckOptions = {}): SandboxVerdict {
        try {
                return ask(pack(definition), options.host ? pack(options.host) : new Uint8Array(0), options);
        } catch (e) {
                if (!(e instanceof Unpackable))
                        throw e;
                const found = { code: 'sandbox_manifest_syntax', path: e.path, reason: e.reason, message: e.message, hint: 'A definition holds what JSON holds.' };
                return { ok: false, errors: [found], warnings: [] };
        }
}

// -- the handle -----------------------------------------------------------------------------------

/** Their members are the caller's own names, or another format's. */
const VERBATIM = new Set(['config', 'metadata', 'policy', 'identity']);

function camel(value: any): any {
        if (Array.isArray(value))
                return value.map(camel);
        if (value === null || typeof value !== 'object')
                return value;
        return Object.fromEntries(Object.entries(value).map(([name, member]) =>
                [name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), VERBATIM.has(name) ? member : camel(member)]));
}

function freeze<T>(value: T): T {
        if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
                Object.freeze(value);
                Object.values(value).forEach(freeze);
        }
        return value;
}

/** Checks a definition, and gives it with all defaults, frozen. Throws SandboxDefinitionError. Opens, starts and asks nothing. */
export function defineSandbox(definition: SandboxDefinition): SandboxHandle {
        const verdict = checkSandbox(definition);

        if (!verdict.ok)
                throw new SandboxDefinitionError(freeze(verdict));
        return freeze({ ...camel(verdict.norm), warnings: verdict.warnings, definition: JSON.parse(JSON.stringify(definition)) });
}
