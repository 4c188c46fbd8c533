-- name: inbox_insert
INSERT INTO inbox (platform, account, chat, message_id, thread, session, state, outcome, turn, attempts,
                   received_at, closed_at, message, origin, heard, sender)
VALUES (:platform, :account, :chat, :message_id, :thread, :session, :state, :outcome, :turn, :turn IS NOT NULL,
        :now, CASE WHEN :state = 'closed' THEN :now END, :message, :origin, :heard, :sender)
ON CONFLICT (platform, account, chat, message_id) DO NOTHING
RETURNING seq

-- name: inbox_find
SELECT seq, state, session, received_at, message FROM inbox
WHERE platform = :platform AND account = :account AND chat = :chat AND message_id = :message_id

-- name: inbox_take_up_ignored
UPDATE inbox SET state = 'received', session = :session, message = :message
WHERE seq = :seq AND state = 'ignored'

-- name: inbox_reword
UPDATE inbox SET message = :message WHERE seq = :seq AND state IN ('received', 'ignored')

-- name: inbox_withdraw
UPDATE inbox SET state = 'ignored', message = :message, heard = :heard WHERE seq = :seq AND state = 'received'

-- name: inbox_rehear
UPDATE inbox SET message = :message, heard = :heard WHERE seq = :seq AND state = 'ignored' AND message IS NOT NULL

-- name: inbox_place
SELECT platform, account, chat, thread, message_id, confirmed, origin, session, turn FROM inbox WHERE seq = :seq

-- name: inbox_told_before
-- In a chat itself also what opened a thread, which stands where the chat goes on.
SELECT seq FROM (
    SELECT * FROM (
        SELECT seq FROM inbox
        WHERE platform = :platform AND account = :account AND chat = :chat AND thread IS :thread
          AND (turn IS NOT NULL OR confirmed > 0) AND origin = 'chat' AND seq < :seq
        ORDER BY seq DESC LIMIT 1
    )
    UNION ALL
    SELECT * FROM (
        SELECT seq FROM inbox
        WHERE platform = :platform AND account = :account AND chat = :chat AND thread = message_id
          AND (turn IS NOT NULL OR confirmed > 0) AND origin = 'chat' AND seq < :seq AND :thread IS NULL
        ORDER BY seq DESC LIMIT 1
    )
)
ORDER BY seq DESC LIMIT 1

-- name: inbox_told_later
-- A message that an edit made one for us stands where it was written: what came before it was told with a later one.
SELECT seq FROM inbox
WHERE session = :session AND seq > :seq AND state <> 'ignored'
  AND platform = :platform AND account = :account AND chat = :chat AND (turn IS NOT NULL OR confirmed > 0)
  AND origin = 'chat' AND turn IS NOT :turn AND state = 'closed'
LIMIT 1

-- name: inbox_overheard
-- With what a thread hangs on, if that was said to nobody of us.
SELECT seq, message FROM (
    SELECT * FROM (
        SELECT seq, message FROM inbox
        WHERE platform = :platform AND account = :account AND chat = :chat AND thread IS :thread
          AND heard = 1 AND message IS NOT NULL AND state = 'ignored' AND seq > :since AND seq < :seq
        ORDER BY seq DESC LIMIT :most
    )
    UNION
    SELECT seq, message FROM inbox
    WHERE platform = :platform AND account = :account AND chat = :chat AND message_id = :thread
      AND heard = 1 AND message IS NOT NULL AND state = 'ignored' AND seq > :since AND seq < :seq
)
ORDER BY seq DESC LIMIT :most

-- name: inbox_thread_is_ours
SELECT 1 FROM inbox
WHERE platform = :platform AND account = :account AND chat = :chat AND message_id = :thread AND state <> 'ignored'
UNION ALL
SELECT 1 FROM outbox
WHERE platform = :platform AND account = :account AND chat = :chat AND platform_id = :thread
LIMIT 1

-- name: inbox_open
SELECT seq, session, turn, attempts, message, received_at, confirmed FROM inbox
WHERE state IN ('received', 'running') AND (received_at >= :since OR confirmed > 0 OR origin = 'reminder')
ORDER BY seq

-- name: inbox_old
SELECT seq FROM inbox
WHERE state IN ('received', 'running') AND received_at < :since AND confirmed = 0 AND origin = 'chat'

-- name: inbox_drop_old
UPDATE inbox SET state = 'closed', outcome = 'dropped', closed_at = :now
WHERE state IN ('received', 'running') AND received_at < :since AND confirmed = 0 AND origin = 'chat'

-- name: inbox_drop_heartbeats
UPDATE inbox SET state = 'closed', outcome = 'dropped', closed_at = :now
WHERE state IN ('received', 'running') AND origin = 'heartbeat'

-- name: inbox_newest_chat
SELECT platform, account, chat, thread FROM inbox
WHERE session IN (SELECT value FROM json_each(:sessions)) AND state <> 'ignored' AND origin = 'chat'
  AND (platform, sender) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:people))
ORDER BY seq DESC LIMIT 1

