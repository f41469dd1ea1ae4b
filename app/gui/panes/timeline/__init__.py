"""The timeline: sessions, and one session's entries in order, on an axis and as a transcript."""
