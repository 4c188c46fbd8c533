// What the Discord server knows: the npm package discord-digital-twin (its database, REST routes and gateway), made to
// say what the real one says where our promises depend on it: mentions, replies and threads in payloads, no server in
// private chats, intents, messages of threads at the beginning of a session. The HTTP front is in front.mjs.

import { EventEmitter } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { pathToFileURL } from 'node:url'

const PACKAGE = new URL('../node/node_modules/discord-digital-twin/dist/index.js', import.meta.url)
const MESSAGE_CONTENT = 1 << 15 // intents, as bits
const REACTIONS = (1 << 10) | (1 << 13)
const THREADS = [10, 11, 12]
const PRIVATE = 1

// The package binds to every interface and makes its own HTTP server: both are settled before it is loaded.
export async function startWorld({ token, wrap }) {
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function onLoopback(port, host, ...rest) {
    return typeof host === 'string' ? listen.call(this, port, host, ...rest) : listen.call(this, port, '127.0.0.1', host)
  }
  const { createServer } = http
  let world
  http.createServer = (handler) => {
    http.createServer = createServer
    const server = createServer((request, response) => wrap(world, handler, request, response))
    server.keepAliveTimeout = 60_000 // a test must not meet a connection that times out by chance
    return server
  }
  const twinPackage = await import(pathToFileURL(PACKAGE.pathname).href)
  world = new World(twinPackage, token)
  await world.start()
  return world
}

class World extends EventEmitter {
  constructor({ DigitalDiscord, DiscordGateway, generateSnowflake }, token) {
    super()
    this.setMaxListeners(0)
    this.newId = generateSnowflake
    this.twin = new DigitalDiscord({
      guild: { name: 'Gardeners' },
      botUser: { username: 'helper' },
      botToken: token,
      dbUrl: 'file::memory:?cache=shared',
      channels: [{ name: 'general', type: 0 }, { name: 'questions', type: 15 }],
      users: [{ username: 'alice' }, { username: 'bob' }, { username: 'echo', bot: true }],
    })
    this.db = this.twin.prisma
    this.files = new Map() // path below /cdn → bytes
    this.reset()
    correctGateway(DiscordGateway, this)
  }

  async start() {
    await this.twin.start()
    const channels = await this.db.channel.findMany()
    const users = await this.db.user.findMany()
    const idsByName = (rows, name) => Object.fromEntries(rows.map((row) => [row[name], row.id]))
    this.seeded = new Set(channels.map((channel) => channel.id))
    this.facts = {
      port: this.twin.port,
      guild: this.twin.guildId,
      bot: this.twin.botUserId,
      channels: idsByName(channels, 'name'),
      users: idsByName(users, 'username'),
    }
  }

  // Everything that one test leaves to the next is taken away; the server and its people stay.
  reset() {
    this.calls = []
    this.rules = []
    this.held = []
    this.nonces = new Map() // nonce → the answer that the first request got
    this.history = [] // events that a resumed session may ask for, with their numbers
    this.seesContent = true
    this.resumes = true
    this.revoked = false
  }

  async clean() {
    this.reset()
    this.drop()
    await this.db.message.deleteMany()
    await this.db.interactionResponse.deleteMany()
    await this.db.applicationCommand.deleteMany()
    await this.db.channel.deleteMany({ where: { id: { notIn: [...this.seeded] } } })
    await this.db.channel.updateMany({ data: { lastMessageId: null } })
  }

  changed() {
    this.emit('changed')
  }

