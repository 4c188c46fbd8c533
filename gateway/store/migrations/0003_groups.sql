-- What a group says among itself, and the agent is told with the next message that is meant for it.
ALTER TABLE inbox ADD COLUMN heard INTEGER NOT NULL DEFAULT 0; -- 1: of an ignored row, that it may be told
CREATE INDEX inbox_heard ON inbox (platform, account, chat, seq) WHERE heard = 1;
-- Rows that a turn took, or that open a session: what was said before them has been told, or is over.
CREATE INDEX inbox_told ON inbox (platform, account, chat, seq) WHERE turn IS NOT NULL OR confirmed > 0;

-- Where a thread hangs on a message of ours.
CREATE INDEX outbox_sent ON outbox (platform, account, chat, platform_id) WHERE platform_id IS NOT NULL;
