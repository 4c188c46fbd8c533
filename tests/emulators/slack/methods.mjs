// The Web API as a bot meets it: who may ask, what the real one refuses or leaves out, and the methods that the package
// lacks. What is not here, the package answers.

import { refusedFor, STREAM_METHODS, streamingState } from './streams.mjs'

const TEXT_LIMIT = 40_000
const UPDATE_LIMIT = 4_000
const BLOCKS_LIMIT = 12_000

const refuse = (error, details = {}) => ({ ok: false, error, ...details })

const USERS_SCOPES = {
  'chat.appendStream': 'chat:write',
  'chat.postMessage': 'chat:write',
  'chat.startStream': 'chat:write',
  'chat.stopStream': 'chat:write',
  'files.getUploadURLExternal': 'files:write',
  'files.info': 'files:read',
  'reactions.add': 'reactions:write',
  'reactions.remove': 'reactions:write',
  'users.info': 'users:read',
}

function areButtons(elements) {
  const fits = ({ type, text, value }) =>
    type === 'button' && text.type === 'plain_text' && text.text && text.text.length <= 75 && value.length <= 2000
  const names = elements.map((button) => button.action_id)
  return elements.length > 0 && elements.length <= 25 && elements.every(fits) && new Set(names).size === names.length
}

function checkContent(world, method, { text = '', blocks = [], channel, thread_ts: thread, metadata }) {
  const limit = method === 'chat.update' ? UPDATE_LIMIT : TEXT_LIMIT
  if (text.length > limit) return refuse('msg_too_long')
  if (!blocks.every(({ type, elements }) => type === 'markdown' || (type === 'actions' && areButtons(elements)))) {
    return refuse('invalid_blocks')
  }
  const written = blocks.filter(({ type }) => type === 'markdown')
  if (written.reduce((sum, block) => sum + block.text.length, 0) > BLOCKS_LIMIT) return refuse('msg_blocks_too_long')
  if (written.some((block) => !block.text.trim())) return refuse('invalid_blocks')
  if (metadata && (!metadata.event_type || !metadata.event_payload)) return refuse('invalid_metadata_format')
  if (thread && (world.gone.has(thread) || !world.message(channel, thread))) return refuse('thread_not_found')
  return null
}

// Newest first, without replies; the cursor is the position of the next page.
async function history(world, token, { oldest = '0', limit = 100, cursor = '0', include_all_metadata: marks, ...rest }) {
  const all = await world.ask(token, 'conversations.history', { ...rest, limit: 1000 })
  if (!all.ok) return all
  return paged(all.messages.filter(({ ts }) => ts > oldest), { limit, cursor, marks })
}

// Oldest first; the first message of the thread comes with it, however old it is.
async function replies(world, token, { oldest = '0', limit = 1000, cursor = '0', include_all_metadata: marks, ...rest }) {
  const all = await world.ask(token, 'conversations.replies', rest)
  if (!all.ok) return all
  if (!all.messages.length || world.gone.has(rest.ts)) return refuse('thread_not_found')
  const [parent] = all.messages
  const told = all.messages.filter(({ ts }) => ts > oldest || ts === rest.ts)
  const placed = told.map((message) => (message === parent ? message : { ...message, parent_user_id: parent.user }))
  const streamed = placed.map((message) => ({ ...message, ...streamingState(world, message.ts) }))
  return paged(streamed, { limit, cursor, marks })
}

function paged(messages, { limit, cursor, marks }) {
  const first = Number(cursor)
  const next = first + Math.min(Number(limit), 15)
  const page = messages.slice(first, next).map(({ metadata, ...message }) => (marks && metadata ? { ...message, metadata } : message))
  const more = next < messages.length
  return { ok: true, messages: page, has_more: more, response_metadata: { next_cursor: more ? String(next) : '' } }
}

function channelsOf(world, { types = 'public_channel' }) {
  const wanted = types.split(',')
  const kind = (one) => (one.is_im ? 'im' : one.is_mpim ? 'mpim' : one.is_private ? 'private_channel' : 'public_channel')
  const found = world.store.channels.all().filter((one) => one.members.includes(world.facts.bot) && wanted.includes(kind(one)))
  const channels = found.map((one) => ({ id: one.channel_id, name: one.name, is_im: Boolean(one.is_im) }))
  return { ok: true, channels, response_metadata: { next_cursor: '' } }
}

export async function call(world, token, method, parameters) {
  if (method === 'apps.connections.open') {
    if (token !== world.appToken) return refuse(token.startsWith('xapp-') ? 'invalid_auth' : 'not_allowed_token_type')
    return { ok: true, url: `${world.base.replace('http', 'ws')}/link` }
  }
  if (token !== world.token) return refuse('invalid_auth')
  const needed = USERS_SCOPES[method]
  if (needed && !world.scopes.includes(needed)) return refuse('missing_scope', { needed, provided: world.scopes.join(',') })
  if (method === 'conversations.history') return history(world, token, parameters)
  if (method === 'conversations.replies') return replies(world, token, parameters)
  if (method === 'users.conversations') return channelsOf(world, parameters)
  if (method in STREAM_METHODS) return STREAM_METHODS[method](world, token, parameters)
  if (method.startsWith('chat.')) {
    const refused = refusedFor(world, method, parameters) ?? checkContent(world, method, parameters)
    if (refused) return refused
  }
  return world.ask(token, method, parameters)
}
