// What the server knows: bots, the updates that wait for them, what they sent, files, topics and moved groups.
//
// Messages and ids are kept by the npm package telegram-test-api (its update store and its store of bot messages). The
// package alone does not do for python-telegram-bot: it knows neither offsets nor edits, topics, files or faults, and
// dates its messages in milliseconds. That part is ours, and so is the HTTP front; the package's own is not started.

import { createRequire } from 'node:module'

import { Watched } from '../waiting.mjs'

const require = createRequire(new URL('../node/package.json', import.meta.url))
const TelegramServer = require('telegram-test-api')

const KEEP_SECONDS = 3600
const now = () => Math.floor(Date.now() / 1000)

export class State extends Watched {
  constructor(bots) {
    super()
    this.setMaxListeners(0)
    this.store = new TelegramServer({ host: '127.0.0.1', storeTimeout: KEEP_SECONDS })
    this.bots = new Map()
    this.files = new Map()
    for (const bot of bots) this.addBot(bot)
  }

  // Everything that a test can see or set belongs to one bot, so that tests can share a server.
  addBot(bot) {
    this.bots.set(bot.token, {
      ...bot,
      queue: [], // updates that are not confirmed
      poll: null, // ends the poll that waits now
      allowed: null, // kinds of updates that it asked for
      offsets: [],
      calls: [],
      rules: [],
      held: [], // requests that wait for their release
      goneThreads: new Set(), // `${chat}/${thread}`
      moved: new Map(), // old chat id → new chat id
      drafts: new Map(), // chat id → the draft that it shows
      presses: new Set(), // ids of presses that the bot has not answered
    })
  }

  // ── the user's side ──────────────────────────────────────────────────────────────────────────────────────────

  async say(token, message) {
    const messageId = this.store.messageId
    const dated = { date: now(), ...withEntities(message) }
    await this.store.addUserMessage({ ...dated, botToken: token })
    for (const update of this.store.getUpdates(token)) {
      delete update.message.botToken
      this.#enqueue(token, update)
    }
    return messageId
  }

  edit(token, message) {
    return this.offer(token, { edited_message: { date: now(), edit_date: now(), ...withEntities(message) } })
  }

  offer(token, update) {
    const numbered = { update_id: this.store.updateId++, ...update }
    this.#enqueue(token, numbered)
    return numbered.update_id
  }

  // Press a button; a client waits for the bot's answer for some seconds.
  press(token, query) {
    const id = `${4382 + this.store.updateId}000`
    this.bots.get(token).presses.add(id)
    this.offer(token, { callback_query: { id, chat_instance: '1', ...query } })
    return id
  }

  putFile(bytes) {
    const id = `file${this.files.size + 1}`
    this.files.set(id, bytes)
    return id
  }

  #enqueue(token, update) {
    const bot = this.bots.get(token)
    if (bot.allowed && !Object.keys(update).some((kind) => bot.allowed.includes(kind))) return
    bot.queue.push(update)
    this.changed()
  }

  // ── the bot's side ───────────────────────────────────────────────────────────────────────────────────────────

  // As the real one: asking from an offset confirms what is before it, and a second poll ends the first.
  async updates(token, { offset, limit = 100, timeout = 0, allowed_updates: allowed }, gone) {
    const bot = this.bots.get(token)
    if (allowed) bot.allowed = allowed
    if (offset) bot.queue = bot.queue.filter((update) => update.update_id >= Number(offset))
    bot.offsets.push(offset === undefined ? null : Number(offset))
    bot.poll?.()
    let ended = false
    const end = () => {
      ended = true
      this.changed()
    }
    bot.poll = end
    gone.then(end)
    this.changed()
    await this.until(() => bot.queue, (queue) => queue.length > 0 || ended, Number(timeout))
    const current = bot.poll === end
    if (current) bot.poll = null
    return current ? bot.queue.slice(0, Number(limit)) : null
  }

  addBotMessage(token, parameters) {
    const message = this.store.addBotMessage({ ...parameters }, token)
    this.changed()
    return message.message_id
  }

  editBotMessage(parameters) {
    this.store.editMessageText({ ...parameters })
    this.changed()
  }

  deleteMessage(chatId, messageId) {
    const found = this.store.deleteMessage(Number(chatId), Number(messageId))
    this.changed()
    return found
  }

  botMessages(token) {
    return this.store.storage.botMessages.filter((entry) => entry.botToken === token)
  }

  knows(messageId) {
    const { userMessages, botMessages } = this.store.storage
    return [...userMessages, ...botMessages].some((entry) => String(entry.messageId) === String(messageId))
  }
}

// Telegram finds commands and mentions by itself; a message that brings its own entities keeps them.
function withEntities(message) {
  const place = message.text !== undefined ? 'entities' : 'caption_entities'
  const text = message.text ?? message.caption
  if (text === undefined || message[place]) return message
  const found = [
    ...[...text.matchAll(/(?<![\w/])\/\w{1,64}(@\w+)?/g)].map((match) => ({ type: 'bot_command', match })),
    ...[...text.matchAll(/(?<![\w/])@\w{3,}/g)].map((match) => ({ type: 'mention', match })),
  ]
  if (found.length === 0) return message
  const entities = found.map(({ type, match }) => ({ type, offset: match.index, length: match[0].length }))
  return { ...message, [place]: entities }
}
