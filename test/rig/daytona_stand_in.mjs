// daytona_stand_in.mjs PACKAGES KEY - a server on loopback that speaks as much of Daytona's wire protocol as @mastra/daytona uses: sandboxes by REST, and its "toolbox" for sessions of
// commands, whose output comes over a WebSocket, and files.
//
// It prints its port, and runs commands here, in the directory of the sandbox. Another key is 401. /told answers what it was asked, in order.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import path from 'node:path'

const [packages, key] = process.argv.slice(2)
const { WebSocketServer } = createRequire(path.resolve(packages, 'package.json'))('ws')
const sandboxes = new Map(), told = []
const MARKS = { stdout: Buffer.from([1, 1, 1]), stderr: Buffer.from([2, 2, 2]) }
const refuse = (status, message) => Object.assign(new Error(message), { status })

class Run { // a command of a session: its output is kept for those who listen later
  constructor(box, line) {
    Object.assign(this, { id: randomUUID(), chunks: [], listeners: new Set() })
    this.child = spawn('/bin/sh', ['-c', line], { cwd: box.place, env: { PATH: process.env.PATH, HOME: '/nonexistent' }, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    for (const name of ['stdout', 'stderr']) this.child[name].on('data', data => this.tell(Buffer.concat([MARKS[name], data])))
    this.child.on('close', code => {
      this.exitCode = code ?? 137
      for (const socket of this.listeners) socket.close()
    })
  }

  tell(frame) {
    this.chunks.push(frame)
    for (const socket of this.listeners) socket.send(frame)
  }

  listen(socket) {
    for (const frame of this.chunks) socket.send(frame)
    if (this.exitCode !== undefined) socket.close()
    else this.listeners.add(socket)
  }

  kill() {
    if (this.exitCode === undefined) process.kill(-this.child.pid, 'SIGKILL')
  }
}

function find(id) {
  const box = sandboxes.get(id) ?? [...sandboxes.values()].find(b => b.name === id)
  if (!box) throw refuse(404, `Sandbox ${id} not found`)
  return box
}

const shown = box => ({ ...box.asked, id: box.id, name: box.name, organizationId: 'o', user: 'daytona', target: 'local', cpu: 1, gpu: 0, memory: 1, disk: 3, state: box.state, createdAt: box.createdAt })
const execute = (box, line, cwd) => new Promise(done => {
  const child = spawn('/bin/sh', ['-c', line], { cwd: cwd || box.place, stdio: ['ignore', 'pipe', 'pipe'] })
  let result = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (result += data))
  child.on('close', code => done({ exitCode: code ?? 137, result }))
})

function stop(box, state) {
  for (const session of box.sessions.values()) for (const run of session.values()) run.kill()
  box.state = state
}

const made = (asked, at) => {
  const box = { id: randomUUID(), name: asked.name, asked, state: 'started', sessions: new Map(), createdAt: new Date().toISOString(), place: fs.mkdtempSync('/tmp/carrel-daytona-'), at }
  sandboxes.set(box.id, box)
  return shown(box)
}

const session = (box, id) => {
  if (!box.sessions.has(id)) throw refuse(404, `session ${id} not found`)
  return box.sessions.get(id)
}

const ROUTES = [ // method, path, answer
  ['POST', /^\/sandbox$/, (_, body, at) => made(body, at)],
  ['GET', /^\/sandbox\/([^/]+)$/, id => shown(find(id))],
  ['DELETE', /^\/sandbox\/([^/]+)$/, id => {
    const box = find(id)
    stop(box, 'destroyed')
    fs.rmSync(box.place, { recursive: true })
    sandboxes.delete(box.id)
    return shown(box)
  }],
  ['POST', /^\/sandbox\/([^/]+)\/(start|stop)$/, (id, order) => {
    stop(find(id), order === 'start' ? 'started' : 'stopped')
    return shown(find(id))
  }],
  ['GET', /^\/sandbox\/([^/]+)\/toolbox-proxy-url$/, (_, __, at) => ({ url: `${at}/toolbox` })],
  ['GET', /^\/sandbox\/([^/]+)\/ports\/(\d+)\/signed-preview-url$/, (id, port) => ({ sandboxId: find(id).id, port: Number(port), token: 't', url: `https://${port}-t.stand-in.invalid` })],
  ['POST', /^\/toolbox\/([^/]+)\/process\/execute$/, (id, body) => execute(find(id), body.command, body.cwd)],
  ['POST', /^\/toolbox\/([^/]+)\/process\/session$/, (id, body) => void find(id).sessions.set(body.sessionId, new Map())],
  ['DELETE', /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)$/, (id, name) => {
    for (const run of session(find(id), name).values()) run.kill()
    find(id).sessions.delete(name)
  }],
  ['POST', /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)\/exec$/, (id, name, body) => {
    const run = new Run(find(id), body.command)
    session(find(id), name).set(run.id, run)
    return { cmdId: run.id }
  }],
  ['GET', /^\/toolbox\/([^/]+)\/process\/session\/([^/]+)\/command\/([^/]+)$/, (id, name, command) => ({ id: command, command: '', exitCode: session(find(id), name).get(command).exitCode })],
]

async function answer(request) {
  const at = `http://${request.headers.host}`, where = new URL(request.url, at).pathname
  let text = ''
  for await (const part of request) text += part
  told.push({ method: request.method, path: where, body: text })
  if (where === '/told') return told
  if (request.headers.authorization !== `Bearer ${key}`) throw refuse(401, 'Invalid credentials')
  for (const [method, shape, run] of ROUTES) {
    const found = request.method === method && where.match(shape)
    if (found) return await run(...found.slice(1).map(decodeURIComponent), text ? JSON.parse(text) : {}, at)
  }
  throw refuse(404, `no ${request.method} ${where}`)
}

const server = http.createServer((request, response) => {
  answer(request).then(value => [200, value ?? {}], why => [why.status ?? 500, { statusCode: why.status ?? 500, message: why.message }]).then(([status, value]) => {
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(value))
  })
})
const sockets = new WebSocketServer({ noServer: true })
server.on('upgrade', (request, socket, head) => {
  const [, id, name, command] = request.url.match(/^\/toolbox\/([^/]+)\/process\/session\/([^/]+)\/command\/([^/]+)\/logs\?follow=true$/) ?? []
  const run = sandboxes.get(id)?.sessions.get(name)?.get(command) // the session may have been deleted meanwhile
  if (!run || request.headers.authorization !== `Bearer ${key}`) return socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
  sockets.handleUpgrade(request, socket, head, ws => run.listen(ws))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
