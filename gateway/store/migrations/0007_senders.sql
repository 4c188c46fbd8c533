-- Who wrote, so that what we say of our own accord to an owner goes to none of those who were owners once.
ALTER TABLE inbox ADD COLUMN sender TEXT; -- NULL: its text was gone before senders were kept here
UPDATE inbox SET sender = message ->> '$.sender.id' WHERE json_valid(message);
