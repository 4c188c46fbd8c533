// The HTTP side of the Discord server, before the package's own routes: who is asking, scripted faults, and the parts of
// the API that the package lacks (uploads, nonces, deferred answers, the limits that a bot runs into).

import { Readable, Writable } from 'node:stream'

const TEXT_LIMIT = 2000
const BUTTON_LIMIT = 100
const MESSAGES = /^\/channels\/(\d+)\/messages(?:\/(\d+))?$/

const refusal = (status, code, message, errors) => ({ status, body: { code, message, ...(errors && { errors }) } })
const invalid = (field, code, message) =>
  refusal(400, 50035, 'Invalid Form Body', { [field]: { _errors: [{ code, message }] } })

export async function body(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

export function answer(response, status, content) {
  if (response.destroyed) return
  response.writeHead(status, content === undefined ? {} : { 'content-type': 'application/json' })
  response.end(content === undefined ? '' : JSON.stringify(content))
}

// An upload is a form: the message as JSON, and the files beside it.
async function parse(request, raw) {
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return { json: raw.length ? JSON.parse(raw) : null, files: [] }
  const form = await new Response(raw, { headers: { 'content-type': type } }).formData()
  const files = []
  for (const value of form.values()) {
    if (typeof value !== 'string') files.push({ name: value.name, bytes: Buffer.from(await value.arrayBuffer()) })
  }
  return { json: JSON.parse(form.get('payload_json') ?? '{}'), files }
}

// ── scripted faults ────────────────────────────────────────────────────────────────────────────────────────────

function ruleFor(world, { method, path }) {
  const fits = (rule) => rule.times > 0 && rule.method === method && new RegExp(rule.path).test(path)
  const rule = world.rules.find(fits)
  if (rule) rule.times -= 1
  return rule
}

const released = (world) =>
  new Promise((resolve) => {
    world.held.push(resolve)
    world.changed()
  })

// ── what the package lacks ─────────────────────────────────────────────────────────────────────────────────────

async function checkMessage(world, call) {
  const [, channel, edited] = MESSAGES.exec(call.path)
  const { content, message_reference: reply, components: rows = [] } = call.json ?? {}
  if ([...(content ?? '')].length > TEXT_LIMIT) {
    return invalid('content', 'BASE_TYPE_MAX_LENGTH', `Must be ${TEXT_LIMIT} or fewer in length.`)
  }
  const held = rows.flatMap((row) => row.components.map((button) => button.custom_id))
  if (rows.length > 5 || rows.some((row) => row.components.length > 5) || new Set(held).size < held.length) {
    return invalid('components', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
  }
  if (held.some((data) => !data || [...data].length > BUTTON_LIMIT)) {
    return invalid('components', 'BASE_TYPE_MAX_LENGTH', `Must be ${BUTTON_LIMIT} or fewer in length.`)
  }
  if (!edited && !content?.trim() && call.files.length === 0) return refusal(400, 50006, 'Cannot send an empty message')
  const place = await world.db.channel.findUnique({ where: { id: channel } })
  if (place?.type === 15) return refusal(400, 50008, 'Cannot send messages in a non-text channel')
  if (reply && !(await world.db.message.findUnique({ where: { id: reply.message_id } }))) {
    if (reply.fail_if_not_exists !== false) return invalid('message_reference', 'REPLIES_UNKNOWN_MESSAGE', 'Unknown message')
    delete call.json.message_reference
  }
  return null
}

function storeFiles(world, files) {
  return files.map(({ name, bytes }) => {
    const id = world.newId()
    const path = `/cdn/attachments/${id}/${name}`
    world.files.set(path, bytes)
    const url = `http://127.0.0.1:${world.facts.port}${path}`
    return { id, filename: name, size: bytes.length, url, proxy_url: url, content_type: 'application/octet-stream' }
  })
}

const application = (world) => ({
  id: world.facts.bot,
  name: 'helper',
  icon: null,
  description: '',
  bot_public: true,
  bot_require_code_grant: false,
  verify_key: '00',
  team: null,
  flags: 1 << 19,
  owner: { id: '1', username: 'owner', discriminator: '0', avatar: null },
})

async function own(world, { method, path }) {
  if (path === '/oauth2/applications/@me') return { status: 200, body: application(world) }
  const channel = method === 'GET' && /^\/channels\/(\d+)$/.exec(path)
  if (channel && (await world.db.channel.findUnique({ where: { id: channel[1] } }))) {
    return { status: 200, body: await world.describeChannel(channel[1]) }
  }
  const original = method === 'DELETE' && /^\/webhooks\/\d+\/([^/]+)\/messages\/@original$/.exec(path)
  const waiting = original && (await world.db.interactionResponse.findUnique({ where: { interactionToken: original[1] } }))
  return waiting && !waiting.messageId ? { status: 204 } : null // the sign that the bot thinks is no message yet
}

// ── the way of a request ───────────────────────────────────────────────────────────────────────────────────────

// Let the package answer, into memory.
function ask(handler, request, call) {
  const raw = Buffer.from(call.json === null ? '' : JSON.stringify(call.json))
  const headers = { ...request.headers, 'content-type': 'application/json', 'content-length': String(raw.length) }
  const copy = Object.assign(Readable.from(raw.length ? [raw] : []), {
    method: request.method,
    url: request.url,
    headers,
    rawHeaders: request.rawHeaders,
    socket: request.socket,
    httpVersion: request.httpVersion,
  })
  return new Promise((resolve, reject) => {
    const reply = new ReplyInMemory()
    reply.on('error', reject)
    reply.on('finish', () => {
      const text = Buffer.concat(reply.pieces).toString()
      resolve({ status: reply.statusCode, body: text ? JSON.parse(text) : undefined })
    })
    handler(copy, reply)
  })
}

// As much of a ServerResponse as the package uses.
class ReplyInMemory extends Writable {
  statusCode = 200
  headersSent = false
  pieces = []
  setHeader() {}
  removeHeader() {}
  flushHeaders() {}
  writeHead(status) {
    this.statusCode = status
    this.headersSent = true
    return this
  }
  _write(piece, _encoding, done) {
    this.pieces.push(piece)
    done()
  }
}

async function carryOut(world, handler, request, call) {
  const known = await own(world, call)
  if (known) return known
  const sends = MESSAGES.test(call.path) && ['POST', 'PATCH'].includes(call.method)
  const problem = sends && (await checkMessage(world, call))
  if (problem) return problem
  const { nonce, enforce_nonce: unique } = call.json ?? {}
  if (unique && world.nonces.has(nonce)) return world.nonces.get(nonce)
  const reply = await ask(handler, request, call)
  if (reply.status >= 400 || !reply.body) return reply
  if (call.files.length > 0) {
    const attachments = storeFiles(world, call.files)
    await world.db.message.update({ where: { id: reply.body.id }, data: { attachments: JSON.stringify(attachments) } })
    reply.body.attachments = attachments
  }
  if (MESSAGES.test(call.path) && call.method === 'GET') {
    const one = !Array.isArray(reply.body)
    const found = await Promise.all([reply.body].flat().map((message) => world.complete(message)))
    reply.body = one ? found[0] : found.reverse() // the newest comes first
  }
  if (unique) world.nonces.set(nonce, reply)
  world.changed()
  return reply
}

export async function front(world, handler, request, response) {
  const url = new URL(request.url, 'http://127.0.0.1')
  const raw = await body(request)
  const file = world.files.get(url.pathname)
  if (url.pathname.startsWith('/cdn/')) return file ? response.writeHead(200).end(file) : answer(response, 404, {})
  const path = decodeURIComponent(url.pathname.replace(/^\/api\/v\d+/, ''))
  const isWebhook = /^\/(interactions|webhooks)\//.test(path)
  const call = { method: request.method, path, query: Object.fromEntries(url.searchParams), ...(await parse(request, raw)) }
  const files = call.files.map(({ name, bytes }) => ({ name, size: bytes.length }))
  world.calls.push({ ...call, files, at: Date.now() })
  world.changed()
  if (world.revoked || (!isWebhook && request.headers.authorization !== `Bot ${world.twin.botToken}`)) {
    return answer(response, 401, { message: '401: Unauthorized', code: 0 })
  }
  const rule = ruleFor(world, call)
  if (rule?.action === 'refuse') return request.socket.destroy()
  if (rule?.action === 'answer') {
    const text = typeof rule.body === 'string'
    response.writeHead(rule.status, { 'content-type': text ? 'text/html' : 'application/json', ...rule.headers })
    return response.end(text ? rule.body : JSON.stringify(rule.body))
  }
  const outcome = await carryOut(world, handler, request, call)
  if (rule?.action === 'hold') await released(world)
  if (rule?.action === 'cut') return request.socket.destroy()
  return answer(response, outcome.status, outcome.body)
}
