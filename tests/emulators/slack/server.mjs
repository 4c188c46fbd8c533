// Slack on loopback for contract tests. Started by tests/emulators/slack_server.py, which says what it offers; ends when
// its standard input does, so that it cannot outlive the tests.
//
// node server.mjs → prints {"port": …}. Each workspace has a path of its own: /<name>/api/… and the socket /<name>/link.

import http from 'node:http'
import { createRequire } from 'node:module'
import { inOrder, saying } from '../said.mjs'
import { call } from './methods.mjs'
import { World } from './world.mjs'

const require = createRequire(new URL('../node/package.json', import.meta.url))
const { WebSocketServer } = require('ws')
const worlds = new Map()

async function body(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

function answer(response, status, content, headers = {}) {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(content))
}

// ── the app's side ─────────────────────────────────────────────────────────────────────────────────────────────

function parameters(request, url, raw) {
  const query = Object.fromEntries(url.searchParams)
  if (!raw.length) return query
  const isJson = (request.headers['content-type'] ?? '').includes('application/json')
  return { ...query, ...(isJson ? JSON.parse(raw) : Object.fromEntries(new URLSearchParams(raw.toString()))) }
}

function ruleFor(world, method) {
  const rule = world.rules.find((one) => one.method === method && one.times > 0)
  if (rule) rule.times -= 1
  return rule
}

async function apiCall(world, method, request, url, response) {
  const given = parameters(request, url, await body(request))
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '')
  world.calls.push({ method, parameters: given, at: Date.now() })
  world.changed()
  const rule = ruleFor(world, method)
  if (rule?.action === 'refuse') return request.socket.destroy()
  if (rule?.action === 'answer') {
    response.writeHead(rule.status, { 'content-type': rule.body === null ? 'application/json' : 'text/html', ...rule.headers })
    return response.end(rule.body ?? JSON.stringify({ ok: false, error: rule.error }))
  }
  const outcome = await call(world, token, method, given)
  if (rule?.action === 'cut') return request.socket.destroy()
  if (rule?.action === 'hold') {
    await new Promise((resolve) => {
      world.held.push({ method, resolve })
      world.changed()
    })
  }
  return answer(response, 200, outcome, method === 'auth.test' ? { 'x-oauth-scopes': world.scopes.join(',') } : {})
}

// Uploads and downloads are the package's own.
async function passOn(world, target, request, response) {
  const raw = await body(request)
  const headers = { ...request.headers }
  delete headers['content-length']
  const options = { method: request.method, headers, ...(raw.length && { body: raw }) }
  const answered = await world.fetch(target, options)
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  response.end(Buffer.from(await answered.arrayBuffer()))
}

// ── control: the people's side and what a test looks at ────────────────────────────────────────────────────────

const of = (method) => (one) => method === null || one.method === method
const atLeast = (n) => (found) => found.length >= n

const sentBy = (world, channel) =>
  world.store.messages
    .all()
    .filter((message) => message.user === world.facts.bot && (channel === null || message.channel_id === channel))

