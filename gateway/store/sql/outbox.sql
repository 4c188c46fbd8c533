-- name: outbox_insert
INSERT INTO outbox (platform, account, chat, thread, reply_to, purpose, text, file_name, file_path, answers, choices,
                    state, created_at)
VALUES (:platform, :account, :chat, :thread, :reply_to, :purpose, :text, :file_name, :file_path, :answers, :choices,
        'ready', :now)

-- name: outbox_next
-- A removal that failed once holds up nothing that anybody waits for.
SELECT seq, platform, account, chat, thread, reply_to, purpose, text, file_name, file_path, answers, choices,
       attempts, plain, doubtful, created_at, platform_id, removes, begun
FROM outbox
WHERE platform = :platform AND account = :account AND chat = :chat
  AND state = 'ready' AND state IN ('ready', 'sending', 'unknown') -- the index of what is open names these
ORDER BY removes AND error IS NOT NULL, coalesce(position, seq), seq LIMIT 1

-- name: outbox_chats
SELECT platform, account, chat, max(not_before) AS not_before FROM outbox
WHERE state IN ('ready', 'sending', 'unknown') AND (state = 'ready' OR turn IS NOT NULL)
GROUP BY platform, account, chat

-- name: outbox_files
SELECT file_path FROM outbox WHERE state IN ('ready', 'sending', 'unknown') AND file_path IS NOT NULL

-- name: outbox_changed
-- Whichever account of ours sent it: what one of them writes, another one hears.
SELECT iif(state IN ('ready', 'sending'), :now, coalesce(sent_at, created_at)) AS changed_at FROM outbox
WHERE platform = :platform AND chat = :chat AND platform_id = :message_id
ORDER BY seq DESC LIMIT 1

-- name: outbox_sending
UPDATE outbox SET state = 'sending', attempts = attempts + 1 WHERE seq = :seq AND state = 'ready'

-- name: outbox_sent
UPDATE outbox SET state = 'sent', platform_id = :platform_id, sent_at = :now, doubtful = :doubtful, error = NULL
WHERE seq = :seq

-- name: outbox_again
UPDATE outbox SET state = 'ready', not_before = :not_before, plain = :plain, thread = :thread, reply_to = :reply_to,
                  doubtful = :doubtful, begun = :begun, choices = :choices, error = :error
WHERE seq = :seq

-- name: outbox_settle
UPDATE outbox SET choices = '[]'
WHERE choices <> '[]' AND text IS NOT NULL AND seq = (
    SELECT max(seq) FROM outbox
    WHERE platform = :platform AND account = :account AND chat = :chat AND platform_id = :platform_id AND state = 'sent'
)
RETURNING seq, platform, account, chat, thread, reply_to, purpose, text, file_name, file_path, answers, choices,
          attempts, plain, doubtful, created_at, platform_id, removes, begun

-- name: outbox_failed
UPDATE outbox SET state = 'failed', error = :error WHERE seq = :seq

-- name: outbox_unknown
UPDATE outbox SET state = 'unknown', error = :error WHERE seq = :seq

-- name: outbox_repeat_edits
UPDATE outbox SET state = 'ready'
WHERE state = 'sending' AND state IN ('ready', 'sending', 'unknown') AND turn IS NULL
  AND (platform_id IS NOT NULL OR removes = 1)

-- name: outbox_repeat_interrupted
UPDATE outbox SET state = 'ready', doubtful = 1, error = 'the process ended while this part was being sent'
WHERE state = 'sending' AND state IN ('ready', 'sending', 'unknown') AND turn IS NULL

-- name: outbox_release_held
UPDATE outbox SET state = 'ready', doubtful = 1 WHERE state = 'unknown' AND created_at >= :since AND text IS NOT NULL

-- name: outbox_retext
UPDATE outbox SET text = :text, state = 'ready', answers = :answers, choices = :choices WHERE seq = :seq

-- name: outbox_room
SELECT min(1.0, coalesce(min(coalesce(next.position, next.seq)) - coalesce(this.position, this.seq), 1.0)) AS room
FROM outbox AS this LEFT JOIN outbox AS next
  ON next.platform = this.platform AND next.account = this.account AND next.chat = this.chat
 AND next.state IN ('ready', 'sending', 'unknown')
 AND coalesce(next.position, next.seq) > coalesce(this.position, this.seq)
WHERE this.seq = :seq

-- name: outbox_insert_after
INSERT INTO outbox (platform, account, chat, thread, purpose, text, answers, choices, position, plain, state, created_at)
SELECT platform, account, chat, thread, purpose, :text, :answers, :choices, coalesce(position, seq) + :offset, plain,
       'ready', created_at
FROM outbox WHERE seq = :like

-- name: outbox_counts
SELECT state, count(*) AS rows, min(created_at) AS oldest FROM outbox
WHERE state IN ('ready', 'sending', 'unknown') GROUP BY state

-- name: outbox_failures
SELECT count(*) AS rows FROM outbox WHERE state = 'failed' AND removes = 0 AND created_at >= :since

-- name: outbox_last_failure
SELECT platform, account, chat, thread, error FROM outbox
WHERE state = 'failed' AND removes = 0 AND created_at >= :since ORDER BY seq DESC LIMIT 1

-- name: outbox_doubtful
SELECT count(*) AS rows FROM outbox WHERE doubtful = 1 AND state = 'sent' AND created_at >= :since

-- name: outbox_forget_texts
UPDATE outbox SET text = NULL, choices = '[]'
WHERE text IS NOT NULL AND state IN ('sent', 'failed', 'unknown') AND created_at < :before

-- name: outbox_forget_rows
DELETE FROM outbox WHERE state IN ('sent', 'failed', 'unknown') AND created_at < :before
