"""GC logs in the shapes that the JVMs write, made for the tests."""
