-- name: reminder_add
INSERT INTO reminders (agent, session, platform, account, chat, thread, kind, guild, chat_title, sender, sender_name,
                       text, rule, due_at, late_seconds, created_at, asked_by)
SELECT :agent, :session, :platform, :account, :chat, :thread, :kind, :guild, :chat_title, :sender, :sender_name,
       :text, :rule, :due_at, :late_seconds, :now, :asked_by
WHERE (SELECT count(*) FROM reminders WHERE platform = :platform AND account = :account AND chat = :chat) < :most
RETURNING *

-- name: reminder_asked
SELECT * FROM reminders WHERE asked_by = :asked_by

-- name: reminders_of
SELECT * FROM reminders
WHERE agent = :agent AND (session = :session OR (platform, sender) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:senders)
))
ORDER BY due_at, id

-- name: reminders_due
SELECT * FROM reminders WHERE due_at <= :now ORDER BY due_at, id

-- name: reminders_next
SELECT platform, account, min(due_at) AS due_at FROM reminders GROUP BY platform, account

-- name: reminder_move
UPDATE reminders SET due_at = :next_at WHERE id = :id AND due_at = :due_at

-- name: reminder_delete
DELETE FROM reminders WHERE id = :id AND due_at = :due_at

-- name: reminders_follow
UPDATE reminders SET chat = :chat
WHERE platform = :platform AND account = :account AND (chat = :first OR chat IN (
    SELECT a.chat FROM chat_aliases AS a
    WHERE a.platform = :platform AND a.account = :account AND a.first = :first
))
