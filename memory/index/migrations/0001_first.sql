-- Everything here is derived from the files and can be deleted at any time.

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,          -- relative to the workspace, absolute for a file of an extra path
    shelf TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('memory', 'extra')),
    hash BLOB NOT NULL,                 -- SHA-256 of the content
    mtime_ns INTEGER NOT NULL,
    size INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    settled INTEGER NOT NULL DEFAULT 1, -- 0: read so soon after a change that another one may not show in the stamp
    cut TEXT NOT NULL,                  -- how it was cut and analysed: another way means that it is indexed again
    problem TEXT                        -- why nothing of it is indexed
) STRICT;
CREATE INDEX files_by_time ON files (mtime_ns DESC);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    shelf TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    text TEXT NOT NULL,
    terms TEXT NOT NULL,                -- of the text, then of the headings above an entry and of the file's date; two blanks apart
    length INTEGER NOT NULL,            -- how many of them are the text's own
    language TEXT NOT NULL,
    hash BLOB NOT NULL                  -- SHA-256 of what is embedded
) STRICT;
CREATE INDEX chunks_by_file ON chunks (file);
CREATE INDEX chunks_by_hash ON chunks (hash);

CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    shelf TEXT NOT NULL,
    ordinal INTEGER NOT NULL,           -- from 0, in the order of the file
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    lead TEXT NOT NULL,                 -- what stands between the entry before and this one: line ends, headings
    text TEXT NOT NULL,
    terms TEXT NOT NULL,
    length INTEGER NOT NULL,
    language TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX entries_by_file ON entries (file, ordinal);
CREATE INDEX entries_by_hash ON entries (hash);

-- `shelf` holds one term that stands for the shelf. The `ascii` tokenizer takes the analyser's terms as they are.
CREATE VIRTUAL TABLE chunks_fts USING fts5 (shelf, terms, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE entries_fts USING fts5 (shelf, terms, content = '', contentless_delete = 1, tokenize = 'ascii');
CREATE VIRTUAL TABLE chunks_vocabulary USING fts5vocab (chunks_fts, col);
CREATE VIRTUAL TABLE entries_vocabulary USING fts5vocab (entries_fts, col);

-- How many passages a shelf has, and how many terms they have together; kept by the triggers below.
CREATE TABLE totals (
    kind TEXT NOT NULL,
    shelf TEXT NOT NULL,
    count INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (kind, shelf)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER chunk_comes AFTER INSERT ON chunks BEGIN
    INSERT INTO totals VALUES ('chunk', new.shelf, 1, new.length)
    ON CONFLICT DO UPDATE SET count = count + 1, length = length + excluded.length;
END;
CREATE TRIGGER chunk_goes AFTER DELETE ON chunks BEGIN
    UPDATE totals SET count = count - 1, length = length - old.length WHERE kind = 'chunk' AND shelf = old.shelf;
END;
CREATE TRIGGER entry_comes AFTER INSERT ON entries BEGIN
    INSERT INTO totals VALUES ('entry', new.shelf, 1, new.length)
    ON CONFLICT DO UPDATE SET count = count + 1, length = length + excluded.length;
END;
CREATE TRIGGER entry_goes AFTER DELETE ON entries BEGIN
    UPDATE totals SET count = count - 1, length = length - old.length WHERE kind = 'entry' AND shelf = old.shelf;
END;

-- The embedders whose vectors are in the cache: the one in use, and the one that is to be.
CREATE TABLE embedders (
    identity TEXT PRIMARY KEY,          -- what the cache knows it by: its own identity and its dimension
    embedder TEXT NOT NULL,             -- its own identity, which says what it takes to build it again
    dimension INTEGER NOT NULL,
    calibration TEXT NOT NULL           -- prior means and floors, as JSON
) STRICT, WITHOUT ROWID;

-- Has row ids, because whether a vector is there is asked far more often than for the vector: the index is small.
CREATE TABLE embedding_cache (
    identity TEXT NOT NULL,             -- as in `embedders`
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,               -- float16, of unit length
    UNIQUE (identity, hash)
) STRICT;

-- The mean of the vectors of a language, at the time when there were `count` of them; vectors are compared after it is
-- taken away. The signs in chunks_vec and entries_vec are those of (vector - centre).
CREATE TABLE centres (
    kind TEXT NOT NULL CHECK (kind IN ('chunk', 'entry')),
    language TEXT NOT NULL,
    count INTEGER NOT NULL,
    vector BLOB NOT NULL,               -- float32
    PRIMARY KEY (kind, language)
) STRICT, WITHOUT ROWID;

-- serving: the identity whose vectors are in use. Its signs are in chunks_vec and entries_vec, vec0 tables whose row ids are
-- those of chunks and entries; they are made when a dimension is known, and only where the extension is there.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
