"""Event logs made by the tests: `events` has Spark's events, `store` puts text down as Spark's codecs do."""
