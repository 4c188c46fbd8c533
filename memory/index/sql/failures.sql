-- name: embedder_failure
SELECT value FROM meta WHERE key = 'embedder_failure'

-- name: embedder_failure_put
INSERT INTO meta (key, value) VALUES ('embedder_failure', :value) ON CONFLICT DO UPDATE SET value = excluded.value

-- name: embedder_failure_delete
DELETE FROM meta WHERE key = 'embedder_failure'
