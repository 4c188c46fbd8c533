-- name: draft_of
SELECT seq, platform, account, chat, thread, reply_to, platform_id FROM outbox WHERE turn = :turn

-- name: draft_insert
INSERT INTO outbox (platform, account, chat, thread, reply_to, purpose, answers, state, attempts, created_at, turn, begun)
SELECT :platform, :account, :chat, :thread, :reply_to, 'reply', '[]', 'sending', 1, :now, :turn, 1
WHERE EXISTS (SELECT 1 FROM inbox WHERE turn = :turn AND state = 'running')

-- name: draft_placed
UPDATE outbox SET platform_id = :platform_id, doubtful = 0 WHERE seq = :seq

-- name: draft_delete
DELETE FROM outbox WHERE seq = :seq AND (turn IS NOT NULL OR removes = 1)

-- name: draft_unplaced
UPDATE outbox SET doubtful = 0, begun = 0 WHERE seq = :seq AND state = 'ready'

-- name: draft_refused
UPDATE outbox SET not_before = :not_before WHERE seq = :seq

-- name: draft_adopt
UPDATE outbox SET state = 'ready', turn = NULL, text = :text, answers = :answers, choices = :choices, purpose = :purpose,
                  doubtful = platform_id IS NULL
WHERE seq = :seq

-- name: drafts_discard
UPDATE outbox SET state = 'ready', turn = NULL, removes = 1
WHERE turn IS NOT NULL AND turn NOT IN (
    SELECT turn FROM inbox WHERE state IN ('received', 'running') AND turn IS NOT NULL
)

-- name: draft_detach
-- Another row, since platforms know a message again by its key.
INSERT INTO outbox (platform, account, chat, thread, reply_to, purpose, text, file_name, file_path, answers, choices,
                    position, state, attempts, plain, error, created_at)
SELECT platform, account, chat, thread, reply_to, purpose, text, file_name, file_path, answers, choices,
       coalesce(position, seq), 'ready', attempts, plain, :error, created_at
FROM outbox WHERE seq = :seq

-- name: draft_discard_detached
-- After all that waits: until then it may be all that the chat has, and an archived thread has to be opened first.
UPDATE outbox SET state = 'ready', removes = 1, text = NULL, answers = '[]', choices = '[]', created_at = :now,
                  position = (SELECT max(seq) FROM outbox)
WHERE seq = :seq

-- name: draft_forget_detached
DELETE FROM outbox WHERE seq = :seq
