#!/usr/bin/env node
// mastra.mjs PROVIDER --from DIR [--options JSON] - the classes of Mastra's sandboxes as a provider's program of Carrel (docs/BRIDGE.md).
//
// PROVIDER is mastra-e2b, mastra-modal, mastra-daytona or mastra-blaxel. Its package is loaded, unmodified, from DIR/node_modules.
// --options are further options of the class ({"apiUrl": "https://..."}). The key comes in CARREL_PROVIDER_KEY.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const HELD_MAX = 16 << 20 // bytes of output of one command that wait for credit
const SHIPPED = 48 << 10
const PROVIDERS = {
  'mastra-e2b': { package: '@mastra/e2b', version: '0.8.0', class: 'E2BSandbox', options: (c, key) => ({ template: c.template, apiKey: key }) },
  'mastra-daytona': { package: '@mastra/daytona', version: '0.4.1', class: 'DaytonaSandbox', options: (c, key) => ({ id: c.workspace_id, apiKey: key }) },
  'mastra-modal': { package: '@mastra/modal', version: 'latest', class: 'ModalSandbox', options: (c, key) => ({ appName: c.app_name, functionName: c.function_name, apiToken: key }) },
  'mastra-blaxel': { package: '@mastra/blaxel', version: 'latest', class: 'BlaxelSandbox', options: (c, key) => ({ workspace: c.workspace, apiKey: key }) },
}

const [name, ...words] = process.argv.slice(2)
const option = word => (words.includes(word) ? words[words.indexOf(word) + 1] : undefined)
const row = PROVIDERS[name], from = option('--from')
if (!row || !from) {
  console.error(`usage: mastra.mjs ${Object.keys(PROVIDERS).join('|')} --from DIR [--options JSON]`)
  process.exit(2)
}
const key = process.env.CARREL_PROVIDER_KEY
delete process.env.CARREL_PROVIDER_KEY
for (const level of ['log', 'info', 'warn', 'debug']) console[level] = console.error // standard output is the protocol's

const say = message => process.stdout.write(JSON.stringify(message) + '\n')
const quote = word => `'${word.replaceAll("'", "'\\''")}'`
const clean = why => (key ? String(why?.message ?? why).replaceAll(key, '***') : String(why?.message ?? why)).slice(0, 900) || 'failed'
const failure = (code, message) => Object.assign(new Error(message), { code })
const commands = new Map()
let sandbox, sandboxId

async function load() {
  let file
  try {
    file = createRequire(path.resolve(from, 'package.json')).resolve(row.package)
  } catch {
    throw failure('not_found', `${row.package} is not installed: npm install --prefix ${from} ${row.package}@${row.version}`)
  }
  const loaded = await import(pathToFileURL(file).href)
  const Class = loaded[row.class] ?? loaded.default?.[row.class]
  if (!Class) throw failure('not_found', `${row.package} has no class ${row.class}: npm install --prefix ${from} ${row.package}@${row.version}`)
  return Class
}

async function create(m) {
  const Class = await load()
  const given = Object.fromEntries(Object.entries(row.options(m.config, key)).filter(([, value]) => value !== undefined))
  sandbox = new Class({ ...given, ...JSON.parse(option('--options') ?? '{}') })
  try {
    await (sandbox._start ?? sandbox.start).call(sandbox)
  } catch (why) {
    throw failure(/401|403|unauthori[sz]ed|api.?key/i.test(String(why?.message)) ? 'auth' : 'unavailable', clean(why))
  }
  sandboxId = String(sandbox.id).slice(0, 128)
  return { sandbox: sandboxId }
}

class Command {
  constructor(m) {
    Object.assign(this, { id: m.id, credit: 256 << 10, waiting: [], held: 0, all: {}, cancelled: false, ended: false })
    commands.set(m.id, this)
    this.run(m).catch(why => this.end({ kind: 'error', code: 'unavailable', message: clean(why) }))
  }

  async run(m) {
    const options = { env: m.env, onStdout: text => this.print('stdout', text), onStderr: text => this.print('stderr', text) }
    if (m.cwd) options.cwd = m.cwd
    this.handle = await sandbox.processes.spawn(m.argv.map(quote).join(' '), options)
    say({ kind: 'started', id: this.id })
    this.isStarted = true
    this.flush()
    if (this.cancelled) await this.handle.kill()
    const done = await this.handle.wait()
    this.last = this.cancelled
      ? { kind: 'error', code: 'cancelled', message: 'it was cancelled' }
      : { kind: 'exited', status: Math.min(Math.max(done.exitCode ?? 1, 0), 255) }
    this.flush()
  }

