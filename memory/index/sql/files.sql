-- name: files_all
SELECT id, path, shelf, source, hash, mtime_ns, size, inode, settled, cut, problem FROM files

-- name: file_at
SELECT id, path, shelf, source, hash, mtime_ns, size, inode, settled, cut, problem FROM files WHERE path = :path

-- name: file_put
INSERT INTO files (path, shelf, source, hash, mtime_ns, size, inode, settled, cut, problem)
VALUES (:path, :shelf, :source, :hash, :mtime_ns, :size, :inode, :settled, :cut, :problem)
ON CONFLICT (path) DO UPDATE SET
    shelf = excluded.shelf, source = excluded.source, hash = excluded.hash, mtime_ns = excluded.mtime_ns,
    size = excluded.size, inode = excluded.inode, settled = excluded.settled, cut = excluded.cut, problem = excluded.problem
RETURNING id

-- name: file_stamp
UPDATE files SET mtime_ns = :mtime_ns, size = :size, inode = :inode, settled = :settled WHERE id = :id

-- name: file_delete
DELETE FROM files WHERE id = :id

-- name: file_problems
SELECT path, problem FROM files WHERE problem IS NOT NULL

-- name: chunk_last_id
SELECT coalesce(max(id), 0) AS id FROM chunks

-- name: entry_last_id
SELECT coalesce(max(id), 0) AS id FROM entries

-- name: chunk_put
INSERT INTO chunks (id, file, shelf, start_line, end_line, text, terms, length, language, hash)
VALUES (:id, :file, :shelf, :start_line, :end_line, :text, :terms, :length, :language, :hash)

-- name: entry_put
INSERT INTO entries (id, file, shelf, ordinal, start_line, end_line, lead, text, terms, length, language, hash)
VALUES (:id, :file, :shelf, :ordinal, :start_line, :end_line, :lead, :text, :terms, :length, :language, :hash)

-- name: chunk_words_put
INSERT INTO chunks_fts (rowid, shelf, terms) VALUES (:id, :shelf_term, :terms)

-- name: entry_words_put
INSERT INTO entries_fts (rowid, shelf, terms) VALUES (:id, :shelf_term, :terms)

-- name: chunk_passages
SELECT id, hash, terms FROM chunks WHERE file = :file

-- name: entry_passages
SELECT id, hash, terms FROM entries WHERE file = :file

-- name: chunk_words_delete
DELETE FROM chunks_fts WHERE rowid IN (SELECT id FROM chunks WHERE file = :file)

-- name: entry_words_delete
DELETE FROM entries_fts WHERE rowid IN (SELECT id FROM entries WHERE file = :file)

-- name: chunk_delete
DELETE FROM chunks WHERE file = :file

-- name: entry_delete
DELETE FROM entries WHERE file = :file

-- name: frequency_add
INSERT INTO frequencies (term, shelf, chunks, entries) VALUES (:term, :shelf, :chunks, :entries)
ON CONFLICT DO UPDATE SET chunks = chunks + excluded.chunks, entries = entries + excluded.entries

-- name: frequency_forget
DELETE FROM frequencies WHERE term = :term AND shelf = :shelf AND chunks = 0 AND entries = 0

-- name: counts
SELECT
    (SELECT count(*) FROM files WHERE problem IS NULL) AS files,
    (SELECT coalesce(sum(count), 0) FROM totals WHERE kind = 'chunk') AS chunks,
    (SELECT coalesce(sum(count), 0) FROM totals WHERE kind = 'entry') AS entries

-- name: chunks_fts_optimize
INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize') -- what was deleted stays in the words' segments until they are merged

-- name: entries_fts_optimize
INSERT INTO entries_fts (entries_fts) VALUES ('optimize')