-- name: inbox_last_chat
SELECT platform, account, chat, thread, session FROM inbox
WHERE session IN (SELECT value FROM json_each(:sessions)) AND state <> 'ignored' AND origin = 'chat'
  AND (platform, sender) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:people))
ORDER BY platform = 'terminal', seq DESC LIMIT 1

-- name: inbox_start
UPDATE inbox SET state = 'running', turn = :turn, attempts = attempts + 1
WHERE seq = :seq AND state IN ('received', 'running')
RETURNING seq, session, turn, attempts, message, received_at, confirmed

-- name: inbox_of_turn
SELECT seq FROM inbox WHERE turn = :turn

-- name: inbox_confirm
UPDATE inbox SET confirmed = 1 WHERE seq = :seq AND confirmed = 0

-- name: inbox_withhold
UPDATE inbox SET confirmed = 2 WHERE seq = :seq AND confirmed = 1 AND state = 'received' AND NOT EXISTS (
    SELECT 1 FROM sessions WHERE key = inbox.session AND opened_by = inbox.seq
)

-- name: inbox_close_command
UPDATE inbox SET state = 'closed', outcome = iif(confirmed = 2, 'stopped', 'replied'), closed_at = :now
WHERE seq = :seq AND state = 'received' AND (:closes OR confirmed = 2)

-- name: inbox_close
UPDATE inbox SET state = 'closed', outcome = :outcome, closed_at = :now
WHERE seq = :seq AND state IN ('received', 'running')

-- name: inbox_close_turn
UPDATE inbox SET state = 'closed', outcome = :outcome, closed_at = :now
WHERE turn = :turn AND state = 'running'

-- name: inbox_last_seen
-- From one place to the next, and of each the newest: as many steps as there are places, however much was said there.
WITH RECURSIVE place (seq) AS (
    SELECT * FROM (
        SELECT seq FROM inbox WHERE platform = :platform AND account = :account AND origin = 'chat'
        ORDER BY chat, coalesce(thread, '') LIMIT 1
    )
    UNION ALL
    SELECT coalesce(
        (
            SELECT next.seq FROM inbox AS next
            WHERE next.platform = :platform AND next.account = :account AND next.origin = 'chat'
              AND next.chat = this.chat AND coalesce(next.thread, '') > coalesce(this.thread, '')
            ORDER BY coalesce(next.thread, '') LIMIT 1
        ),
        (
            SELECT next.seq FROM inbox AS next
            WHERE next.platform = :platform AND next.account = :account AND next.origin = 'chat' AND next.chat > this.chat
            ORDER BY next.chat, coalesce(next.thread, '') LIMIT 1
        )
    )
    FROM place JOIN inbox AS this ON this.seq = place.seq
)
SELECT this.chat, this.thread, (
    SELECT newest.message_id FROM inbox AS newest
    WHERE newest.platform = :platform AND newest.account = :account AND newest.origin = 'chat'
      AND newest.chat = this.chat AND coalesce(newest.thread, '') = coalesce(this.thread, '')
    ORDER BY length(newest.message_id) DESC, newest.message_id DESC LIMIT 1
) AS message_id
FROM place JOIN inbox AS this ON this.seq = place.seq

-- name: inbox_counts
SELECT state, count(*) AS rows FROM inbox WHERE state IN ('received', 'running') GROUP BY state

-- name: inbox_forget_texts
UPDATE inbox SET message = NULL
WHERE message IS NOT NULL AND state IN ('closed', 'ignored') AND received_at < :before

-- name: inbox_forget_rows
-- The newest row of each chat stays: of a private chat, nothing else says that it is one to catch up with.
DELETE FROM inbox WHERE state IN ('closed', 'ignored') AND received_at < :before AND (
    thread IS NOT NULL OR origin <> 'chat' OR seq <> (
        SELECT newest.seq FROM inbox AS newest
        WHERE newest.platform = inbox.platform AND newest.account = inbox.account AND newest.chat = inbox.chat
          AND coalesce(newest.thread, '') = '' AND newest.origin = 'chat'
        ORDER BY length(newest.message_id) DESC, newest.message_id DESC LIMIT 1
    )
)

-- name: dead_letter_insert
INSERT INTO dead_letters (platform, account, raw, error, received_at)
VALUES (:platform, :account, :raw, :error, :now)

-- name: dead_letters_forget
DELETE FROM dead_letters WHERE received_at < :before

-- name: alias_insert
INSERT INTO chat_aliases (platform, account, chat, first) VALUES (:platform, :account, :chat, :first)
ON CONFLICT (platform, account, chat) DO NOTHING

-- name: alias_names
SELECT chat FROM chat_aliases WHERE platform = :platform AND account = :account AND first = (
    SELECT first FROM chat_aliases WHERE platform = :platform AND account = :account AND chat = :chat
)
UNION
SELECT first FROM chat_aliases WHERE platform = :platform AND account = :account AND chat = :chat

-- name: aliases
SELECT platform, account, chat, first FROM chat_aliases
