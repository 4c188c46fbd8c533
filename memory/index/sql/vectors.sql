-- CROSS JOIN, here, tells SQLite to begin with the table on the left: it does not know how large these are.

-- name: serving_set
INSERT INTO meta (key, value) VALUES ('serving', :identity) ON CONFLICT DO UPDATE SET value = excluded.value

-- name: serving_delete
DELETE FROM meta WHERE key = 'serving'

-- name: embedder_in_use
SELECT identity, embedder, dimension, calibration FROM embedders
WHERE identity = (SELECT value FROM meta WHERE key = 'serving')

-- name: embedder_known
SELECT identity, embedder, dimension, calibration FROM embedders
WHERE embedder = :embedder AND identity NOT LIKE '%/former'
ORDER BY identity = (SELECT value FROM meta WHERE key = 'serving') LIMIT 1

-- name: embedder_put
INSERT OR REPLACE INTO embedders (identity, embedder, dimension, calibration)
VALUES (:identity, :embedder, :dimension, :calibration)

-- name: embedders_prune
DELETE FROM embedders
WHERE identity <> :identity AND identity IS NOT (SELECT value FROM meta WHERE key = 'serving')

-- name: embedder_delete
DELETE FROM embedders WHERE identity = :identity

-- name: embedder_rename
UPDATE embedders SET identity = :former WHERE identity = :identity

-- name: cache_rename
UPDATE identities SET identity = :former WHERE identity = :identity

-- name: cache_prune_embedders
DELETE FROM embedding_cache
WHERE model NOT IN (SELECT i.id FROM identities i JOIN embedders e ON e.identity = i.identity);
DELETE FROM identities WHERE identity NOT IN (SELECT identity FROM embedders)

-- name: cache_prune
DELETE FROM embedding_cache
WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = embedding_cache.hash)
    AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.hash = embedding_cache.hash)

-- name: cache_prune_hash
DELETE FROM embedding_cache
WHERE model IN (SELECT id FROM identities) AND hash = :hash
    AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.hash = :hash)
    AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.hash = :hash)

-- name: cache_known
INSERT INTO identities (identity) VALUES (:identity) ON CONFLICT DO NOTHING

-- name: cache_put
INSERT INTO embedding_cache (model, hash, vector)
SELECT (SELECT id FROM identities WHERE identity = :identity), :hash, :vector
WHERE EXISTS (SELECT 1 FROM chunks WHERE hash = :hash) OR EXISTS (SELECT 1 FROM entries WHERE hash = :hash)
ON CONFLICT DO NOTHING

-- name: chunk_tables
DROP TABLE IF EXISTS chunks_vec;
CREATE VIRTUAL TABLE chunks_vec USING vec0 (shelf TEXT PARTITION KEY, embedding bit[{bits}], chunk_size = 256)

-- name: entry_tables
DROP TABLE IF EXISTS entries_vec;
CREATE VIRTUAL TABLE entries_vec USING vec0 (shelf TEXT PARTITION KEY, embedding bit[{bits}], chunk_size = 256)

-- name: signs_changed
INSERT INTO meta (key, value) VALUES ('signs', hex(randomblob(16))) ON CONFLICT DO UPDATE SET value = excluded.value

-- name: chunk_signs_put
INSERT INTO chunks_vec (rowid, shelf, embedding) VALUES (:id, :shelf, vec_bit(:signs))

-- name: entry_signs_put
INSERT INTO entries_vec (rowid, shelf, embedding) VALUES (:id, :shelf, vec_bit(:signs))

-- name: chunk_signs_delete
DELETE FROM chunks_vec WHERE rowid = :id

-- name: entry_signs_delete
DELETE FROM entries_vec WHERE rowid = :id

-- name: chunk_with_hash
SELECT id, shelf, language FROM chunks WHERE hash = :hash

-- name: entry_with_hash
SELECT id, shelf, language FROM entries WHERE hash = :hash

-- name: chunk_cached_of_file
SELECT p.id, p.shelf, p.language, v.vector FROM chunks p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
WHERE p.file = :file

-- name: entry_cached_of_file
SELECT p.id, p.shelf, p.language, v.vector FROM entries p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
WHERE p.file = :file

-- name: chunk_cached_of_language
SELECT p.id, p.shelf, p.language, v.vector FROM chunks p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
WHERE p.id > :after AND p.language = :language ORDER BY p.id LIMIT :most

-- name: entry_cached_of_language
SELECT p.id, p.shelf, p.language, v.vector FROM entries p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
WHERE p.id > :after AND p.language = :language ORDER BY p.id LIMIT :most

-- name: chunk_cached_counts
SELECT p.language, count(*) AS count FROM chunks p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
GROUP BY p.language

-- name: entry_cached_counts
SELECT p.language, count(*) AS count FROM entries p
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash
GROUP BY p.language

-- name: centres_counts
SELECT kind, language, count FROM centres

-- name: centre_put
INSERT OR REPLACE INTO centres (kind, language, count, vector) VALUES (:kind, :language, :count, :vector)

-- name: centres_delete
DELETE FROM centres

-- name: chunk_pending
SELECT p.hash, p.text FROM files f CROSS JOIN chunks p ON p.file = f.id
WHERE NOT EXISTS (
    SELECT 1 FROM embedding_cache v
    WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash)
ORDER BY f.mtime_ns DESC LIMIT :most

-- name: entry_pending
SELECT p.hash, p.text FROM files f CROSS JOIN entries p ON p.file = f.id
WHERE NOT EXISTS (
    SELECT 1 FROM embedding_cache v
    WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash)
ORDER BY f.mtime_ns DESC LIMIT :most

-- name: chunk_pending_of_file
SELECT p.hash, p.text FROM files f CROSS JOIN chunks p ON p.file = f.id
WHERE f.path = :path
    AND NOT EXISTS (
        SELECT 1 FROM embedding_cache v
        WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash)
ORDER BY p.id

-- name: entry_pending_of_file
SELECT p.hash, p.text FROM files f CROSS JOIN entries p ON p.file = f.id
WHERE f.path = :path
    AND NOT EXISTS (
        SELECT 1 FROM embedding_cache v
        WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash)
ORDER BY p.id

-- name: pending_count
SELECT
    (SELECT count(*) FROM chunks p WHERE NOT EXISTS (
        SELECT 1 FROM embedding_cache v
        WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash))
    + (SELECT count(*) FROM entries p WHERE NOT EXISTS (
        SELECT 1 FROM embedding_cache v
        WHERE v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = p.hash)) AS pending,
    (SELECT coalesce(sum(count), 0) FROM totals) AS passages

-- name: paths_with_hash
SELECT f.path FROM files f JOIN chunks p ON p.file = f.id WHERE p.hash = :hash
UNION SELECT f.path FROM files f JOIN entries p ON p.file = f.id WHERE p.hash = :hash

-- name: centre_of
SELECT vector FROM centres WHERE kind = :kind AND language = :language
