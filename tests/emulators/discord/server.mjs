// A Discord on loopback for contract tests. Started by tests/emulators/discord_server.py, which says what it offers; ends
// when its standard input does, so that it cannot outlive the tests.
//
// node server.mjs TOKEN   → prints {"port": …, "guild": …, "bot": …, "channels": {…}, "users": {…}}

import { inOrder, saying } from '../said.mjs'
import { answer, body, front } from './front.mjs'
import { startWorld } from './world.mjs'

const world = await startWorld({ token: process.argv[2], wrap })

const atLeast = (n) => (found) => found.length >= n
const fits = (method, path) => (call) => (!method || call.method === method) && (!path || new RegExp(path).test(call.path))

const listens = ({ identified, ws }) => identified && ws.readyState === ws.OPEN // one that is going away hears nothing

const sent = async (channel) => {
  const where = { authorId: world.facts.bot, ...(channel && { channelId: channel }) }
  const rows = await world.db.message.findMany({ where })
  return rows.sort((one, other) => Number(BigInt(one.id) - BigInt(other.id)))
}

const CONTROL = {
  clean: async () => (await world.clean()) ?? true,
  say: (message) => world.say(message),
  edit: ({ channel, message, content }) =>
    world.twin.simulateUserMessageEdit({ channelId: channel, messageId: message, content }).then(() => true),
  slash: (command) => world.slash(command),
  press: (button) => world.press(button),
  join: ({ name }) => world.db.user.create({ data: { id: world.newId(), username: name } }).then((user) => user.id),
  openPrivate: ({ user }) => world.openPrivate(user),
  openChannel: (channel) => world.openChannel(channel),
  openThread: (thread) => world.openThread(thread),
  forget: async ({ channel, message }) => {
    if (message) await world.db.message.delete({ where: { id: message } })
    else await world.db.channel.delete({ where: { id: channel } })
    return true
  },
  dispatch: ({ event, data }) => world.broadcast(event, data) ?? true,
  set: ({ facts }) => Object.assign(world, facts) && true,
  drop: () => world.drop() ?? true,
  rules: ({ rules }) => (world.rules = rules).length,
  release: () => world.held.splice(0).map((release) => release()).length,

  sent: ({ channel, n, seconds }) => world.until(() => sent(channel), atLeast(n), seconds),
  calls: ({ method, path, n, seconds }) =>
    world.until(() => world.calls.filter(fits(method, path)), atLeast(n), seconds),
  said: ({ text, n, seconds }) => world.until(saying(() => world.calls, (call) => call.json?.content, text), atLeast(n), seconds),
  all: ({ control: name, each }) => inOrder(CONTROL[name], each),
  connected: ({ seconds }) =>
    world.until(() => [...world.gateway.clients].filter(listens), atLeast(1), seconds).then((found) => found.length),
  held: ({ n, seconds }) => world.until(() => world.held, atLeast(n), seconds).then((found) => found.length),
}

async function wrap(_world, handler, request, response) {
  try {
    const asked = /^\/control\/(\w+)$/.exec(request.url)
    if (!asked) return await front(world, handler, request, response)
    const raw = await body(request)
    if (asked[1] === 'putFile') return answer(response, 200, putFile(request, raw))
    return answer(response, 200, await CONTROL[asked[1]](JSON.parse(raw)))
  } catch (error) {
    process.stderr.write(`${error.stack}\n`)
    return answer(response, 500, { message: `${error}`, code: 0 })
  }
}

function putFile(request, bytes) {
  const path = `/cdn/attachments/${world.newId()}/${request.headers['x-name']}`
  world.files.set(path, bytes)
  return `http://127.0.0.1:${world.facts.port}${path}`
}

process.stdout.write(`${JSON.stringify(world.facts)}\n`)
process.stdin.resume().on('end', () => process.exit(0))
