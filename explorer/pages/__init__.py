"""The pages, by subject: thin views over `queries.reading`."""
