"""What feedbell shows and hears over HTTP: the status site, the inbox, health, metrics and hooks."""
