"""The cellar: shelves, rooted files, the clock, SQLite and tokens; imports none of the other floors."""
