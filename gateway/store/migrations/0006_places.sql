-- What a thread says is found without looking through all that its group does.
DROP INDEX inbox_heard;
CREATE INDEX inbox_heard ON inbox (platform, account, chat, thread, seq) WHERE heard = 1 AND message IS NOT NULL;
DROP INDEX inbox_told;
CREATE INDEX inbox_ours ON inbox (session, seq) WHERE state <> 'ignored';
CREATE INDEX inbox_told_in ON inbox (platform, account, chat, thread, seq)
WHERE (turn IS NOT NULL OR confirmed > 0) AND origin = 'chat';
CREATE INDEX inbox_told_opening ON inbox (platform, account, chat, seq)
WHERE (turn IS NOT NULL OR confirmed > 0) AND origin = 'chat' AND thread = message_id;

-- The newest message of each place, by ids that are numbers, or as long as one another.
CREATE INDEX inbox_places ON inbox (platform, account, chat, coalesce(thread, ''), length(message_id), message_id)
WHERE origin = 'chat';

-- What one account of ours sent is known to the others.
DROP INDEX outbox_sent;
CREATE INDEX outbox_sent ON outbox (platform, chat, platform_id, account) WHERE platform_id IS NOT NULL;

-- inbox.seq of the command that asked for a reminder: it sets one, however often it is repeated.
ALTER TABLE reminders ADD COLUMN asked_by INTEGER;
CREATE UNIQUE INDEX reminders_asked_by ON reminders (asked_by) WHERE asked_by IS NOT NULL;

-- When an owner was last told that somebody waits to be let in.
ALTER TABLE pairing_guesses ADD COLUMN told_at REAL NOT NULL DEFAULT 0;