  // Resolve with what `look` returns as soon as `enough` says so; after `seconds`, with what is there.
  async until(look, enough, seconds) {
    const end = Date.now() + seconds * 1000
    for (;;) {
      const changed = new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.max(end - Date.now(), 0))
        this.once('changed', () => (clearTimeout(timer), resolve()))
      })
      const seen = await look()
      if (enough(seen) || Date.now() >= end) {
        this.changed() // ends the wait that was just begun
        return seen
      }
      await changed
    }
  }

  get gateway() {
    return this.twin.server.gateway
  }

  broadcast(event, data) {
    this.gateway.broadcast(event, data)
  }

  drop() {
    for (const client of [...(this.twin.server?.gateway.clients ?? [])]) client.ws.terminate()
  }

  // ── the users' side ──────────────────────────────────────────────────────────────────────────────────────────

  async say({ channel, user, content, attachments, reply_to: reply, extra, silent }) {
    const reference = reply && { type: 0, message_id: reply, channel_id: channel }
    this.silent = silent ? content : null // a message that nobody hears of: it was written while we were away
    this.extra = extra
    try {
      const message = await this.twin.simulateUserMessage({
        channelId: channel,
        userId: user,
        content,
        attachments,
        messageReference: reference ?? undefined,
      })
      await this.telling // so that nobody who connects after this hears of it
      return message.id
    } finally {
      this.silent = null
      this.extra = null
    }
  }

  async openPrivate(user) {
    const known = await this.db.channel.findFirst({ where: { type: PRIVATE, ownerId: user } })
    if (known) return known.id
    const { id } = await this.db.channel.create({ data: { id: this.newId(), type: PRIVATE, ownerId: user } })
    return id
  }

  async openChannel({ name, type = 0, silent }) {
    const data = { id: this.newId(), guildId: this.facts.guild, type, name }
    await this.db.channel.create({ data })
    if (!silent) this.broadcast('CHANNEL_CREATE', { ...(await this.describeChannel(data.id)), permission_overwrites: [] })
    return data.id
  }

  async openThread({ parent, name, user, silent }) {
    const data = { id: this.newId(), guildId: this.facts.guild, type: 11, name, parentId: parent, ownerId: user }
    await this.db.channel.create({ data })
    if (!silent) this.broadcast('THREAD_CREATE', { ...(await this.describeChannel(data.id)), newly_created: true })
    return data.id
  }

  slash({ channel, user, name, text }) {
    const options = text ? [{ type: 3, name: 'text', value: text }] : []
    return this.interact({ channel, user, type: 2, data: { id: '1', type: 1, name, options } })
  }

  async press({ channel, user, message, data }) {
    const shown = await this.db.message.findUniqueOrThrow({ where: { id: message } })
    const author = await this.describeUser(shown.authorId)
    const described = { id: message, channel_id: channel, author, content: shown.content }
    return this.interact({ channel, user, type: 3, data: { component_type: 2, custom_id: data }, message: described })
  }

  async interact({ channel, user, type, data, message }) {
    const id = this.newId()
    const token = `interaction-${id}`
    const rows = { interactionId: id, interactionToken: token, applicationId: this.facts.bot, channelId: channel, type: 0 }
    await this.db.interactionResponse.create({ data: rows })
    const place = await this.describeChannel(channel)
    const person = await this.describeUser(user)
    const isPrivate = place.type === PRIVATE
    const who = isPrivate ? { user: person } : { guild_id: place.guild_id, member: { user: person, nick: null, roles: [] } }
    this.broadcast('INTERACTION_CREATE', {
      id,
      token,
      version: 1,
      type,
      application_id: this.facts.bot,
      channel_id: channel,
      channel: place,
      context: isPrivate ? 1 : 0,
      data,
      ...(message && { message }),
      ...who,
    })
    return id
  }

  // ── payloads ─────────────────────────────────────────────────────────────────────────────────────────────────

  async describeUser(id) {
    const user = await this.db.user.findUniqueOrThrow({ where: { id } })
    const { username, discriminator, avatar, bot, globalName } = user
    return { id, username, discriminator, avatar, bot, global_name: globalName }
  }

  async describeChannel(id) {
    const row = await this.db.channel.findUniqueOrThrow({ where: { id } })
    const shared = { id, type: row.type, last_message_id: row.lastMessageId }
    if (row.type === PRIVATE) return { ...shared, recipients: [await this.describeUser(row.ownerId)] }
    const channel = { ...shared, guild_id: row.guildId, name: row.name, parent_id: row.parentId, position: 0 }
    if (!THREADS.includes(row.type)) return channel
    const metadata = { archived: false, auto_archive_duration: 1440, locked: false, archive_timestamp: row.createdAt }
    return { ...channel, owner_id: row.ownerId, message_count: 0, member_count: 1, thread_metadata: metadata }
  }

  // Give a message of the package what it leaves out: who is mentioned, and what is replied to.
  async complete(message, { deep = true } = {}) {
    const ids = [...new Set([...(message.content ?? '').matchAll(/<@!?(\d+)>/g)].map((found) => found[1]))]
    const known = await this.db.user.findMany({ where: { id: { in: ids } } })
    const mentions = await Promise.all(known.map(({ id }) => this.describeUser(id)))
    const reply = message.message_reference
    if (!reply || !deep) return { ...message, mentions }
    const row = await this.db.message.findUnique({ where: { id: reply.message_id } })
    if (!row) return { ...message, type: 19, mentions, referenced_message: null }
    const author = await this.describeUser(row.authorId)
    const target = { id: row.id, channel_id: row.channelId, author, content: row.content, attachments: [], type: 0 }
    return { ...message, type: 19, mentions, referenced_message: await this.complete(target, { deep: false }) }
  }
}

