-- name: inbox_traces
SELECT seq, message AS text FROM inbox
WHERE message IS NOT NULL AND state IN ('closed', 'ignored') AND (:session IS NULL OR session = :session)

-- name: outbox_traces
SELECT seq, text FROM outbox
WHERE text IS NOT NULL AND state IN ('sent', 'failed', 'unknown') AND (:session IS NULL OR (platform, account, chat) IN (
    SELECT platform, account, chat FROM inbox WHERE session = :session
))

-- name: dead_letter_traces
SELECT seq, raw AS text FROM dead_letters WHERE :session IS NULL

-- name: inbox_blank
UPDATE inbox SET message = NULL WHERE seq = :seq AND state IN ('closed', 'ignored')

-- name: outbox_blank
UPDATE outbox SET text = NULL, choices = '[]' WHERE seq = :seq AND state IN ('sent', 'failed', 'unknown')

-- name: dead_letter_blank
DELETE FROM dead_letters WHERE seq = :seq

-- name: reminder_traces
SELECT id AS seq, text FROM reminders WHERE agent = :agent AND (:session IS NULL OR session = :session)

-- name: reminder_blank
DELETE FROM reminders WHERE id = :seq
