-- name: session_open
INSERT INTO sessions (key, id, agent, created_at, shelf, kind) VALUES (:key, :id, :agent, :now, :shelf, :kind)
ON CONFLICT (key) DO UPDATE SET shelf = coalesce(shelf, :shelf), kind = iif(shelf IS NULL, :kind, kind)
RETURNING *

-- name: session_of
SELECT * FROM sessions WHERE key = :key

-- name: sessions_live
SELECT * FROM sessions WHERE started_at IS NOT NULL AND shelf IS NOT NULL ORDER BY key

-- name: session_end
INSERT INTO endings (session, key, agent, shelf, cause, ended_at)
SELECT id, key, agent, coalesce(shelf, :shelf), :cause, :now FROM sessions
WHERE key = :key AND started_at IS NOT NULL

-- name: session_renew
UPDATE sessions SET id = :id, created_at = :now, shelf = coalesce(:shelf, shelf), started_at = NULL, last_user_at = NULL,
                    opened_by = :opened_by
WHERE key = :key
RETURNING *

-- name: session_touch
WITH touching AS (
    SELECT seq, session, platform, received_at, origin FROM inbox
    WHERE seq IN (SELECT value FROM json_each(:seqs)) AND turn IS NOT NULL
)
UPDATE sessions SET
    started_at = coalesce(started_at, (SELECT min(received_at) FROM touching WHERE session = key)),
    last_user_at = coalesce(
        max(last_user_at, (SELECT max(received_at) FROM touching WHERE session = key AND origin = 'chat')),
        last_user_at,
        (SELECT max(received_at) FROM touching WHERE session = key AND origin = 'chat')
    ),
    platform = coalesce(
        (SELECT platform FROM touching WHERE session = key AND origin = 'chat' ORDER BY seq DESC LIMIT 1),
        nullif(platform, ''),
        (SELECT platform FROM touching WHERE session = key ORDER BY seq DESC LIMIT 1)
    )
WHERE key IN (SELECT session FROM touching)
RETURNING *

-- name: settings_all
SELECT key, settings FROM sessions WHERE settings <> '{}'

-- name: settings_set
UPDATE sessions SET settings = :settings WHERE key = :key

-- name: endings_due
SELECT session, key, agent, shelf, cause, ended_at, attempts, error FROM endings
WHERE not_before <= :now ORDER BY ended_at, session

-- name: endings_all
SELECT session, key, agent, shelf, cause, ended_at, attempts, error FROM endings ORDER BY ended_at, session

-- name: endings_next
SELECT min(not_before) AS not_before FROM endings

-- name: ending_put_back
UPDATE endings SET attempts = attempts + 1, not_before = :not_before, error = :error WHERE session = :session

-- name: ending_done
DELETE FROM endings WHERE session = :session
