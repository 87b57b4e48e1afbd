"""Every read for pages and the API: frozen views, in as many statements for a million rows as for
one.
"""