function correctGateway(DiscordGateway, world) {
  const { sendDispatch, handleMessage, broadcast } = DiscordGateway.prototype

  DiscordGateway.prototype.broadcastMessageCreate = function complete(message, guildId) {
    world.telling = tell(this, message, guildId)
    return world.telling
  }

  async function tell(gateway, message, guildId) {
    if (world.silent !== null && message.content === world.silent) return
    const extra = world.extra ?? {}
    const { guild_id: _ignored, ...rest } = await world.complete(message)
    const place = guildId ? { guild_id: guildId } : { channel_type: PRIVATE } // the package does not name it
    gateway.broadcast('MESSAGE_CREATE', { ...rest, ...place, ...extra })
    world.changed()
  }

  DiscordGateway.prototype.broadcast = function remember(event, data) {
    const { guild_id: guild, ...rest } = data
    const shown = guild === '' ? rest : data // a private chat has no server; the package calls it ''
    world.history.push({ event, data: shown })
    broadcast.call(this, event, shown)
  }

  // Threads are not among the channels of a server, and a bot without the intent is shown no content.
  DiscordGateway.prototype.sendDispatch = function complete(client, event, data) {
    let shown = data
    if (/REACTION/.test(event) && !(client.intents & REACTIONS)) return
    if (event === 'GUILD_CREATE') {
      const isThread = (channel) => THREADS.includes(channel.type)
      const channels = data.channels.filter((channel) => !isThread(channel))
      shown = { ...data, channels: channels.map((one) => ({ permission_overwrites: [], ...one })) }
      shown.threads = data.channels.filter(isThread)
    }
    const hidden = /^MESSAGE_/.test(event) && !(client.intents & MESSAGE_CONTENT) && data.guild_id
    const named = (data.mentions ?? []).some((user) => user.id === world.facts.bot)
    if (hidden && !named) shown = { ...data, content: '', attachments: [] }
    client.heard = world.history.length
    sendDispatch.call(this, client, event, shown)
  }

  DiscordGateway.prototype.handleMessage = async function withIntentsAndResume(client, raw) {
    const { op, d } = JSON.parse(raw)
    if (world.revoked && [2, 6].includes(op)) return client.ws.close(4004)
    if (op === 2 && !world.seesContent && d.intents & MESSAGE_CONTENT) return client.ws.close(4014)
    if (op === 2) world.sessions = { ...world.sessions, [client.sessionId]: client }
    if (op !== 6) return handleMessage.call(this, client, raw).then(() => world.changed())
    const before = world.sessions?.[d.session_id]
    if (!world.resumes || !before) return this.send(client, { op: 9, d: false, s: null, t: null })
    Object.assign(client, { sessionId: d.session_id, sequence: d.seq, identified: true, intents: before.intents })
    for (const { event, data } of world.history.slice(before.heard)) this.sendDispatch(client, event, data)
    return this.sendDispatch(client, 'RESUMED', {})
  }
}
