-- The life of a session. `kind`, `shelf` and `settings` belong to the key; `started_at` and `last_user_at` to the id.
ALTER TABLE sessions ADD COLUMN shelf TEXT; -- NULL: opened before shelves were kept here; its next message tells
ALTER TABLE sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'group' CHECK (kind IN ('private', 'group'));
ALTER TABLE sessions ADD COLUMN platform TEXT NOT NULL DEFAULT ''; -- of its newest message; empty before the first
ALTER TABLE sessions ADD COLUMN started_at REAL; -- when its first message arrived; NULL: nothing was said in it yet
ALTER TABLE sessions ADD COLUMN last_user_at REAL; -- when a person last wrote in it
ALTER TABLE sessions ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'; -- JSON; kept over resets
ALTER TABLE sessions ADD COLUMN opened_by INTEGER; -- inbox.seq of the command that opened it

UPDATE sessions SET
    kind = iif(instr(key, ':group:') > 0, 'group', 'private'),
    shelf = iif(key = 'agent:' || agent || ':main', 'owner', NULL),
    platform = coalesce((SELECT platform FROM inbox WHERE session = sessions.key ORDER BY seq DESC LIMIT 1), ''),
    started_at = created_at,
    last_user_at = (SELECT max(received_at) FROM inbox WHERE session = sessions.key AND turn IS NOT NULL);

-- Sessions that have ended and whose summary is not written yet.
CREATE TABLE endings (
    session    TEXT PRIMARY KEY,
    key        TEXT NOT NULL,
    agent      TEXT NOT NULL,
    shelf      TEXT NOT NULL,
    cause      TEXT NOT NULL,
    ended_at   REAL NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    error      TEXT
) WITHOUT ROWID;

-- What began a turn beside people; only they keep a session alive and say where an owner is reached.
ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT 'chat' CHECK (origin IN ('chat', 'reminder', 'heartbeat'));
-- Of a command that opens a session when its lane comes to it: 1 once it is confirmed, 2 when its text was stopped.
ALTER TABLE inbox ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;

-- Tokens of model calls, summed up for each user day.
CREATE TABLE usage (
    agent              TEXT NOT NULL,
    session            TEXT NOT NULL,
    model              TEXT NOT NULL,
    day                TEXT NOT NULL,
    calls              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    PRIMARY KEY (agent, session, model, day)
) WITHOUT ROWID;
CREATE INDEX usage_day ON usage (day);

-- What is to be said later, to whom and where. `rule` is how it recurs, NULL for once; `late_seconds` how late it may
-- still come, NULL for however late.
CREATE TABLE reminders (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    agent        TEXT NOT NULL,
    session      TEXT NOT NULL,
    platform     TEXT NOT NULL,
    account      TEXT NOT NULL,
    chat         TEXT NOT NULL,
    thread       TEXT,
    kind         TEXT NOT NULL CHECK (kind IN ('private', 'group')),
    guild        TEXT,
    chat_title   TEXT,
    sender       TEXT NOT NULL,
    sender_name  TEXT NOT NULL,
    text         TEXT NOT NULL,
    rule         TEXT,
    due_at       REAL NOT NULL,
    late_seconds REAL,
    created_at   REAL NOT NULL
);
CREATE INDEX reminders_due ON reminders (due_at);
CREATE INDEX reminders_session ON reminders (session);
