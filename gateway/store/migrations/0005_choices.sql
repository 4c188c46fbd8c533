-- What may be pressed under a message instead of typed: [label, text] each. It is taken away with the text.
ALTER TABLE outbox ADD COLUMN choices TEXT NOT NULL DEFAULT '[]';
