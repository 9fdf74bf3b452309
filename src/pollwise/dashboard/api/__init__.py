"""What programs ask: JSON, events, metrics, the feed; a module for each subject."""
