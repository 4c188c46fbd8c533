-- Everything here is derived from the transcripts and can be deleted at any time.

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,       -- its id, which is the file's name
    shelf TEXT NOT NULL,                -- as its first line says; the owner's where that cannot be read
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    read_to INTEGER NOT NULL,           -- the end of the last line that was read, in bytes
    mark BLOB NOT NULL,                 -- SHA-256 of what stands before that: other lines there mean another file
    turn TEXT,                          -- the turn of its last message
    cut TEXT NOT NULL                   -- how it was cut and analysed: another way means that it is read again
) STRICT;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    entry TEXT NOT NULL,
    time INTEGER NOT NULL,              -- microseconds since 1970, UTC
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    name TEXT,                          -- of whoever wrote it, where the agent was told
    turn TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX messages_by_file ON messages (file);

-- A message is found by its parts, because a word in a long text would weigh next to nothing.
CREATE TABLE parts (
    id INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    first INTEGER NOT NULL,             -- in characters of the text
    last INTEGER NOT NULL               -- exclusive
) STRICT;
CREATE INDEX parts_by_message ON parts (message);

-- Its row ids are those of `parts`. `shelf` holds one term that stands for the shelf. The `ascii` tokenizer takes the
-- analyser's terms as they are.
CREATE VIRTUAL TABLE words USING fts5 (shelf, terms, content = '', contentless_delete = 1, tokenize = 'ascii');
