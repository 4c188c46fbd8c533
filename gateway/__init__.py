"""The roof: configuration, access, routes, inbox, lanes, sessions, commands, delivery and the command line."""
