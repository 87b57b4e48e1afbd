"""The pages. They read, and show."""
