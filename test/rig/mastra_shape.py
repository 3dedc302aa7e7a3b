"""A package with a class of the shape that Mastra's sandboxes have: it runs commands on this machine.

Not a test, and none of Mastra's code. It writes the options that it was made with to $CARREL_TEST_TOLD, or /tmp/told.
"""
import json
import os

SHAPE = """
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
export class NAME {
  constructor(options) {
    writeFileSync(process.env.CARREL_TEST_TOLD ?? '/tmp/told', JSON.stringify(options))
    this.id = options.id ?? 'made-by-a-stand-in'
    this.refuses = options.apiKey === 'wrong'
  }
  async start() {
    if (this.refuses) throw new Error('401 Unauthorized: ' + 'wrong')
    console.log('a line that is not of the protocol')
    this.place = mkdtempSync('/tmp/carrel-mastra-')
  }
  async destroy() { rmSync(this.place, { recursive: true }) }
  processes = {
    spawn: async (command, options = {}) => {
      const child = spawn('/bin/sh', ['-c', command], { cwd: options.cwd ?? this.place, env: { PATH: process.env.PATH, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      child.stdout.on('data', data => options.onStdout?.(data.toString()))
      child.stderr.on('data', data => options.onStderr?.(data.toString()))
      const ended = new Promise(done => child.on('close', code => done({ exitCode: code ?? 137 })))
      return { pid: String(child.pid), wait: () => ended, kill: async () => process.kill(-child.pid, 'SIGKILL') }
    },
  }
}
"""


def install(top, package, name):
    place = os.path.join(top, "node_modules", *package.split("/"))
    os.makedirs(place)
    with open(os.path.join(place, "package.json"), "w", encoding="utf-8") as f:
        json.dump({"name": package, "version": "0.0.0", "type": "module", "exports": "./index.js"}, f)
    with open(os.path.join(place, "index.js"), "w", encoding="utf-8") as f:
        f.write(SHAPE.replace("NAME", name))
