"""Daily logs: a calendar, and one day with each flush as a card."""
