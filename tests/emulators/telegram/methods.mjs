// The Bot API's methods, with the refusals of the real one where our promises depend on them.

const TEXT_LIMIT = 4096
const CAPTION_LIMIT = 1024
const DATA_LIMIT = 64 // bytes

export class Refusal extends Error {
  constructor(status, description, parameters) {
    super(description)
    Object.assign(this, { status, description, parameters })
  }
}

const bad = (description, parameters) => new Refusal(400, `Bad Request: ${description}`, parameters)

const describeBot = ({ token, username, reads_all: readsAll }) => ({
  id: Number(token.split(':')[0]),
  is_bot: true,
  first_name: username,
  username,
  can_join_groups: true,
  can_read_all_group_messages: Boolean(readsAll),
  supports_inline_queries: false,
})

function describeChat(id) {
  const kind = Number(id) < 0 ? { type: 'supergroup', title: 'Group' } : { type: 'private', first_name: 'Person' }
  return { id: Number(id), ...kind }
}

function checkEntities(text, entities = []) {
  const splits = (at) => /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
  for (const { offset, length } of entities) {
    const end = offset + length
    if (offset < 0 || length <= 0 || end > text.length) throw bad("can't parse entities: entity is outside of the text")
    if (splits(offset)) throw bad(`entity begins in a middle of a UTF-16 symbol at byte offset ${offset}`)
    if (splits(end)) throw bad(`entity ends in a middle of a UTF-16 symbol at byte offset ${end}`)
  }
}

function checkKeyboard({ inline_keyboard: rows = [] } = {}) {
  for (const { text, callback_data: data } of rows.flat()) {
    if (!text?.trim()) throw bad('text buttons are unallowed in the inline keyboard')
    if (!data || Buffer.byteLength(data) > DATA_LIMIT) throw bad('BUTTON_DATA_INVALID')
  }
}

function checkPlace(bot, { chat_id: chat, message_thread_id: thread }) {
  if (bot.moved.has(String(chat))) {
    const parameters = { migrate_to_chat_id: Number(bot.moved.get(String(chat))) }
    throw bad('group chat was upgraded to a supergroup chat', parameters)
  }
  if (String(thread) === '1' || bot.goneThreads.has(`${chat}/${thread}`)) throw bad('message thread not found')
}

function checkReply(state, reply) {
  if (!reply || reply.allow_sending_without_reply || state.knows(reply.message_id)) return
  throw bad('message to be replied not found')
}

function describeMessage(state, bot, id, parameters, content) {
  const topic = parameters.message_thread_id
    ? { message_thread_id: Number(parameters.message_thread_id), is_topic_message: true }
    : {}
  const date = Math.floor(Date.now() / 1000)
  return { message_id: id, date, from: describeBot(bot), chat: describeChat(parameters.chat_id), ...topic, ...content }
}

function sendMessage(state, bot, parameters) {
  const text = parameters.text ?? ''
  if (!text.trim()) throw bad('message text is empty')
  if (text.length > TEXT_LIMIT) throw bad('message is too long')
  checkEntities(text, parameters.entities)
  checkKeyboard(parameters.reply_markup)
  checkPlace(bot, parameters)
  checkReply(state, parameters.reply_parameters)
  bot.drafts.delete(String(parameters.chat_id))
  const id = state.addBotMessage(bot.token, parameters)
  return describeMessage(state, bot, id, parameters, { text, entities: parameters.entities ?? [] })
}

// As the real one: for private chats only, under an id that is not 0, and gone with the next message.
function sendMessageDraft(state, bot, parameters) {
  const text = parameters.text ?? ''
  if (Number(parameters.chat_id) < 0) throw bad('TEXTDRAFT_PEER_INVALID')
  if (!Number(parameters.draft_id)) throw bad('DRAFT_ID_INVALID')
  if (text.length > TEXT_LIMIT) throw bad('message is too long')
  checkEntities(text, parameters.entities)
  bot.drafts.set(String(parameters.chat_id), { draft_id: Number(parameters.draft_id), text })
  state.changed()
  return true
}

