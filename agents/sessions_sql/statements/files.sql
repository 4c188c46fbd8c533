-- name: erase_what_is_deleted
PRAGMA secure_delete = ON

-- name: files_all
SELECT session, shelf, mtime_ns, size, inode, read_to, mark, turn, cut FROM files

-- name: file_put
INSERT INTO files (session, shelf, mtime_ns, size, inode, read_to, mark, turn, cut)
VALUES (:session, :shelf, :mtime_ns, :size, :inode, :read_to, :mark, :turn, :cut)
ON CONFLICT (session) DO UPDATE SET
    shelf = excluded.shelf, mtime_ns = excluded.mtime_ns, size = excluded.size, inode = excluded.inode,
    read_to = excluded.read_to, mark = excluded.mark, turn = excluded.turn, cut = excluded.cut
RETURNING id

-- name: file_delete
DELETE FROM files WHERE session = :session

-- name: words_delete
DELETE FROM words WHERE rowid IN (
    SELECT p.id FROM files f JOIN messages m ON m.file = f.id JOIN parts p ON p.message = m.id WHERE f.session = :session
)

-- name: parts_delete
DELETE FROM parts WHERE message IN (
    SELECT m.id FROM files f JOIN messages m ON m.file = f.id WHERE f.session = :session
)

-- name: messages_delete
DELETE FROM messages WHERE file = (SELECT id FROM files WHERE session = :session)

-- name: last_ids
SELECT (SELECT coalesce(max(id), 0) FROM messages) AS message, (SELECT coalesce(max(id), 0) FROM parts) AS part

-- name: message_put
INSERT INTO messages (id, file, entry, time, role, name, turn, text)
VALUES (:id, :file, :entry, :time, :role, :name, :turn, :text)

-- name: part_put
INSERT INTO parts (id, message, first, last) VALUES (:id, :message, :first, :last)

-- name: words_put
INSERT INTO words (rowid, shelf, terms) VALUES (:id, :shelf_term, :terms)

-- name: words_rewrite
INSERT INTO words (words) VALUES ('optimize')
