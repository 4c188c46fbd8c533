// Streams of chat.startStream, chat.appendStream and chat.stopStream, as people who measured them against the real Slack
// describe it: what takes appends takes neither edits nor deletion, what was stopped takes no appends, and a stream stays
// with chunks or with text, whichever came first.

const TEXT_LIMIT = 12_000
const TITLE_LIMIT = 256
const STATES = ['pending', 'in_progress', 'complete', 'error']

const refuse = (error, details = {}) => ({ ok: false, error, ...details })

function checkChunks({ markdown_text: text, chunks }) {
  if (text !== undefined && chunks !== undefined) return refuse('invalid_arguments')
  if (text !== undefined && (!text || text.length > TEXT_LIMIT)) return refuse(text ? 'msg_too_long' : 'no_text')
  if (chunks === undefined) return null
  if (!Array.isArray(chunks) || !chunks.length) return refuse('invalid_chunks')
  for (const chunk of chunks) {
    if (chunk.type === 'markdown_text' && typeof chunk.text === 'string' && chunk.text) {
      if (chunk.text.length > TEXT_LIMIT) return refuse('msg_too_long')
    } else if (chunk.type === 'task_update' && chunk.id && chunk.title && STATES.includes(chunk.status)) {
      if (chunk.title.length > TITLE_LIMIT) return refuse('msg_too_long')
    } else return refuse('invalid_chunks')
  }
  return null
}

function take(world, stream, { markdown_text: text, chunks = [] }) {
  const mode = text !== undefined ? 'text' : chunks.length ? 'chunks' : null
  if (mode && stream.mode && mode !== stream.mode) return refuse('streaming_mode_mismatch')
  stream.mode ??= mode
  for (const chunk of text === undefined ? chunks : [{ type: 'markdown_text', text }]) {
    // The blank that a later chunk begins with can be lost.
    if (chunk.type === 'markdown_text') stream.text += stream.text ? chunk.text.trimStart() : chunk.text
    else stream.cards.set(chunk.id, { type: 'task_card', task_id: chunk.id, title: chunk.title, status: chunk.status })
  }
  const cards = [...stream.cards.values()]
  const said = { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: stream.text }] }] }
  world.rewrite(stream.channel, stream.ts, {
    text: [stream.text, ...cards.map(({ title }) => title)].filter(Boolean).join(' '),
    blocks: [...cards, ...(stream.text ? [said] : [])],
  })
  return null
}

async function start(world, token, parameters) {
  const { channel, thread_ts: thread, recipient_user_id: user, recipient_team_id: team } = parameters
  if (!channel || !thread) return refuse('invalid_arguments')
  if (!user) return refuse('missing_recipient_user_id')
  if (!team) return refuse('missing_recipient_team_id')
  if (team !== world.facts.team) return refuse('team_not_found')
  const person = world.store.users.findOneBy('user_id', user)
  if (!person || person.is_bot) return refuse('user_not_found')
  if (!['timeline', 'plan', undefined].includes(parameters.task_display_mode)) return refuse('invalid_arguments')
  const refused = checkChunks(parameters)
  if (refused) return refused
  if (world.gone.has(thread) || !world.message(channel, thread)) return refuse('thread_not_found')
  const posted = await world.ask(token, 'chat.postMessage', { channel, thread_ts: thread, text: ' ' })
  if (!posted.ok) return posted
  const stream = { channel, ts: posted.ts, open: true, mode: null, text: '', cards: new Map(), asker: user }
  world.streams.set(posted.ts, stream)
  take(world, stream, parameters)
  return { ok: true, channel, ts: posted.ts }
}

function streamOf(world, { channel, ts }) {
  const message = world.message(channel, ts)
  if (!message) return { refused: refuse('message_not_found') }
  if (message.user !== world.facts.bot) return { refused: refuse('message_not_owned_by_app') }
  const stream = world.streams.get(ts)
  if (stream?.stoppedByUser) return { refused: refuse('stopped_by_user') }
  return stream?.open ? { stream } : { refused: refuse('message_not_in_streaming_state') }
}

function append(world, _token, parameters) {
  const { stream, refused } = streamOf(world, parameters)
  if (refused) return refused
  if (parameters.markdown_text === undefined && parameters.chunks === undefined) return refuse('invalid_arguments')
  return checkChunks(parameters) ?? take(world, stream, parameters) ?? { ok: true, channel: stream.channel, ts: stream.ts }
}

function stop(world, _token, parameters) {
  const { stream, refused } = streamOf(world, parameters)
  if (refused) return refused
  const wrong = checkChunks(parameters) ?? take(world, stream, parameters)
  if (wrong) return wrong
  stream.open = false
  if (parameters.metadata) world.rewrite(stream.channel, stream.ts, { metadata: parameters.metadata })
  return { ok: true, channel: stream.channel, ts: stream.ts }
}

export const STREAM_METHODS = { 'chat.startStream': start, 'chat.appendStream': append, 'chat.stopStream': stop }

// What an edit or a deletion of a stream is refused for. An edit replaces rich text by rich text alone.
export function refusedFor(world, method, { channel, ts, blocks = [] }) {
  const stream = world.streams.get(ts)
  if (!stream || !world.message(channel, ts) || !['chat.update', 'chat.delete'].includes(method)) return null
  if (stream.open) return refuse(method === 'chat.update' ? 'streaming_state_conflict' : 'cant_delete_message')
  if (method === 'chat.update' && !blocks.some(({ type }) => ['markdown', 'rich_text'].includes(type))) {
    return refuse('block_mismatch')
  }
  return null
}

export const streamingState = (world, ts) => {
  const stream = world.streams.get(ts)
  return stream ? { streaming_state: stream.open ? 'in_progress' : 'completed' } : {}
}
