"""Judges that others wrote: Slack's types, Discord's own description of its interface, the HTML checker of the web."""
