-- A message that shows a reply while it is written: the row of a part that is not committed yet. `turn` names the turn
-- whose reply it becomes, NULL once that is decided. Then the row is ready like any other: with a platform id it is an
-- edit of what the chat has, with `removes` the removal of it.
ALTER TABLE outbox ADD COLUMN turn TEXT;
ALTER TABLE outbox ADD COLUMN removes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN begun INTEGER NOT NULL DEFAULT 0; -- 1: what the chat has of it may be its beginning only
CREATE UNIQUE INDEX outbox_drafts ON outbox (turn) WHERE turn IS NOT NULL;
