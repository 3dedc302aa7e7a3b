"""A package with a class of the shape that Mastra's sandboxes have: it runs commands on this machine.

Not a test, and none of Mastra's code. It writes the options and the variables of a provider that it was made with to $CARREL_TEST_TOLD, or /tmp/told.
"""
import json
import os

SHAPE = """
// A class that only runs commands to their end has executeCommand alone: Mastra's for AgentCore.
const isOneShot = ONE_SHOT
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
export class NAME {
  constructor(options) {
    const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(AWS_ACCESS|AWS_SECRET|AWS_SESSION|BL_)/.test(name)))
    writeFileSync(process.env.CARREL_TEST_TOLD ?? '/tmp/told', JSON.stringify({ ...options, ...environment }))
    this.id = options.id ?? 'made-by-a-stand-in'
    this.networking = { getPortUrl: async port => `https://${port}-e2b.invalid` }
    this.daytona = { networkBlockAll: options.networkBlockAll, getSignedPreviewUrl: async port => ({ url: `https://${port}-daytona.invalid` }) }
    this.refuses = options.apiKey === 'wrong'
  }
  async start() {
    if (this.refuses) throw new Error('401 Unauthorized: ' + 'wrong')
    console.log('a line that is not of the protocol')
    this.place = mkdtempSync('/tmp/carrel-mastra-')
  }
  async destroy() { rmSync(this.place, { recursive: true }) }
  executeCommand = async (command, args, options) => {
    const handle = await this.#processes.spawn([command, ...args].join(' '), options)
    return new Promise((done, failed) => {
      options.abortSignal.addEventListener('abort', () => void handle.kill().then(() => failed(options.abortSignal.reason)))
      handle.wait().then(done)
    })
  }
  #processes = {
    spawn: async (command, options = {}) => {
      const child = spawn('/bin/sh', ['-c', command], { cwd: options.cwd ?? this.place, env: { PATH: process.env.PATH, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      child.stdout.on('data', data => options.onStdout?.(data.toString()))
      child.stderr.on('data', data => options.onStderr?.(data.toString()))
      const ended = new Promise(done => child.on('close', code => done({ exitCode: code ?? 137 })))
      return { pid: String(child.pid), wait: () => ended, kill: async () => process.kill(-child.pid, 'SIGKILL') }
    },
  }
  processes = isOneShot ? undefined : this.#processes
}
"""


def install(top, package, name, is_one_shot=False):
    place = os.path.join(top, "node_modules", *package.split("/"))
    os.makedirs(place)
    with open(os.path.join(place, "package.json"), "w", encoding="utf-8") as f:
        json.dump({"name": package, "version": "0.0.0", "type": "module", "exports": "./index.js"}, f)
    with open(os.path.join(place, "index.js"), "w", encoding="utf-8") as f:
        f.write(SHAPE.replace("NAME", name).replace("ONE_SHOT", "true" if is_one_shot else "false", 1))
