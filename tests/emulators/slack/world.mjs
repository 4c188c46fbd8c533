// A workspace: people, channels, messages and files as the npm package `emulate` keeps them, and what it lacks to serve a
// real client: deliveries over sockets or signed HTTP, mentions, slash commands, and how threads and histories behave.

import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

import { Watched } from '../waiting.mjs'

// Neither package lets its parts be imported by name, and `emulate` bundles each platform into a file of its own, under a
// name that says nothing.
const packages = path.join(path.dirname(fileURLToPath(import.meta.url)), '../node/node_modules')
const core = await import(path.join(packages, '@emulators/core/dist/index.js'))
const dist = path.join(packages, 'emulate/dist')
const isSlack = (name) => fs.readFileSync(path.join(dist, name), 'utf8').includes('"/api/chat.postMessage"')
const bundle = fs.readdirSync(dist).find((name) => /^dist-.*\.js$/.test(name) && isSlack(name))
const { getSlackStore, seedFromConfig, slackPlugin } = await import(path.join(dist, bundle))

const TEAM = 'T000000001'
const APP = 'A0SCRUBJAY'
const PEOPLE = { alice: 'U0ALICE', bob: 'U0BOB' }
const BOT = { user: 'U0BOT', bot: 'B0BOT', name: 'jay' }

export class World extends Watched {
  constructor(name, root, { scopes, events_url: eventsUrl = null }) {
    super()
    this.setMaxListeners(0)
    Object.assign(this, { name, scopes, eventsUrl, base: `${root}/${name}` })
    this.token = `xoxb-${name}-secret`
    this.appToken = `xapp-${name}-secret`
    this.signingSecret = `signing-${name}-secret`
    this.calls = []
    this.rules = []
    this.held = []
    this.deliveries = []
    this.sockets = []
    this.greets = true // a new socket says hello
    this.delivers = true // what happens is told to the app
    this.gone = new Set() // timestamps of threads that are gone
    this.streams = new Map() // by timestamp, open or not
    this.events = 0
    this.queue = Promise.resolve()
    this.#populate()
  }

  get facts() {
    const { general, secret } = this
    const { token, appToken: app_token, signingSecret: signing_secret } = this
    return { token, app_token, signing_secret, base_url: `${this.base}/api/`, team: TEAM, general, secret, bot: BOT.user, ...PEOPLE }
  }

  // ── the package ──

