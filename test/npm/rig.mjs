/*
 * rig.mjs - what the client tests share: TAP, waiting for something, and a `carrel serve` with a state directory of its own.
 *
 * Not a test. A test program is `await run(async t => {...})`; within it `await t.test('name', async () => {...})` is one line of
 * TAP, and with_daemon() brings a daemon up and takes it down with every sandbox of it. Waiting is always for something.
 */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { CarrelClient } from 'carrel-sandbox';

export { sleep };
export const TREE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const SWITCHES = process.env.CARREL_SWITCHES ?? path.join(TREE, 'build-switches/carrel');
export const BUILD = path.join(TREE, 'build-npm');
export const CARREL = process.env.CARREL ?? path.join(TREE, 'build/carrel');
export const NODE = path.join(TREE, 'test/npm/node');
export const DEEP = process.env.CARREL_TEST_DEEP === '1';     // ./dev test --all: what repeats other rows as well
const PATIENCE_MS = 300_000;

export async function until(what, condition, patience = PATIENCE_MS) {
        const end = Date.now() + patience;
        for (;;) {
                const got = await condition();
                if (got)
                        return got;
                if (Date.now() > end)
                        throw new Error(`did not happen in ${patience} ms: ${what}`);
                await sleep(10);
        }
}

// The promise, or an error that names what never came.
export function within(what, promise, patience = PATIENCE_MS) {
        let timer;
        const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`did not come in ${patience} ms: ${what}`)), patience); });
        return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

class Tap {
        count = 0;
        failed = 0;
        only = process.argv[2];

        async test(name, body, patience = PATIENCE_MS) {
                if (this.only && !name.includes(this.only))
                        return;
                try {
                        await within(name, Promise.resolve().then(body), patience);
                        this.say('ok', name);
                } catch (e) {
                        this.failed++;
                        this.say('not ok', name);
                        for (const line of String(e?.stack ?? e).split("\n").slice(0, 60))
                                console.log(`# ${line}`);
                        if (e?.cause)
                                console.log(`# because of ${String(e.cause?.stack ?? e.cause).split('\n')[0]}`);
                }
        }

        skip(name, why) {
                this.say('ok', `${name} # SKIP ${why}`);
        }

        say(verdict, name) {
                this.count++;
                console.log(`${verdict} ${this.count} - ${name}`);
        }
}

export async function run(body) {
        const t = new Tap();
        try {
                await body(t);
        } catch (e) {
                t.failed++;
                t.say('not ok', 'the program comes to its end');
                console.log(String(e?.stack ?? e).replace(/^/gm, '# '));
        }
        console.log(`1..${t.count}`);
        process.exit(t.failed > 0 ? 1 : 0);
}

// -- a daemon ------------------------------------------------------------------------------------------------------

export class Daemon {
        constructor(words = [], program = CARREL) {
                this.program = program;
                this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carrel-npm-'));
                fs.chmodSync(this.folder, 0o755);
                this.state = path.join(this.folder, 'state');
                this.words = words;
                this.log = path.join(this.folder, 'log');
        }

        get socket() { return path.join(this.state, 'carrel.sock'); }

        async start() {
                const out = fs.openSync(this.log, 'a');
                this.child = spawn(this.program, ['serve', '--state', this.state, ...this.words], { stdio: ['ignore', out, out] });
                fs.closeSync(out);
                this.ended = new Promise(resolve => { this.child.on('exit', resolve); this.child.on('error', resolve); });
                this.client = new CarrelClient({ socket: this.socket });
                const up = await until('carrel serve answers', async () => {
                        if (this.child.exitCode !== null || this.child.pid === undefined)
                                throw new Error(`carrel serve ended:\n${this.said()}`);
                        return this.client.info().catch(e => { this.last = e; return false; });
                }).catch(e => { throw new Error(`${e.message}\n${this.last}\n${this.said()}`); });
                this.version = up.version;
                await until('it says where it listens', async () => /^carrel: ready/m.test(this.said()));
                return this;
        }

        // Where it listens with --listen, and the token that is asked for there.
        get url() { return this.said().match(/HTTP and MCP on (http:\S+?),/)[1]; }
        get token() { return fs.readFileSync(path.join(this.state, 'token'), 'utf8').trim(); }

        said() { return fs.readFileSync(this.log, 'utf8'); }

        // Ends the daemon; its sandboxes live on.
        async stop(signal = 'SIGTERM') {
                if (this.child?.pid === undefined || this.child.exitCode !== null || this.child.signalCode !== null)
                        return;
                this.child.kill(signal);
                await within('the daemon ends', this.ended);
        }

        // Ends every sandbox, then the daemon, and leaves nothing.
        async end() {
                try {
                        for (const box of await this.client.list())
                                await this.client.stop(box.id);
                } finally {
                        await this.stop();
                        fs.rmSync(this.folder, { recursive: true, force: true });
                }
        }
}

export async function with_daemon(words, body, program = CARREL) {
        const d = new Daemon(words, program);
        try {
                await d.start();
        } catch (e) {
                await d.stop('SIGKILL').catch(() => {});
                fs.rmSync(d.folder, { recursive: true, force: true });
                throw e;
        }
        try {
                return await body(d);
        } finally {
                await d.end();
        }
}

// The fenced block of this language under this heading of a page.
export function block_of(page, language, nth = 0) {
        const text = fs.readFileSync(path.join(TREE, page), 'utf8');
        const blocks = [...text.matchAll(new RegExp('^```' + language + '\\n([\\s\\S]*?)^```$', 'gm'))].map(m => m[1]);
        if (blocks.length <= nth)
                throw new Error(`${page} has no ${language} block number ${nth}`);
        return blocks[nth];
}

// A program with its output; its status never throws.
export function program(file, args, { input, env, cwd, patience = PATIENCE_MS } = {}) {
        return new Promise((resolve, reject) => {
                const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
                const timer = setTimeout(() => child.kill('SIGKILL'), patience);
                let stdout = '', stderr = '';
                child.stdout.setEncoding('utf8').on('data', d => { stdout += d; });
                child.stderr.setEncoding('utf8').on('data', d => { stderr += d; });
                child.on('error', reject);
                child.on('close', (status, signal) => { clearTimeout(timer); resolve({ status, signal, stdout, stderr }); });
                child.stdin.on('error', () => {});
                child.stdin.end(input ?? '');
        });
}
