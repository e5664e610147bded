"""A test that a model wrote for one claim: where it stands, how it is run, and what its endings say."""
