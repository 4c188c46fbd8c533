-- name: totals
SELECT kind, sum(count) AS passages, sum(length) AS length
FROM totals WHERE :shelf IS NULL OR shelf = :shelf GROUP BY kind

-- name: frequencies
SELECT f.term, sum(f.chunks) AS chunk, sum(f.entries) AS entry FROM json_each(:terms) asked
CROSS JOIN frequencies f ON f.term = asked.value GROUP BY f.term

-- name: frequencies_on_shelf
SELECT f.term, f.chunks AS chunk, f.entries AS entry FROM json_each(:terms) asked
CROSS JOIN frequencies f ON f.term = asked.value AND f.shelf = :shelf

-- name: chunk_with_words
SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH :expression AND rank MATCH 'bm25(0.0, 1.0)' ORDER BY rank LIMIT :most

-- name: entry_with_words
SELECT rowid AS id FROM entries_fts WHERE entries_fts MATCH :expression AND rank MATCH 'bm25(0.0, 1.0)' ORDER BY rank LIMIT :most

-- name: signs_version
SELECT value FROM meta WHERE key = 'signs'

-- name: chunk_signs
SELECT p.validity, p.rowids, v.vectors FROM chunks_vec_chunks p
CROSS JOIN chunks_vec_vector_chunks00 v ON v.rowid = p.chunk_id

-- name: chunk_signs_on_shelf
SELECT p.validity, p.rowids, v.vectors FROM chunks_vec_chunks p
CROSS JOIN chunks_vec_vector_chunks00 v ON v.rowid = p.chunk_id WHERE p.partition00 = :shelf

-- name: entry_signs
SELECT p.validity, p.rowids, v.vectors FROM entries_vec_chunks p
CROSS JOIN entries_vec_vector_chunks00 v ON v.rowid = p.chunk_id

-- name: entry_signs_on_shelf
SELECT p.validity, p.rowids, v.vectors FROM entries_vec_chunks p
CROSS JOIN entries_vec_vector_chunks00 v ON v.rowid = p.chunk_id WHERE p.partition00 = :shelf

-- name: chunk_vectors
SELECT c.id, c.language, v.vector FROM json_each(:ids) wanted
CROSS JOIN chunks c ON c.id = wanted.value
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = c.hash

-- name: entry_vectors
SELECT e.id, e.language, v.vector FROM json_each(:ids) wanted
CROSS JOIN entries e ON e.id = wanted.value
CROSS JOIN embedding_cache v ON v.model = (SELECT id FROM identities WHERE identity = :identity) AND v.hash = e.hash

-- name: chunk_rows
SELECT id, file, 0 AS ordinal, start_line, end_line, terms, length, language FROM chunks
WHERE id IN (SELECT value FROM json_each(:ids)) AND (:shelf IS NULL OR shelf = :shelf)

-- name: entry_rows
SELECT id, file, ordinal, start_line, end_line, terms, length, language FROM entries
WHERE id IN (SELECT value FROM json_each(:ids)) AND (:shelf IS NULL OR shelf = :shelf)

-- name: entries_around
SELECT ordinal, start_line, end_line, lead, text FROM entries
WHERE file = :file AND ordinal BETWEEN :first AND :last AND (:shelf IS NULL OR shelf = :shelf) ORDER BY ordinal

-- name: entries_of_file
SELECT ordinal, start_line, end_line FROM entries WHERE file = :file AND (:shelf IS NULL OR shelf = :shelf) ORDER BY ordinal

-- name: chunk_text
SELECT start_line, end_line, text FROM chunks WHERE id = :id

-- name: found_files
SELECT id, path, source FROM files WHERE id IN (SELECT value FROM json_each(:ids))

-- name: centres_of
SELECT language, vector FROM centres WHERE kind = :kind

-- name: serving
SELECT value FROM meta WHERE key = 'serving'
