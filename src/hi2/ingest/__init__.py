"""From documents to a segment: read and check, fit, draft, write; and segments merged into one."""
