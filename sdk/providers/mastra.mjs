#!/usr/bin/env node
// mastra.mjs PROVIDER --from DIR [--options JSON] - the classes of Mastra's sandboxes as a provider's program of Carrel (docs/BRIDGE.md).
//
// PROVIDER is a row of the table below. Its package is loaded, unmodified, from DIR/node_modules.
// --options are further options of the class ({"apiUrl": "https://..."}). The key comes in CARREL_PROVIDER_KEY.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const HELD_MAX = 16 << 20 // bytes of output of one command that wait for credit
const SHIPPED = 48 << 10
const URL_S = 3600 // seconds that a signed address lasts
const failure = (code, message) => Object.assign(new Error(message), { code })

// What a key of several parts is made of: "ID:SECRET".
function parts(key, least, form) {
  const found = key?.split(':')
  if (found && found.length < least) throw failure('auth', `the key must have the form ${form}`)
  return found ?? []
}

// options: what the class is made with. environment: what its library reads there. closed: options without any network. isClosed: has a sandbox that was found none?
// spawn: options of every command: a class must not end one before Carrel does. url: the address of a port.
const PROVIDERS = {
  'mastra-e2b': {
    package: '@mastra/e2b',
    version: '0.8.0',
    class: 'E2BSandbox',
    options: (c, key) => ({ template: c.template, apiKey: key }),
    closed: { network: { denyOut: ['0.0.0.0/0'] } },
    spawn: { timeout: 0 },
    url: (s, port) => s.networking.getPortUrl(String(port)),
  },
  'mastra-daytona': {
    package: '@mastra/daytona',
    version: '0.4.1',
    class: 'DaytonaSandbox',
    options: (c, key) => ({ id: c.workspace_id, apiKey: key }),
    closed: { networkBlockAll: true },
    isClosed: s => s.daytona?.networkBlockAll !== false,
    spawn: { timeout: 0 },
    url: async (s, port) => (await s.daytona.getSignedPreviewUrl(port, URL_S)).url,
  },
  'mastra-modal': {
    package: '@mastra/modal',
    version: 'latest',
    class: 'ModalSandbox',
    options: (c, key) => {
      const [tokenId, tokenSecret] = parts(key, 2, 'TOKEN-ID:TOKEN-SECRET')
      return { appName: c.app_name, functionName: c.function_name, tokenId, tokenSecret }
    },
  },
  'mastra-blaxel': {
    package: '@mastra/blaxel',
    version: 'latest',
    class: 'BlaxelSandbox',
    options: () => ({}),
    environment: (c, key) => ({ BL_WORKSPACE: c.workspace, BL_API_KEY: key }),
  },
  'mastra-agentcore': {
    package: '@mastra/agentcore',
    version: 'latest',
    class: 'AgentCoreRuntimeSandbox',
    options: c => ({ agentRuntimeArn: c.agent_runtime_arn, region: c.region, stopSessionOnLifecycle: true }),
    environment: (_, key) => {
      const [id, secret, session] = parts(key, 2, 'ACCESS-KEY-ID:SECRET-ACCESS-KEY[:SESSION-TOKEN]')
      return { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session }
    },
    spawn: { timeout: 3_600_000 }, // the longest that the service takes
  },
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
const secrets = key ? [key, ...key.split(':').filter(part => part.length >= 8)] : []
const clean = why => secrets.reduce((text, secret) => text.replaceAll(secret, '***'), String(why?.message ?? why)).slice(0, 900) || 'failed'
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

const defined = map => Object.fromEntries(Object.entries(map).filter(([, value]) => value !== undefined))

async function create(m) {
  Object.assign(process.env, defined(row.environment?.(m.config, key) ?? {}))
  const Class = await load(), closed = m.egress.length === 0 ? row.closed : undefined
  const given = { ...defined(row.options(m.config, key)), ...closed, ...JSON.parse(option('--options') ?? '{}') }
  const made = new Class(given)
  try {
    await (made._start ?? made.start).call(made)
  } catch (why) {
    const isKey = [401, 403].includes(why?.statusCode) || /401|403|unauthori[sz]ed|api.?key/i.test(String(why?.message))
    throw failure(isKey ? 'auth' : 'unavailable', clean(why))
  }
  if (closed && row.isClosed && Object.keys(closed).every(member => given[member] === closed[member]) && !row.isClosed(made))
    throw failure('unavailable', 'it exists, and has a network that the manifest does not allow')
  sandbox = made
  sandboxId = String(sandbox.id).slice(0, 128)
  return { sandbox: sandboxId }
}

// A class that only runs a command to its end has no processes.
function spawn(line, options) {
  if (sandbox.processes) return sandbox.processes.spawn(line, { ...row.spawn, ...options })
  const stop = new AbortController()
  const done = sandbox.executeCommand(line, [], { ...row.spawn, ...options, abortSignal: stop.signal })
  return { wait: () => done, kill: async () => stop.abort() }
}

class Command {
  constructor(m) {
    Object.assign(this, { id: m.id, credit: 256 << 10, waiting: [], held: 0, all: {}, cancelled: false, ended: false })
    commands.set(m.id, this)
    this.run(m).catch(why => this.end({ kind: 'error', code: this.cancelled ? 'cancelled' : 'unavailable', message: clean(why) }))
  }

  async run(m) {
    const options = { env: m.env, onStdout: text => this.print('stdout', text), onStderr: text => this.print('stderr', text) }
    if (m.cwd) options.cwd = m.cwd
    this.handle = await spawn(m.argv.map(quote).join(' '), options)
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
  const handle = await spawn(line, { onStdout: text => (out += text), onStderr: text => (err += text) })
  const done = await handle.wait()
  if (done.exitCode !== 0) throw failure(/No such file/i.test(err) ? 'not_found' : /exists|not empty/i.test(err) ? 'exists' : 'failed', clean(err || `it ended with ${done.exitCode}`))
  return out
}

const FIELDS = '%f\\0%y\\0%s\\0%m\\0%T@\\0%l\\0', LISTED = 256
const TYPES = { f: 'file', d: 'directory', l: 'link', p: 'fifo', s: 'socket' }
const at = name => quote(name.startsWith('/') ? name : `./${name}`)

// What find prints of some names.
async function find(line) {
  const bytes = Buffer.from((await shell(line)).replace(/\s/g, ''), 'base64'), text = bytes.toString(), fields = text.split('\0')
  if (fields.length < 7) throw failure('unsupported', 'its template has no GNU find')
  if (!Buffer.from(text).equals(bytes)) throw failure('failed', 'a name is not UTF-8')
  const entries = []
  for (let i = 0; i + 6 < fields.length; i += 6) {
    const [name, type, size, mode, time, target] = fields.slice(i, i + 6)
    if (!TYPES[type]) continue // a device
    entries.push({ name, type: TYPES[type], size: Number(size), mode: parseInt(mode, 8), mtime_ms: Math.floor(Number(time) * 1000), ...(target && { target }) })
  }
  return entries
}

const answers = {
  stat: async m => ({ entry: (await find(`ls -d ${at(m.path)} > /dev/null && find ${at(m.path)} -maxdepth 0 -printf '${FIELDS}' | base64`))[0] }),
  list: async m => {
    const [, ...all] = await find(`cd ${at(m.path)} && { find . -maxdepth 0 -printf '${FIELDS}'; find . -mindepth 1 -maxdepth 1 -printf '${FIELDS}'; } | base64`)
    const order = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    const left = all.filter(entry => order(entry.name, m.after) > 0).sort((a, b) => order(a.name, b.name))
    return { entries: left.slice(0, LISTED), more: left.length > LISTED }
  },
  makeDirectory: async m => (await shell(`mkdir -m ${(m.mode & 0o777).toString(8)} ${m.parents ? '-p ' : ''}${at(m.path)}`), {}),
  rename: async m => (await shell(`mv -fT ${at(m.path)} ${at(m.target)}`), {}),
  remove: async m => {
    const name = at(m.path)
    await shell(m.recursive ? `rm -r ${name}` : `if [ -d ${name} ] && [ ! -L ${name} ]; then rmdir ${name}; else rm ${name}; fi`)
    return {}
  },
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
    if (!row.url) throw failure('unsupported', 'this class has no addresses')
    const url = await row.url(sandbox, m.port)
    if (!url) throw failure('not_found', 'it has no address for this port')
    return { url }
  },
  writeFile: async m => {
    await shell(`printf %s ${quote(m.data)} | base64 -d ${m.append ? '>>' : '>'} ${quote(m.path)}`)
    return {}
  },
  readFile: async m => {
    const file = quote(m.path)
    const size = Number(await shell(`wc -c < ${file}`))
    return { size, data: (await shell(`tail -c +${m.offset + 1} < ${file} | head -c ${m.length} | base64`)).replace(/\s/g, '') }
  },
}

async function answer(m) {
  try {
    if (!answers[m.kind]) throw failure('unsupported', `no ${String(m.kind).slice(0, 40)}`)
    if (!sandbox && m.kind !== 'create' && m.kind !== 'isAlive' && m.kind !== 'connect') throw failure('not_found', 'there is no sandbox')
    say({ kind: 'reply', id: m.id, result: await answers[m.kind](m) })
  } catch (why) {
    const known = ['auth', 'not_found', 'exists', 'unsupported', 'unavailable', 'failed'].includes(why?.code)
    say({ kind: 'error', id: m.id, code: known ? why.code : 'failed', message: clean(why) })
  }
}

say({ kind: 'hello', protocol: 1, name, abilities: ['connect', 'files', 'directories', ...(row.url ? ['url'] : []), ...words.filter((_, i) => words[i - 1] === '--ability')] })
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
