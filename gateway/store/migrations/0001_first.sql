-- What arrived. The key stops duplicates; `message` is emptied after the retention time, the ids stay longer.
CREATE TABLE inbox (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    platform    TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    thread      TEXT,
    session     TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('ignored', 'received', 'running', 'closed')),
    outcome     TEXT CHECK (outcome IN ('replied', 'silent', 'stopped', 'dropped', 'failed')),
    turn        TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    received_at REAL NOT NULL,
    closed_at   REAL,
    message     TEXT,
    CHECK ((state = 'closed') = (outcome IS NOT NULL)),
    UNIQUE (platform, account, chat, message_id)
);
CREATE INDEX inbox_open ON inbox (state, seq) WHERE state IN ('received', 'running');
CREATE INDEX inbox_turn ON inbox (turn) WHERE turn IS NOT NULL;
CREATE INDEX inbox_age ON inbox (received_at);

-- What is to be sent, one row a part. `unknown`: nobody can say whether the platform carried it out.
CREATE TABLE outbox (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    platform    TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    thread      TEXT,
    reply_to    TEXT,
    purpose     TEXT NOT NULL,
    text        TEXT,
    file_name   TEXT,
    file_path   TEXT,
    answers     TEXT NOT NULL DEFAULT '[]',
    position    REAL, -- in the chat's order instead of seq, for the pieces of a part that was split again
    state       TEXT NOT NULL CHECK (state IN ('ready', 'sending', 'sent', 'failed', 'unknown')),
    platform_id TEXT,
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  REAL NOT NULL DEFAULT 0,
    plain       INTEGER NOT NULL DEFAULT 0,
    doubtful    INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    created_at  REAL NOT NULL,
    sent_at     REAL
);
CREATE INDEX outbox_open ON outbox (platform, account, chat, seq) WHERE state IN ('ready', 'sending', 'unknown');
CREATE INDEX outbox_age ON outbox (created_at);

-- Which transcript a session key stands for at present.
CREATE TABLE sessions (
    key          TEXT PRIMARY KEY,
    id           TEXT NOT NULL,
    agent        TEXT NOT NULL,
    created_at   REAL NOT NULL
) WITHOUT ROWID;

-- People whom the owner approved by a code, and owners made the same way.
CREATE TABLE people (
    platform    TEXT NOT NULL,
    sender      TEXT NOT NULL,
    standing    TEXT NOT NULL CHECK (standing IN ('owner', 'person')),
    name        TEXT NOT NULL,
    approved_at REAL NOT NULL,
    PRIMARY KEY (platform, sender)
) WITHOUT ROWID;

CREATE TABLE pairings (
    code       TEXT PRIMARY KEY,
    platform   TEXT NOT NULL,
    account    TEXT NOT NULL,
    sender     TEXT NOT NULL,
    name       TEXT NOT NULL,
    chat       TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX pairings_sender ON pairings (platform, account, sender);

-- Wrong codes in a row; one line for the whole gateway, so that a restart forgives nothing.
CREATE TABLE pairing_guesses (
    only         INTEGER PRIMARY KEY CHECK (only = 1),
    wrong        INTEGER NOT NULL,
    locked_until REAL NOT NULL
);
INSERT INTO pairing_guesses VALUES (1, 0, 0);

-- A chat that got a new id stays the same chat: the first id names its session and its shelf.
CREATE TABLE chat_aliases (
    platform TEXT NOT NULL,
    account  TEXT NOT NULL,
    chat     TEXT NOT NULL,
    first    TEXT NOT NULL,
    PRIMARY KEY (platform, account, chat)
) WITHOUT ROWID;

-- Events that could not be translated, kept so that they neither block the queue nor vanish.
CREATE TABLE dead_letters (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    platform    TEXT NOT NULL,
    account     TEXT NOT NULL,
    raw         TEXT NOT NULL,
    error       TEXT NOT NULL,
    received_at REAL NOT NULL
);