const CONTROL = {
  say: (world, { sender, ...parameters }) => world.ask(`xoxp-${sender}`, 'chat.postMessage', parameters),
  edit: (world, { sender, ...parameters }) => world.ask(`xoxp-${sender}`, 'chat.update', parameters),
  open: (world, { sender }) => world.ask(`xoxp-${sender}`, 'conversations.open', { users: world.facts.bot }),
  join: (world, { name }) => world.join(name),
  upload: async (world, { sender, name, content, ...place }) => {
    const bytes = Buffer.from(content, 'base64')
    const token = `xoxp-${sender}`
    const ticket = await world.ask(token, 'files.getUploadURLExternal', { filename: name, length: bytes.length })
    await world.fetch(ticket.upload_url.slice(world.base.length), { method: 'POST', body: bytes })
    return world.ask(token, 'files.completeUploadExternal', { files: [{ id: ticket.file_id, title: name }], ...place })
  },
  deliver: (world, { type, payload }) => world.deliver(type, payload) ?? true,
  event: (world, { event, envelope }) => world.deliver('events_api', { ...world.envelope(event), ...envelope }) ?? true,
  redeliver: (world) => world.redeliver(),

  sent: (world, { channel, n, seconds }) => world.until(() => sentBy(world, channel), atLeast(n), seconds),
  calls: (world, { method, n, seconds }) => world.until(() => world.calls.filter(of(method)), atLeast(n), seconds),
  said: (world, { text, n, seconds }) =>
    world.until(saying(() => world.calls, (call) => call.parameters.text, text), atLeast(n), seconds),
  all: (world, { control: name, each }) => inOrder((one) => CONTROL[name](world, one), each),
  message: (world, { channel, ts }) => world.message(channel, ts) ?? null,
  deliveries: (world, { seconds, acknowledged }) =>
    world.until(
      () => world.deliveries,
      (all) => acknowledged === null || all.filter((one) => one.acknowledged).length >= acknowledged,
      seconds,
    ),
  sockets: async (world, { n, seconds }) => (await world.until(() => world.sockets, (all) => all.length === n, seconds)).length,

  rules: (world, { rules }) => Object.assign(world, { rules }).rules.length,
  held: async (world, { method, n, seconds }) =>
    (await world.until(() => world.held.filter(of(method)), atLeast(n), seconds)).length,
  release: (world, { method }) => {
    const waiting = world.held.filter(of(method))
    world.held = world.held.filter((one) => !waiting.includes(one))
    for (const one of waiting) one.resolve()
    return waiting.length
  },
  disconnect: (world) => world.sockets.map((one) => one.send(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' }))).length,
  drop: (world) => world.sockets.map((one) => one.terminate()).length,
  behave: (world, { greets, delivers }) => Object.assign(world, { greets, delivers }).greets,
  forgetThread: (world, { ts }) => world.gone.add(ts).size,
  remove: (world, { channel, ts }) => world.ask(world.token, 'chat.delete', { channel, ts }),
  endStream: (world, { ts, by_user: byUser }) => Object.assign(world.streams.get(ts), { open: false, stoppedByUser: byUser }).open,
  openStreams: (world) => [...world.streams.values()].filter(({ open }) => open).length,
  archive: (world, { channel }) => {
    const { id } = world.store.channels.findOneBy('channel_id', channel)
    return world.store.channels.update(id, { is_archived: true }).is_archived
  },
  revoke: (world) => {
    world.token = 'revoked'
    return true
  },
}

async function control(path, request, response) {
  const given = JSON.parse(await body(request))
  if (path === 'addWorkspace') {
    const world = new World(`w${worlds.size + 1}`, root, given)
    worlds.set(world.name, world)
    return answer(response, 200, { name: world.name, ...world.facts })
  }
  return answer(response, 200, await CONTROL[path](worlds.get(given.workspace), given))
}

// ── both ───────────────────────────────────────────────────────────────────────────────────────────────────────

async function handle(request, response) {
  const url = new URL(request.url, 'http://127.0.0.1')
  const [, first, second] = url.pathname.split('/')
  if (first === 'control') return control(second, request, response)
  const world = worlds.get(first)
  if (!world) return answer(response, 404, { ok: false, error: 'unknown_workspace' })
  const target = request.url.slice(first.length + 1)
  const method = /^\/api\/([\w.]+)/.exec(target)?.[1]
  return method ? apiCall(world, method, request, url, response) : passOn(world, target, request, response)
}

const server = http.createServer((request, response) => {
  handle(request, response).catch((error) => {
    process.stderr.write(`${error.stack}\n`)
    if (!response.headersSent) answer(response, 500, { ok: false, error: 'internal_error' })
  })
})
const sockets = new WebSocketServer({ noServer: true })
server.on('upgrade', (request, socket, head) => {
  const world = worlds.get(request.url.split('/')[1])
  if (world) sockets.handleUpgrade(request, socket, head, (opened) => world.connected(opened))
  else socket.destroy()
})
server.keepAliveTimeout = 60_000 // a test must not meet a connection that times out by chance
let root
server.listen(0, '127.0.0.1', () => {
  root = `http://127.0.0.1:${server.address().port}`
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`)
})
process.stdin.resume().on('end', () => process.exit(0))
