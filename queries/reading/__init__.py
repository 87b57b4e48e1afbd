"""Read models for pages and the API. The number of statements does not depend on that of rows."""
