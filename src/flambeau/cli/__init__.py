"""The command line.  Only this package imports click and rich, and nothing else imports this package."""
