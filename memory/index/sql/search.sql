-- name: totals
SELECT coalesce(sum(count), 0) AS passages, coalesce(sum(length), 0) AS length
FROM totals WHERE kind = :kind AND (:shelf IS NULL OR shelf = :shelf)

-- name: chunk_frequency
SELECT doc AS "having" FROM chunks_vocabulary WHERE term = :term AND col = 'terms'

-- name: entry_frequency
SELECT doc AS "having" FROM entries_vocabulary WHERE term = :term AND col = 'terms'

-- name: chunk_frequency_on_shelf
SELECT count(*) AS "having" FROM chunks_fts WHERE chunks_fts MATCH :expression

-- name: entry_frequency_on_shelf
SELECT count(*) AS "having" FROM entries_fts WHERE entries_fts MATCH :expression

-- name: chunk_with_words
SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH :expression AND rank MATCH 'bm25(0.0, 1.0)' ORDER BY rank LIMIT :most

-- name: entry_with_words
SELECT rowid AS id FROM entries_fts WHERE entries_fts MATCH :expression AND rank MATCH 'bm25(0.0, 1.0)' ORDER BY rank LIMIT :most

-- name: chunk_near
SELECT rowid AS id FROM chunks_vec WHERE embedding MATCH vec_bit(:signs) AND k = :most

-- name: entry_near
SELECT rowid AS id FROM entries_vec WHERE embedding MATCH vec_bit(:signs) AND k = :most

-- name: chunk_near_on_shelf
SELECT rowid AS id FROM chunks_vec WHERE embedding MATCH vec_bit(:signs) AND k = :most AND shelf = :shelf

-- name: entry_near_on_shelf
SELECT rowid AS id FROM entries_vec WHERE embedding MATCH vec_bit(:signs) AND k = :most AND shelf = :shelf

-- name: chunk_vectors
SELECT c.id, c.language, v.vector FROM json_each(:ids) wanted
CROSS JOIN chunks c ON c.id = wanted.value
CROSS JOIN embedding_cache v ON v.identity = :identity AND v.hash = c.hash

-- name: entry_vectors
SELECT e.id, e.language, v.vector FROM json_each(:ids) wanted
CROSS JOIN entries e ON e.id = wanted.value
CROSS JOIN embedding_cache v ON v.identity = :identity AND v.hash = e.hash

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
