-- What makes a search cheap: short keys, counts that are kept, and signs in pages of one shelf each.

-- Numbers for the identities in the cache, because a key of two numbers' length is read faster than one of a line.
CREATE TABLE identities (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO identities (identity) SELECT DISTINCT identity FROM embedding_cache;

CREATE TABLE numbered_cache (
    model INTEGER NOT NULL,             -- of `identities`
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,               -- float16, of unit length
    UNIQUE (model, hash)
) STRICT;
INSERT INTO numbered_cache (model, hash, vector)
SELECT i.id, v.hash, v.vector FROM embedding_cache v JOIN identities i ON i.identity = v.identity ORDER BY v.rowid;
DROP TABLE embedding_cache;
ALTER TABLE numbered_cache RENAME TO embedding_cache;

-- In how many passages of a shelf a term is; written with them. To count this in the full-text tables takes a search as
-- many steps as there are such passages.
CREATE TABLE frequencies (
    term TEXT NOT NULL,
    shelf TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    PRIMARY KEY (term, shelf)
) STRICT, WITHOUT ROWID;
INSERT INTO frequencies (term, shelf, chunks, entries)
SELECT term, shelf, sum(is_chunk), sum(NOT is_chunk) FROM (
    SELECT DISTINCT p.id, p.shelf, t.value AS term, 1 AS is_chunk
    FROM chunks p, json_each('["' || replace(p.terms, '  ', '","') || '"]') t WHERE p.terms <> ''
    UNION ALL
    SELECT DISTINCT p.id, p.shelf, t.value AS term, 0 AS is_chunk
    FROM entries p, json_each('["' || replace(p.terms, '  ', '","') || '"]') t WHERE p.terms <> ''
) GROUP BY term, shelf;
DROP TABLE chunks_vocabulary;
DROP TABLE entries_vocabulary;

-- The tables of signs had the shelf beside each passage. They can be made again only where the extension is there, which is
-- done from the cache as soon as the embedder is known.
DELETE FROM meta WHERE key = 'serving';

-- meta has a second key, signs: their version. Whoever changes them gives them another one, never one that they had before.