const sendFile = (kind) => (state, bot, parameters, uploads) => {
  const caption = parameters.caption ?? ''
  if (caption.length > CAPTION_LIMIT) throw bad('message caption is too long')
  checkEntities(caption, parameters.caption_entities)
  checkPlace(bot, parameters)
  checkReply(state, parameters.reply_parameters)
  const upload = uploads[kind]
  if (!upload || upload.bytes.length === 0) throw bad('file must be non-empty')
  if (kind === 'photo' && !isPicture(upload.bytes)) throw bad('IMAGE_PROCESS_FAILED')
  const file = { file_id: state.putFile(upload.bytes), file_size: upload.bytes.length }
  const id = state.addBotMessage(bot.token, { ...parameters, file: { ...file, kind, name: upload.name } })
  const described = { ...file, file_unique_id: file.file_id }
  const photo = { photo: [{ ...described, width: 1, height: 1 }] }
  const content = kind === 'photo' ? photo : { document: { ...described, file_name: upload.name } }
  return describeMessage(state, bot, id, parameters, { ...content, ...(caption && { caption }) })
}

const isPicture = (bytes) => ['89504e47', 'ffd8ff'].some((magic) => bytes.toString('hex').startsWith(magic))

function editMessageText(state, bot, parameters) {
  const entry = state.botMessages(bot.token).find((found) => String(found.messageId) === String(parameters.message_id))
  if (!entry) throw bad('message to edit not found')
  if (!parameters.text?.trim()) throw bad('message text is empty')
  if (parameters.text.length > TEXT_LIMIT) throw bad('message is too long')
  const keyboard = JSON.stringify(parameters.reply_markup)
  const isSame = entry.message.text === parameters.text && JSON.stringify(entry.message.reply_markup) === keyboard
  if (isSame) throw bad('message is not modified')
  checkEntities(parameters.text, parameters.entities)
  checkKeyboard(parameters.reply_markup)
  state.editBotMessage({ reply_markup: undefined, ...parameters }) // a keyboard that is not given again is taken off
  return describeMessage(state, bot, entry.messageId, parameters, { text: parameters.text })
}

async function getUpdates(state, bot, parameters, _uploads, gone) {
  const updates = await state.updates(bot.token, parameters, gone)
  if (updates) return updates
  const advice = 'make sure that only one bot instance is running'
  throw new Refusal(409, `Conflict: terminated by other getUpdates request; ${advice}`)
}

function getFile(state, _bot, { file_id: id }) {
  const bytes = state.files.get(id)
  if (!bytes) throw bad('wrong file_id or the file is temporarily unavailable')
  if (bytes.length > 20 * 1024 * 1024) throw bad('file is too big')
  return { file_id: id, file_unique_id: id, file_size: bytes.length, file_path: `documents/${id}` }
}

function deleteMessage(state, _bot, { chat_id: chat, message_id: id }) {
  if (!state.deleteMessage(chat, id)) throw bad('message to delete not found')
  return true
}

function answerCallbackQuery(_state, bot, { callback_query_id: id }) {
  if (!bot.presses.delete(id)) throw bad('query is too old and response timeout expired or query ID is invalid')
  return true
}

export const METHODS = {
  getMe: (_state, bot) => describeBot(bot),
  getUpdates,
  sendMessage,
  sendMessageDraft,
  sendDocument: sendFile('document'),
  sendPhoto: sendFile('photo'),
  editMessageText,
  deleteMessage,
  answerCallbackQuery,
  getFile,
  sendChatAction: (_state, bot, { chat_id: chat, message_thread_id: thread }) => {
    if (bot.goneThreads.has(`${chat}/${thread}`)) throw bad('message thread not found')
    return true
  },
  setMyCommands: () => true,
  setMessageReaction: () => true,
  deleteWebhook: () => true,
}