  #populate() {
    const plugin = {
      name: 'slack',
      seed: slackPlugin.seed,
      register(app, store, webhooks, base, tokens) {
        webhooks.setHeaderFactory ??= () => {}
        slackPlugin.register(app, store, webhooks, base, tokens)
      },
    }
    const server = core.createServer(plugin, { port: 0, baseUrl: this.base })
    slackPlugin.seed(server.store, this.base)
    this.app = server.app
    this.store = getSlackStore(server.store)
    const person = (user_id, name, is_bot) => {
      const profile = { display_name: name, real_name: name }
      const fields = { email: `${name}@example.test`, is_admin: false, deleted: false, presence: 'active' }
      this.store.users.insert({
        ...fields, user_id, name, is_bot, profile, team_id: TEAM, real_name: name, manual_presence: 'auto', connection_count: 1,
      })
    }
    for (const [name, id] of Object.entries(PEOPLE)) person(id, name, false)
    person(BOT.user, BOT.name, true)
    this.store.bots.insert({ bot_id: BOT.bot, user_id: BOT.user, name: BOT.name, deleted: false, icons: {}, app_id: APP })
    const bot = { token: this.token, type: 'bot', user_id: BOT.user, bot_id: BOT.bot, bot_user_id: BOT.user, app_id: APP }
    const people = Object.entries(PEOPLE).map(([name, id]) => ({ token: `xoxp-${name}`, type: 'user', user_id: id }))
    seedFromConfig(server.store, this.base, { tokens: [bot, ...people], channels: [{ name: 'secret', is_private: true }] })
    const members = [...Object.values(PEOPLE), BOT.user]
    for (const { id } of this.store.channels.all()) this.store.channels.update(id, { members, num_members: members.length })
    this.general = this.store.channels.findOneBy('name', 'general').channel_id
    this.secret = this.store.channels.findOneBy('name', 'secret').channel_id
    this.seed = (config) => seedFromConfig(server.store, this.base, config)
    server.webhooks.dispatch = async (event, _action, payload) => this.#happened(event, payload)
  }

  // Take in another person, who is `sender` by that name.
  join(name) {
    this.seed({ users: [{ name }], tokens: [{ token: `xoxp-${name}`, type: 'user', user: name }] })
    return this.store.users.findOneBy('name', name).user_id
  }

  // Ask the package, with arguments as a form, which is all that it reads everywhere.
  async ask(token, method, parameters) {
    const form = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters)) {
      if (value === undefined || value === null) continue
      form.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
    }
    const response = await this.fetch(`/api/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    })
    return response.json()
  }

  fetch(target, options) {
    return this.app.fetch(new Request(`${this.base}${target}`.replace(`/${this.name}/`, '/'), options))
  }

  message(channel, ts) {
    return this.store.messages.findBy('channel_id', channel).find((found) => found.ts === ts)
  }

  // Change a message without telling the app.
  rewrite(channel, ts, fields) {
    this.store.messages.update(this.message(channel, ts).id, fields)
    this.changed()
  }

  // ── deliveries ──

  #happened(kind, payload) {
    const event = { ...payload.event }
    const channel = this.store.channels.findOneBy('channel_id', event.channel)
    if (channel && !channel.members.includes(BOT.user)) return
    if (kind === 'message') {
      event.event_ts ??= event.ts
      event.channel_type = channel?.is_im ? 'im' : channel?.is_private ? 'group' : 'channel'
      if (event.user === BOT.user) Object.assign(event, { bot_id: BOT.bot, app_id: APP })
      const parent = event.thread_ts && this.message(event.channel, event.thread_ts)
      if (parent && parent.ts !== event.ts) event.parent_user_id = parent.user
    }
    this.changed()
    this.deliver('events_api', this.envelope(event))
    const isMention = kind === 'message' && !event.subtype?.startsWith('message_') && event.user !== BOT.user
    if (isMention && !channel?.is_im && (event.text ?? '').includes(`<@${BOT.user}>`)) {
      const { channel_type: _kind, parent_user_id: _parent, subtype: _subtype, ...mention } = event
      this.deliver('events_api', this.envelope({ ...mention, type: 'app_mention' }))
    }
  }

  envelope(event) {
    this.events += 1
    return {
      token: 'verification',
      team_id: TEAM,
      api_app_id: APP,
      type: 'event_callback',
      event_id: `Ev${this.events}`,
      event_time: Math.floor(Date.now() / 1000),
      authorizations: [{ enterprise_id: null, team_id: TEAM, user_id: BOT.user, is_bot: true, is_enterprise_install: false }],
      event,
    }
  }

  // Deliveries leave in their order, though each is acknowledged in its own time.
  deliver(type, payload, attempt = 0) {
    const delivery = { type, payload, attempt, sent: false, acknowledged: null, id: crypto.randomUUID() }
    this.deliveries.push(delivery)
    if (!this.delivers) return
    if (this.eventsUrl) this.#overHttp(delivery)
    else this.#overSocket(delivery)
  }

  #overSocket(delivery) {
    const socket = this.sockets.at(-1)
    if (!socket) return
    const { id: envelope_id, type, payload, attempt } = delivery
    const retry = attempt ? { retry_attempt: attempt, retry_reason: 'timeout' } : {}
    socket.send(JSON.stringify({ envelope_id, type, payload, accepts_response_payload: type !== 'events_api', ...retry }))
    delivery.sent = true
    this.changed()
  }

  async #overHttp(delivery) {
    const { type, payload } = delivery
    const isForm = type !== 'events_api'
    const form = type === 'interactive' ? { payload: JSON.stringify(payload) } : payload
    const body = isForm ? new URLSearchParams(form).toString() : JSON.stringify(payload)
    const timestamp = String(Math.floor(Date.now() / 1000))
    const hash = crypto.createHmac('sha256', this.signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
    const headers = {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${hash}`,
    }
    delivery.sent = true
    const response = await fetch(this.eventsUrl, { method: 'POST', body, headers }).catch(() => ({ status: 0 }))
    delivery.status = response.status
    if (response.status === 200) delivery.acknowledged = {}
    this.changed()
  }

  acknowledge({ envelope_id: id, payload }) {
    const delivery = this.deliveries.find((one) => one.id === id)
    if (delivery) delivery.acknowledged = payload ?? {}
    this.changed()
  }

  redeliver() {
    const open = this.deliveries.filter((one) => !one.acknowledged)
    for (const one of open) this.deliver(one.type, one.payload, one.attempt + 1)
    return open.length
  }

  connected(socket) {
    this.sockets.push(socket)
    socket.on('message', (text) => this.acknowledge(JSON.parse(text.toString())))
    socket.on('close', () => {
      this.sockets = this.sockets.filter((other) => other !== socket)
      this.changed()
    })
    if (this.greets) socket.send(JSON.stringify({ type: 'hello', num_connections: this.sockets.length, connection_info: { app_id: APP } }))
    this.changed()
  }
}
