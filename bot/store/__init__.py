"""What feedbell remembers: one schema and one SQL text on SQLite and PostgreSQL."""
