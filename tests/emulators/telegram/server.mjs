// A Telegram Bot API server on loopback for contract tests. Started by tests/emulators/telegram_server.py, which says
// what it offers; ends when its standard input does, so that it cannot outlive the tests.
//
// node server.mjs '[{"token": "1:secret", "username": "helper_bot", "reads_all": false}]'   → prints {"port": …}

import http from 'node:http'
import { inOrder, saying } from '../said.mjs'
import { METHODS, Refusal } from './methods.mjs'
import { State } from './state.mjs'

const state = new State(JSON.parse(process.argv[2]))

// ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────

async function body(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

// python-telegram-bot sends forms: nested values are JSON texts in them, uploads stand beside as `attach://<name>`.
async function parse(request, raw) {
  const type = request.headers['content-type'] ?? ''
  const parameters = {}
  const files = {}
  if (type.includes('multipart/')) {
    const form = await new Response(raw, { headers: { 'content-type': type } }).formData()
    for (const [name, value] of form) {
      if (typeof value === 'string') parameters[name] = value
      else files[name] = { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) }
    }
  } else {
    Object.assign(parameters, Object.fromEntries(new URLSearchParams(raw.toString())))
  }
  const uploads = { ...files }
  for (const [name, value] of Object.entries(parameters)) {
    const attached = /^attach:\/\/(.+)$/.exec(value)
    if (attached) uploads[name] = files[attached[1]]
    else if (/^[[{]/.test(value) && name !== 'text' && name !== 'caption') parameters[name] = JSON.parse(value)
  }
  return { parameters, uploads }
}

function answer(response, status, content) {
  if (response.destroyed) return
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(content))
}

// ── scripted failures ──────────────────────────────────────────────────────────────────────────────────────────

function ruleFor(bot, method, parameters) {
  const fits = (rule) => rule.method === method && (rule.chat === null || rule.chat === String(parameters.chat_id))
  for (const rule of bot.rules.filter(fits)) {
    if (rule.after > 0) rule.after -= 1
    else if (rule.times > 0) {
      rule.times -= 1
      return rule
    }
  }
  return null
}

const released = (bot, method) =>
  new Promise((resolve) => {
    bot.held.push({ method, resolve })
    state.changed()
  })

async function botCall(token, method, request, response) {
  const gone = new Promise((resolve) => response.on('close', resolve))
  const { parameters, uploads } = await parse(request, await body(request))
  const bot = state.bots.get(token)
  if (!bot) return answer(response, 401, { ok: false, error_code: 401, description: 'Unauthorized' })
  const carryOut = async () => {
    if (!METHODS[method]) return [404, { ok: false, error_code: 404, description: 'Not Found' }]
    try {
      return [200, { ok: true, result: await METHODS[method](state, bot, parameters, uploads, gone) }]
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal
      const { status, description, parameters: details } = refusal
      return [status, { ok: false, error_code: status, description, ...(details && { parameters: details }) }]
    }
  }
  if (method !== 'getUpdates') {
    bot.calls.push({ method, parameters, at: Date.now() })
    state.changed()
  }
  const rule = ruleFor(bot, method, parameters)
  if (rule?.action === 'refuse') return request.socket.destroy()
  if (rule?.action === 'answer') return sendRaw(response, rule)
  if (rule?.action === 'hold' && !rule.carried_out) await released(bot, method)
  if (response.destroyed && method !== 'getUpdates') return undefined
  const outcome = await carryOut()
  if (rule?.action === 'cut') return request.socket.destroy()
  if (rule?.action === 'hold' && rule.carried_out) await released(bot, method)
  return answer(response, ...outcome)
}

function sendRaw(response, { status, body: content, description, parameters }) {
  if (content !== null) {
    response.writeHead(status, { 'content-type': 'text/html' })
    return response.end(content)
  }
  const details = Object.keys(parameters).length ? { parameters } : {}
  return answer(response, status, { ok: false, error_code: status, description, ...details })
}

// ── control: the user's side and what a test looks at ──────────────────────────────────────────────────────────

const sentBy = (token, chat) =>
  state
    .botMessages(token)
    .filter(({ message }) => chat === null || String(message.chat_id) === chat)
    .map(({ messageId, message }) => ({ message_id: messageId, ...message }))

const bot = (token) => state.bots.get(token)
const of = (method) => (one) => method === null || one.method === method
const atLeast = (n) => (found) => found.length >= n

const CONTROL = {
  addBot: ({ bot: account }) => state.addBot(account) ?? true,
  revoke: ({ token }) => state.bots.delete(token),

  say: ({ token, message }) => state.say(token, message),
  edit: ({ token, message }) => state.edit(token, message),
  press: ({ token, query }) => state.press(token, query),
  update: ({ token, update }) => state.offer(token, update),

  sent: ({ token, chat, n, seconds }) => state.until(() => sentBy(token, chat), atLeast(n), seconds),
  calls: ({ token, method, n, seconds }) => state.until(() => bot(token).calls.filter(of(method)), atLeast(n), seconds),
  said: ({ token, text, n, seconds }) =>
    state.until(saying(() => bot(token).calls, (call) => call.parameters.text, text), atLeast(n), seconds),
  all: ({ token, control: name, each }) => inOrder((one) => CONTROL[name]({ token, ...one }), each),
  offsets: ({ token, n, seconds }) => state.until(() => bot(token).offsets, atLeast(n), seconds),
  pending: ({ token, left, seconds }) => state.until(() => bot(token).queue, (queue) => queue.length <= left, seconds),

  rules: ({ token, rules }) => Object.assign(bot(token), { rules }).rules.length,
  held: async ({ token, method, n, seconds }) =>
    (await state.until(() => bot(token).held.filter(of(method)), atLeast(n), seconds)).length,
  release: ({ token, method }) => {
    const waiting = bot(token).held.filter(of(method))
    bot(token).held = bot(token).held.filter((one) => !waiting.includes(one))
    for (const one of waiting) one.resolve()
    return waiting.length
  },
  draft: ({ token, chat }) => bot(token).drafts.get(chat) ?? null,
  forgetThread: ({ token, chat, thread }) => bot(token).goneThreads.add(`${chat}/${thread}`).size,
  move: ({ token, old, new: now }) => bot(token).moved.set(String(old), String(now)).size,
}

async function control(path, request, response) {
  const raw = await body(request)
  if (path === 'putFile') return answer(response, 200, state.putFile(raw))
  const result = await CONTROL[path](JSON.parse(raw))
  return answer(response, 200, result)
}

async function handle(request, response) {
  const { pathname } = new URL(request.url, 'http://127.0.0.1')
  const called = /^\/bot([^/]+)\/(\w+)$/.exec(pathname)
  if (called) return botCall(called[1], called[2], request, response)
  const file = /^\/file\/bot[^/]+\/documents\/(.+)$/.exec(pathname)
  if (file) {
    const bytes = state.files.get(file[1])
    response.writeHead(bytes ? 200 : 404)
    return response.end(bytes)
  }
  const asked = /^\/control\/(\w+)$/.exec(pathname)
  if (asked) return control(asked[1], request, response)
  return answer(response, 404, { ok: false, error_code: 404, description: 'Not Found' })
}

const server = http.createServer((request, response) => {
  handle(request, response).catch((error) => {
    process.stderr.write(`${error.stack}\n`)
    if (!response.headersSent) answer(response, 500, { ok: false, error_code: 500, description: `${error}` })
  })
})
server.keepAliveTimeout = 60_000 // a test must not meet a connection that times out by chance
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`))
process.stdin.resume().on('end', () => process.exit(0))