  // @mastra/e2b 0.8.0 hands on the whole output once more when a command ends with another status than 0.
  isRepeated(data, all) {
    if (this.handle?.exitCode === undefined || data.length !== all.len) return false
    return createHash('sha256').update(data).digest().equals(all.hash.copy().digest())
  }

  // Mastra's classes hand on text: bytes that are not UTF-8 are lost there.
  print(stream, text) {
    const data = Buffer.from(text), all = (this.all[stream] ??= { len: 0, hash: createHash('sha256') })
    if (data.length === 0 || this.isRepeated(data, all)) return
    all.len += data.length
    all.hash.update(data)
    this.held += data.length
    for (let at = 0; at < data.length; at += SHIPPED) this.waiting.push({ stream, data: data.subarray(at, at + SHIPPED) })
    if (this.held > HELD_MAX) this.cancel()
    this.flush()
  }

  flush() {
    while (this.isStarted && !this.ended && this.waiting.length > 0 && this.waiting[0].data.length <= this.credit) {
      const { stream, data } = this.waiting.shift()
      this.credit -= data.length
      this.held -= data.length
      say({ kind: 'output', id: this.id, stream, data: data.toString('base64') })
    }
    if (this.last && this.waiting.length === 0) this.end(this.last)
  }

  cancel() {
    this.cancelled = true
    this.waiting.length = this.held = 0
    this.handle?.kill().catch(() => {})
  }

  end(message) {
    if (this.ended) return
    this.ended = true
    commands.delete(this.id)
    say({ ...message, id: this.id })
  }
}

// Files go through the shell of the sandbox, as base64: the classes have no common call for them.
async function shell(line) {
  let out = '', err = ''
  const handle = await sandbox.processes.spawn(line, { onStdout: text => (out += text), onStderr: text => (err += text) })
  const done = await handle.wait()
  if (done.exitCode !== 0) throw failure(/No such file/i.test(err) ? 'not_found' : 'failed', clean(err || `it ended with ${done.exitCode}`))
  return out
}

const answers = {
  create,
  connect: async m => {
    if (!sandbox || m.sandbox !== sandboxId) throw failure('not_found', 'no such sandbox')
    return { sandbox: sandboxId }
  },
  isAlive: async m => ({ alive: sandbox !== undefined && m.sandbox === sandboxId }),
  kill: async () => {
    for (const command of commands.values()) command.cancel()
    await (sandbox?._destroy ?? sandbox?.destroy)?.call(sandbox)
    sandbox = undefined
    return {}
  },
  getUrl: async m => {
    const url = await sandbox.networking?.getPortUrl?.(m.port)
    if (!url) throw failure('unsupported', 'this class has no addresses')
    return { url }
  },
  writeFile: async m => {
    await shell(`printf %s ${quote(m.data)} | base64 -d ${m.append ? '>>' : '>'} ${quote(m.path)}`)
    return {}
  },
  readFile: async m => {
    const file = quote(m.path)
    const size = Number(await shell(`wc -c < ${file}`))
    return { size, data: (await shell(`tail -c +${m.offset + 1} ${file} | head -c ${m.length} | base64`)).replace(/\s/g, '') }
  },
}

async function answer(m) {
  try {
    if (!answers[m.kind]) throw failure('unsupported', `no ${String(m.kind).slice(0, 40)}`)
    if (!sandbox && m.kind !== 'create' && m.kind !== 'isAlive' && m.kind !== 'connect') throw failure('not_found', 'there is no sandbox')
    say({ kind: 'reply', id: m.id, result: await answers[m.kind](m) })
  } catch (why) {
    const known = ['auth', 'not_found', 'unsupported', 'unavailable', 'failed'].includes(why?.code)
    say({ kind: 'error', id: m.id, code: known ? why.code : 'failed', message: clean(why) })
  }
}

say({ kind: 'hello', protocol: 1, name, abilities: ['connect', 'files', ...words.filter((_, i) => words[i - 1] === '--ability')] })
for await (const line of readline.createInterface({ input: process.stdin })) {
  const m = JSON.parse(line), command = commands.get(m.id)
  if (m.kind === 'runCommand') {
    if (sandbox) new Command(m)
    else say({ kind: 'error', id: m.id, code: 'not_found', message: 'there is no sandbox' })
  } else if (m.kind === 'credit') {
    if (command) command.credit += m.bytes
    command?.flush()
  } else if (m.kind === 'cancel' || m.kind === 'signal') {
    command?.cancel()
  } else if (m.kind !== 'stdin' && m.kind !== 'stdinEnd') {
    void answer(m)
  }
}
process.exit(0)
