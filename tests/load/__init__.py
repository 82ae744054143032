"""Many people at once, on one instance: what they wait for, and what it costs."""
