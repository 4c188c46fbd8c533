"""The index of an agent's memory: derived data in one SQLite file, made from the Markdown and made again if it is lost."""
